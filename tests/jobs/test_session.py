"""The session factory."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from firstfault.jobs import session as session_module
from firstfault.jobs.jars import jar_paths, pyspark_jars
from firstfault.jobs.jvm_stderr import JvmStderr
from firstfault.jobs.session import SessionError, session_conf, spark_session
from firstfault.jobs.settings import Settings

JARS = [Path("/jars/a.jar"), Path("/jars/b.jar")]


def test_conf_of_a_local_session(tmp_path: Path) -> None:
    settings = Settings(master="local[2]", shuffle_partitions=3, driver_memory_mb=1024)
    conf = session_conf(settings, JARS, tmp_path)
    assert conf["spark.driver.extraClassPath"] == "/jars/a.jar:/jars/b.jar"
    assert "spark.jars" not in conf
    assert conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.driver.memory"] == "1024m"
    assert conf["spark.sql.shuffle.partitions"] == "3"
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert conf["spark.databricks.delta.properties.defaults.enableDeletionVectors"] == "false"
    assert "TieredStopAtLevel" not in conf["spark.driver.extraJavaOptions"]


def test_conf_of_a_cluster_session_ships_the_jars(tmp_path: Path) -> None:
    conf = session_conf(Settings(master="spark://head:7077"), JARS, tmp_path)
    assert conf["spark.jars"] == "/jars/a.jar,/jars/b.jar"
    assert "spark.driver.host" not in conf


@pytest.mark.parametrize(("master", "light"), [("local[2]", True), ("spark://head:7077", False)])
def test_a_fast_start_is_for_sessions_on_this_machine(tmp_path: Path, master: str, light: bool) -> None:
    conf = session_conf(Settings(master=master, fast_start=True), JARS, tmp_path)
    assert ("TieredStopAtLevel" in conf["spark.driver.extraJavaOptions"]) == light


def test_site_settings_have_the_last_word(tmp_path: Path) -> None:
    conf = session_conf(Settings(spark_conf={"spark.ui.enabled": "true"}), JARS, tmp_path)
    assert conf["spark.ui.enabled"] == "true"


def test_the_active_session_is_reused(spark: SparkSession) -> None:
    assert spark_session(Settings(master="spark://nowhere:1")) is spark


def test_a_delta_table_keeps_utc(spark: SparkSession, lake: Path) -> None:
    path = str(lake / "t")
    when = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    spark.createDataFrame([(1, when)], "id int, t timestamp").write.format("delta").save(path)
    table = spark.read.format("delta").load(path)
    assert table.select(F.col("t").cast("string").alias("t")).collect()[0].t == "2026-03-29 01:30:00"
    assert table.toPandas()["t"].iloc[0].isoformat() == "2026-03-29T01:30:00"


def test_python_workers_run_this_interpreter(spark: SparkSession) -> None:
    def prefix(batches):  # type: ignore[no-untyped-def]
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"prefix": [sys.prefix] * batch.num_rows})

    assert spark.range(1).mapInArrow(prefix, "prefix string").collect()[0].prefix == sys.prefix


@pytest.mark.slow
def test_spark_submit_keeps_its_own_master(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "from firstfault.jobs.session import spark_session\n"
        "from firstfault.jobs.settings import Settings\n"
        "spark = spark_session(Settings(shuffle_partitions=3))\n"
        f"spark.range(2).write.format('delta').save('file://{tmp_path}/t')\n"
        "print(spark.sparkContext.master, spark.conf.get('spark.sql.shuffle.partitions'))\n",
        encoding="utf-8",
    )
    jars = ",".join(map(str, jar_paths(fetch=True)))
    submit = [str(pyspark_jars().parent / "bin" / "spark-submit"), "--master", "local[1]", "--jars", jars]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run([*submit, str(script)], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "local[1] 3"


def test_no_java_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(session_module, "_active_session", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SessionError, match=r"^Spark cannot start: .*from JAVA_HOME.* Java 17 or newer$"):
        spark_session(Settings())


def test_jvm_noise_is_dropped_and_the_rest_held_until_release(capfd: pytest.CaptureFixture[str]) -> None:
    stderr = JvmStderr()
    stderr._pass_on(b"first\n")
    assert capfd.readouterr().err == ""
    stderr.release()
    stderr._pass_on(b"second\n")
    assert capfd.readouterr().err == "first\nsecond\n"


def test_the_reason_starts_at_the_telling_line() -> None:
    stderr = JvmStderr()
    for line in (b"hello\n", b"Error occurred during start of VM\n", b"Could not reserve enough space\n"):
        stderr._pass_on(line)
    assert stderr.reason() == "Error occurred during start of VM Could not reserve enough space"
