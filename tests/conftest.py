"""Fixtures that every test may use."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from firstfault.jobs.session import spark_session
from firstfault.jobs.settings import Settings

# A worker inherits the 80 columns that readline noted in its parent, and the command line would cut paths there.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small Spark for a process; a start costs seconds, and so does compiling plans for a dozen rows."""
    quick = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # Else every call on a column tells the JVM its line in Python, and takes four times as long.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    settings = Settings(
        master="local[2]", shuffle_partitions=2, driver_memory_mb=2048, fast_start=True, spark_conf=quick
    )
    session = spark_session(settings)
    yield session
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """An empty lake."""
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder
