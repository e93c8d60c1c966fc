"""Java and Delta's two jars."""

import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from firstfault.jobs import jars
from firstfault.jobs.jars import Jar, JarsError, JavaError, delta_jars, find_java, jar_paths, java_major


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "jars"
    monkeypatch.setenv("FIRSTFAULT_JARS_DIR", str(folder))
    return folder


def write_jar(path: Path, jar: Jar) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(jar.main_class, b"x" * 1000)


def fetched_by(calls: list[str]):  # type: ignore[no-untyped-def]
    def run(jar: Jar, folder: Path) -> None:
        calls.append(jar.name)
        write_jar(folder / jar.name, jar)

    return run


def test_names_follow_from_the_installed_packages() -> None:
    spark, storage = delta_jars()
    assert spark.name == f"delta-spark_4.2_2.13-{version('delta-spark')}.jar"
    assert storage.name == f"delta-storage-{version('delta-spark')}.jar"


def test_fetched_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(jars, "run_ivy", fetched_by(calls))
    paths = jar_paths(fetch=True)
    assert paths == jar_paths(fetch=True) == jar_paths(fetch=False)
    assert calls == [path.name for path in paths]
    assert sorted(path.name for path in cache.iterdir()) == sorted(calls), "nothing temporary is left"


def test_a_half_jar_is_fetched_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(jars, "run_ivy", fetched_by(calls))
    first, second = jar_paths(fetch=True)
    first.write_bytes(first.read_bytes()[:500])
    with zipfile.ZipFile(second, "w") as foreign:
        foreign.writestr("Other.class", b"")
    assert not jars.is_whole(first, delta_jars()[0])
    assert jar_paths(fetch=True) == [first, second]
    assert calls == [first.name, second.name] * 2
    assert jars.is_whole(first, delta_jars()[0])


def test_unreachable_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "run_ivy", lambda jar, folder: None)
    with pytest.raises(JarsError) as caught:
        jar_paths(fetch=True)
    message = str(caught.value)
    assert "run again with network" in message
    assert str(cache) in message
    assert all(jar.name in message for jar in delta_jars())
    assert "\n" not in message


def test_a_cut_download_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "run_ivy", lambda jar, folder: (folder / jar.name).write_bytes(b"PK"))
    with pytest.raises(JarsError):
        jar_paths(fetch=True)
    assert list(cache.iterdir()) == []


def test_missing_without_fetching(cache: Path) -> None:
    with pytest.raises(JarsError, match=r"not in .*; run: python -m firstfault\.jobs\.jars$"):
        jar_paths(fetch=False)


def test_a_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FIRSTFAULT_JARS_DIR", str(tmp_path / "file" / "jars"))
    with pytest.raises(JarsError, match="set FIRSTFAULT_JARS_DIR to a folder you can write"):
        jar_paths(fetch=True)


def test_a_read_only_environment_uses_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FIRSTFAULT_JARS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(jars.sys, "prefix", str(tmp_path / "venv"))
    assert jars.jars_dir() == tmp_path / "venv" / "share" / "firstfault" / "jars"
    monkeypatch.setattr(jars.os, "access", lambda path, mode: False)
    assert jars.jars_dir() == tmp_path / "cache" / "firstfault" / "jars"


def test_ivy_is_asked_for_one_artifact(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def run(command, **options):  # type: ignore[no-untyped-def]
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, stdout="", stderr='openjdk version "21.0.1"')

    monkeypatch.setattr(jars.subprocess, "run", run)
    jars.run_ivy(delta_jars()[1], tmp_path)
    dependency = commands[-1].index("-dependency")
    assert commands[-1][dependency + 1 : dependency + 4] == [
        "io.delta",
        "delta-storage",
        version("delta-spark"),
    ]
    assert "-notransitive" in commands[-1]


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21"', 21),
        ("no", None),
    ],
)
def test_java_major(text: str, major: int | None) -> None:
    assert java_major(text) == major


def fake_java(home: Path, script: str) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    java.chmod(0o755)


def test_old_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path, "echo 'openjdk version \"11.0.2\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=r"\(from JAVA_HOME\) is Java 11; Spark needs Java 17 or newer"):
        find_java()


def test_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match="does not run; point JAVA_HOME at Java 17 or newer"):
        find_java()


def test_no_java_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError, match="no java on PATH; install Java 17 or newer"):
        find_java()


def test_command(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(jars, "run_ivy", lambda jar, folder: None)
    assert jars.main([]) == 1
    assert capsys.readouterr().err.startswith("firstfault: could not fetch delta-spark")
    monkeypatch.setattr(jars, "run_ivy", fetched_by([]))
    assert jars.main([]) == 0
    assert capsys.readouterr().out.startswith(f"Delta jars in {cache}: delta-spark")
    assert jars.main(["--java"]) == 0
