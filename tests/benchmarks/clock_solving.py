"""Clocks of simulated fleets, solved as a night solves them: witnesses and fusion in Spark."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import firstfault.rules
from firstfault.rules.engine.clock_marks import load_clock_marks
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms import clock_witnesses as by
from firstfault.transforms.clock_fusion import fuse
from firstfault.transforms.placement import PLACEMENT, rank_nodes, with_rank_node
from tests.benchmarks.clock_fleets import DAY, Fleet
from tests.benchmarks.clock_judgement import Corrections
from tests.benchmarks.clock_lines import write

RULES = Path(next(iter(firstfault.rules.__path__)))


def corrections(spark: SparkSession, fleets: Sequence[Fleet], folder: Path) -> list[Corrections]:
    """What the offsets of each fleet, each a cluster, say; one run for all."""
    solved = fuse(witnesses(spark, tables(spark, fleets, folder)), [DAY]).toArrow()
    of_cluster = {f.mix.cluster: solved.filter(pc.equal(solved["cluster"], f.mix.cluster)) for f in fleets}
    return [Corrections(_micros(of_cluster[f.mix.cluster]), f.mix.nodes) for f in fleets]


def _micros(rows: pa.Table) -> pa.Table:
    stamp = pa.timestamp("us", "UTC")
    for name in ("t_from", "t_to"):
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows[name].cast(stamp))
    return rows


def tables(spark: SparkSession, fleets: Sequence[Fleet], folder: Path) -> dict[str, DataFrame]:
    """What the fleets wrote, as frames by name; lines that name only a rank have its node."""
    paths: dict[str, list[str]] = {}
    for fleet in fleets:
        place = folder / fleet.mix.cluster
        place.mkdir()
        for name, path in write(fleet, place).items():
            paths.setdefault(name, []).append(str(path))
    frames = {name: spark.read.parquet(*files) for name, files in paths.items()}
    ranks = rank_nodes(frames["marks"], spark.createDataFrame([], PLACEMENT.schema))
    placed = with_rank_node(frames["marks"], ranks)
    frames["marks"] = placed.withColumn("node", F.coalesce("node", "_ran")).drop("_ran")
    return frames


def witnesses(spark: SparkSession, frames: dict[str, DataFrame]) -> DataFrame:
    """All witnesses of the tables."""
    kinds = load_clock_marks(RULES / "clock_marks.yaml", Vocabulary.load(RULES / "vocabulary.yaml"))
    widths = spark.createDataFrame([(k.id, k.width_s) for k in kinds], "kind string, width_s double")
    parts = (
        by.telemetry_witnesses(frames["samples"]),
        by.arrival_witnesses(frames["marks"]),
        by.told_steps(frames["marks"]),
        by.schedule_witnesses(frames["streams"], frames["attempts"]),
        by.mark_witnesses(frames["marks"], widths),
    )
    every = parts[0]
    for part in parts[1:]:
        every = every.unionByName(part)
    return every
