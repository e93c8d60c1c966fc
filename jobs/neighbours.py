"""What other attempts of the lake say: who ran where, and how their candidates stand to those of tonight."""

from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.lake import Lake
from firstfault.jobs.night import Judging
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.attribution import with_uid
from firstfault.transforms.candidates import CANDIDATES
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.standing import with_standing


def occupancy(lake: Lake, days: list[date], lookback_days: int) -> DataFrame:
    """One row per attempt of the look-back days and node: who ran there from when to when."""
    recent = lake.read(ATTEMPTS).where(F.col("day") >= F.date_sub(F.lit(days[0]), lookback_days))
    home = F.concat_ws("/", "source_cluster", "job_id").alias("home")
    return recent.select("source_cluster", F.explode("nodes").alias("node"), "start", "end", home)


def standing_of(
    night: Judging, candidates: DataFrame, attempts: DataFrame, need: DataFrame, days: list[date]
) -> DataFrame:
    """The candidates with what these attempts and those of the look-back days say of them."""
    lake, lookback_days = night.lake, night.settings.lookback_days
    near = F.col("day").between(F.date_sub(F.lit(days[0]), lookback_days), F.lit(days[-1]))
    due = attempts.select("uid")
    mine = attempts.join(need.withColumn("_ill", F.lit(True)), list(ATTEMPT_KEY), "left")
    peers, known = as_peer(mine), candidates
    if lake.exists(CANDIDATES) and lake.exists(DIAGNOSES):
        others = with_uid(lake.read(ATTEMPTS).where(near)).join(due, "uid", "left_anti")
        ill = with_uid(lake.read(DIAGNOSES).where(near)).select("uid", F.lit(True).alias("_ill")).distinct()
        peers = peers.unionByName(as_peer(others.where("is_ended").join(ill, "uid", "left")))
        before = with_uid(lake.read(CANDIDATES).where(near)).join(due, "uid", "left_anti")
        known = candidates.unionByName(before, allowMissingColumns=True)
    return with_standing(candidates, known, peers, night.knowledge.scoring.weights, lookback_days)


def as_peer(attempts: DataFrame) -> DataFrame:
    """One row per attempt that may speak of others; `_ill` marks those that needed a verdict."""
    healthy = (F.col("is_ended") & F.col("_ill").isNull()).alias("is_healthy")
    return attempts.select("uid", "cluster", "day", "start", "end", "workload_key", healthy)
