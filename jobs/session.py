"""The one place that makes a Spark session."""

import atexit
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from firstfault.jobs.jars import JarsError, JavaError, find_java, jar_paths, pyspark_jars
from firstfault.jobs.jvm_stderr import JvmStderr
from firstfault.jobs.settings import Settings

LOOPBACK = "127.0.0.1"

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class SessionError(RuntimeError):
    """Spark cannot start; the message says what to do."""


def spark_session(settings: Settings) -> SparkSession:
    """Give the active session, or start one.

    A session that someone else started (a notebook, a managed cluster) keeps all its settings but the
    time zone, in which every timestamp of the tables is written and read.

    Raises:
        SessionError: no Java, no jars, or a master that does not answer.
    """
    _use_utc()
    active = _active_session()
    if active is not None:
        active.conf.set("spark.sql.session.timeZone", "UTC")
        return active
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return _submitted_session(settings)
    try:
        find_java()
        jars = jar_paths(fetch=True)
    except (JarsError, JavaError) as error:
        raise SessionError(f"Spark cannot start: {error}") from None
    _set_environment(settings.master)
    conf = SparkConf(loadDefaults=False).setAll(list(session_conf(settings, jars, _scratch()).items()))
    return _own_session(conf, settings.master)


def session_conf(settings: Settings, jars: list[Path], scratch: Path) -> dict[str, str]:
    """Every Spark setting of a session of ours; the site's `spark_conf` has the last word."""
    conf = _common_conf(settings, scratch) | _java_options(settings, scratch)
    if settings.master.startswith("local"):
        conf |= _local_conf(jars)
    elif jars:
        conf |= {
            # Executors fetch the jars from the driver; the driver loads its catalog from its class path.
            "spark.jars": ",".join(map(str, jars)),
            "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        }
    return conf | settings.spark_conf


def _common_conf(settings: Settings, scratch: Path) -> dict[str, str]:
    return {
        "spark.app.name": "firstfault",
        "spark.master": settings.master,
        "spark.driver.memory": f"{settings.driver_memory_mb}m",
        # Delta as format, catalog and SQL dialect.
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Deletion vectors make delta-rs and DuckDB refuse a table.
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
        # Every timestamp is UTC, whatever the machine's zone.
        "spark.sql.session.timeZone": "UTC",
        # The data of a night is small beside Spark's default of 200 partitions.
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.default.parallelism": str(settings.shuffle_partitions),
        # Rows cross to Python and back as Arrow, in batches that stay small when log lines are long.
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        # A batch job: no web server, no progress bar over its own output.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Tables live in the lake by path; nothing is left in the working directory.
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }


def _local_conf(jars: list[Path]) -> dict[str, str]:
    return {
        # Driver and executor are one JVM: its class path is enough, no jar need be copied to itself.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        # A local session is nobody else's business, and a laptop's host name may not resolve.
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        # Small tables: one task reads a table's log, not 50; two list its files, not 10,000.
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }


def _java_options(settings: Settings, scratch: Path) -> dict[str, str]:
    log4j = scratch / "log4j2.properties"
    log4j.write_text(LOG4J, encoding="ascii")
    options = [f"-Dlog4j2.configurationFile={log4j}", "-Duser.timezone=UTC"]
    if settings.fast_start and settings.master.startswith("local"):
        # Most of a short night is start and warm-up: the light compiler and collector save a fifth of it.
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=256m"]
    return {"spark.driver.extraJavaOptions": " ".join(options)}


def _active_session() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _use_utc() -> None:
    """Python's own conversions (`collect`, `fromtimestamp`) follow the process's zone."""
    os.environ["TZ"] = "UTC"
    time.tzset()


def _scratch() -> Path:
    """Folder for the session's own files, gone at exit."""
    folder = Path(tempfile.mkdtemp(prefix="firstfault-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _set_environment(master: str) -> None:
    if not master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        return
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    os.environ["SPARK_HOME"] = str(pyspark_jars().parent)  # not another Spark of the machine
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers are the first python3 on PATH


def _own_session(conf: SparkConf, master: str) -> SparkSession:
    stderr = JvmStderr()
    try:
        SparkContext(gateway=stderr.launch(conf), conf=conf)
        session = SparkSession.builder.config(conf=conf).getOrCreate()
    except PySparkRuntimeError:
        raise SessionError(f"Spark cannot start, its JVM ended at once: {stderr.reason()}") from None
    except Py4JJavaError as error:
        raise SessionError(f"Spark cannot start on master {master}: {_cause(error)}") from None
    stderr.release()
    return session


def _submitted_session(settings: Settings) -> SparkSession:
    """spark-submit has started the JVM: its master, memory and jars stand, only the SQL side is ours."""
    conf = _common_conf(settings, _scratch())
    launcher = ("spark.app.name", "spark.master", "spark.driver.memory")
    ours = {key: value for key, value in conf.items() if key not in launcher} | settings.spark_conf
    builder = SparkSession.builder
    for key, value in ours.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Py4JJavaError as error:
        raise SessionError(f"Spark cannot start under spark-submit: {_cause(error)}") from None


def _cause(error: Py4JJavaError) -> str:
    """First line of what the JVM says; a master that does not answer ends as a stopped context."""
    said = str(error.java_exception.getMessage()).splitlines()[0]
    return "it does not answer; is it running?" if "stopped SparkContext" in said else said
