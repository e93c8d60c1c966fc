"""What the doctor finds, and what it advises."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from firstfault.jobs import doctor
from firstfault.jobs.doctor import Check, as_document, check_lake, check_landing, render, run_doctor
from firstfault.jobs.settings import Settings


def named(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


@pytest.mark.usefixtures("spark")
def test_a_healthy_machine(lake: Path, tmp_path: Path) -> None:
    checks = run_doctor(Settings(master="local[2]", lake=str(lake), landing=str(tmp_path)))
    assert [check for check in checks if not check.ok and check.name != "disk"] == []
    assert list(named(checks)) == ["python", "java", "jars", "memory", "spark", "lake", "disk", "landing"]
    assert named(checks)["spark"].found.endswith("on local[2], 3 rows written to Delta and read")
    assert list(lake.iterdir()) == []


def test_without_java_spark_is_not_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    checks = named(run_doctor(Settings()))
    assert not checks["java"].ok
    assert "point JAVA_HOME at Java 17" in checks["java"].advice
    assert "spark" not in checks


def test_missing_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FIRSTFAULT_JARS_DIR", str(tmp_path))
    checks = named(run_doctor(Settings()))
    assert "python -m firstfault.jobs.jars" in checks["jars"].advice
    assert "spark" not in checks


def test_spark_that_fails_is_a_finding(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise OSError("disk gone\nat some.java.Class")

    monkeypatch.setattr(doctor, "_try_out", fail)
    check = doctor.check_spark(Settings())
    assert (check.ok, check.found) == (False, "starts, but fails: disk gone")


def test_too_large_a_heap() -> None:
    assert "lower" in doctor.check_memory(Settings(driver_memory_mb=10**9)).advice


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, lake: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**30))
    disk = named(check_lake(str(lake)))["disk"]
    assert (disk.ok, disk.found) == (False, f"1024 MB free at {lake}")


def test_a_lake_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, lake: Path) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    assert named(check_lake(str(lake / "deeper")))["lake"].advice.startswith(f"make {lake} writable")


def test_a_landing_zone_that_is_not_there(tmp_path: Path) -> None:
    assert not check_landing(str(tmp_path / "none"))[0].ok


def test_object_stores_are_left_to_the_night() -> None:
    assert check_lake("s3://bucket/lake") + check_landing("s3://bucket/landing") == []


def test_kept_in_the_lake(lake: Path) -> None:
    path = doctor.save([Check("a", ok=True, found="b")], str(lake / "new"))
    assert path == lake / "new" / "doctor.json"
    assert json.loads(path.read_text(encoding="utf-8"))["checks"][0]["name"] == "a"
    assert doctor.save([Check("lake", ok=False, found="c")], str(lake)) is None
    assert doctor.save([], "s3://bucket/lake") is None


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("as_json", [False, True])
def test_report(lake: Path, as_json: bool) -> None:
    console = Console(width=200)
    with console.capture() as captured:
        fine = doctor.report(Settings(master="local[2]", lake=str(lake)), console, as_json=as_json)
    kept = json.loads((lake / "doctor.json").read_text(encoding="utf-8"))
    assert kept["ok"] == fine
    assert kept == json.loads(captured.get()) if as_json else "3 rows written to Delta" in captured.get()


def test_a_sick_machine_is_told_by_the_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert not doctor.report(Settings(), Console(quiet=True))


def test_output() -> None:
    checks = [Check("a", ok=True, found="[b]"), Check("c", ok=False, found="d", advice="do e")]
    console = Console(width=80)
    with console.capture() as captured:
        console.print(render(checks))
    assert "[b]" in captured.get()
    assert "do e" in captured.get()
    assert json.loads(json.dumps(as_document(checks)))["ok"] is False
