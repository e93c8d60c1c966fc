"""Intents: what is planned is written to `inputs` before it is read, and as landed once its events are written."""

from pyspark.sql import functions as F

from firstfault.jobs.batch import Batch
from firstfault.jobs.frames import local_frame
from firstfault.jobs.lake import Lake
from firstfault.jobs.land import ranges_frame
from firstfault.jobs.night import Night
from firstfault.jobs.plan import Known, Range, Reached
from firstfault.transforms.inputs import INPUTS, LANDED, PLANNED, UNMATCHED


def known_streams(lake: Lake) -> Known:
    """How far every stream was read in earlier batches."""
    if not lake.exists(INPUTS):
        return Known({})
    landed = lake.read(INPUTS).where(F.col("state") == LANDED)
    last = landed.groupBy("stream_id").agg(
        F.max_by(F.struct("identity", "head_bytes", "to_byte", "lines_before", "lines_read"), "to_byte").alias("r")
    )
    rows = last.select("stream_id", "r.*").collect()
    return Known(
        {
            r["stream_id"]: Reached(
                r["identity"],
                r["head_bytes"],
                r["to_byte"],
                (r["lines_before"] or 0) + (r["lines_read"] or 0),
            )
            for r in rows
        }
    )


def pending_ranges(lake: Lake) -> list[Range]:
    """Ranges that an earlier run planned and did not finish; they are landed first, exactly as planned."""
    if not lake.exists(INPUTS):
        return []
    inputs = lake.read(INPUTS)
    done = inputs.where(F.col("state") == LANDED).select("stream_id", "from_byte")
    open_rows = inputs.where(F.col("state") == PLANNED).join(done, ["stream_id", "from_byte"], "left_anti")
    names = Range.__dataclass_fields__
    return [Range(**{n: row[n] for n in names}) for row in open_rows.orderBy("stream_id", "from_byte").collect()]


def write_intent(night: Night, ranges: list[Range], unmatched: list[Range]) -> None:
    """Appends what will be read, and files that no source matches and that were not noted before."""
    noted: set[str] = set()
    if unmatched and night.lake.exists(INPUTS):
        rows = night.lake.read(INPUTS).where(F.col("state") == UNMATCHED).select("stream_id").collect()
        noted = {r["stream_id"] for r in rows}
    new = [*ranges, *(u for u in unmatched if u.stream_id not in noted)]
    if new:
        night.lake.append(INPUTS, ranges_frame(night.spark, new))


def mark_landed(night: Night, batch: Batch) -> None:
    """Appends the ranges as landed, with their books: the batch is then never read again."""
    night.lake.append(INPUTS, local_frame(night.spark, batch.landed_ranges, INPUTS.schema))
