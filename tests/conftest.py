"""Fixtures that every test may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from firstfault.jobs.session import spark_session
from firstfault.jobs.settings import Settings


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small Spark for the whole run; a start costs seconds, and so does compiling plans for a dozen rows."""
    interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    settings = Settings(master="local[2]", shuffle_partitions=2, driver_memory_mb=2048, spark_conf=interpreted)
    session = spark_session(settings)
    yield session
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """An empty lake."""
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder
