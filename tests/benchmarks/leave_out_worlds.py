"""Verdicts of many rule sets at once: each world lacks some rules, and its attempts compete among themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from firstfault.jobs.frames import local_frame, materialised
from firstfault.transforms.competition import compete, with_coverage
from firstfault.transforms.contract import column
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.diagnoses import build_diagnoses
from firstfault.transforms.standing import with_standing
from firstfault.transforms.types import INT, TEXT
from tests.benchmarks.rehearsed_lake import Key, Rehearsed, poor_of

_SEPARATOR = "|"
_LACKS = StructType([column("world", INT, "world"), column("rule_id", TEXT, "rule that it lacks")])
_WORLD = StructType([column("world", INT, "world")])


@dataclass(frozen=True)
class Verdict:
    """What is said of an attempt.

    Attributes:
        margin: Points by which the winner leads; None where nothing was found.
        leaning: Category of the winner, sure enough or not; None where nothing was found.
        leaning_origin: Its origin, in lower case.
    """

    category: str
    origin: tuple[str, ...]
    confidence: float
    rule_id: str | None
    margin: float | None = None
    leaning: str | None = None
    leaning_origin: frozenset[str] = frozenset()


Verdicts = dict[Key, Verdict]


def verdicts(past: Rehearsed, candidates: DataFrame, worlds: Sequence[frozenset[str]]) -> list[Verdicts]:
    """What each world says of the attempts that need a verdict.

    Whether a rule holds does not depend on the others, so a world's candidates are those of all less those of the rules
    that it lacks; standing, competition and diagnosis are done again.

    Args:
        past: The night.
        candidates: Candidates of all attempts by all rules.
        worlds: Rules that each world lacks.
    """
    night = past.night
    explains, scoring = night.frames.rules["explains"], night.knowledge.scoring
    numbers = local_frame(night.spark, [{"world": n} for n in range(len(worlds))], _WORLD)
    lacks = [{"world": n, "rule_id": rule} for n, rules in enumerate(worlds) for rule in sorted(rules)]
    every = with_coverage(candidates, past.symptoms, explains).withColumn("_first_cid", F.col("cid"))
    left = _in_worlds(materialised(every), numbers).join(
        F.broadcast(local_frame(night.spark, lacks, _LACKS)), ["world", "rule_id"], "left_anti"
    )
    left = materialised(left.drop("world"))
    peers = materialised(_in_worlds(past.peers, numbers).drop("world"))
    standing = materialised(with_standing(left, left, peers, scoring.weights, night.settings.lookback_days))
    ranked = materialised(compete(standing, explains, scoring, materialised))
    cases = materialised(_in_worlds(past.cases, numbers).drop("world"))
    return _read(_diagnosed(past, cases, ranked, poor_of(past, candidates)), ranked, len(worlds))


def _in_worlds(rows: DataFrame, numbers: DataFrame) -> DataFrame:
    """The rows once for every world; each world has its own clusters, attempts and candidates."""
    named = [name for name in ("cluster", "uid", "cid") if name in rows.columns]
    return rows.crossJoin(F.broadcast(numbers)).withColumns({name: _of_world(name) for name in named})


def _of_world(name: str) -> Column:
    return F.concat_ws(_SEPARATOR, F.col("world").cast("string"), F.col(name))


def _diagnosed(past: Rehearsed, cases: DataFrame, ranked: DataFrame, poor: DataFrame) -> DataFrame:
    """The diagnoses but for the figures of symptoms and the sources that did not come, which no judgement needs."""
    night = past.night
    winners = ranked.where("is_winner").select("uid", F.col("_first_cid").alias("cid"))
    leaning = winners.join(poor, "cid").drop("cid")
    none = night.spark.createDataFrame([], COVERAGE.schema).withColumn("uid", F.lit(None).cast("string"))
    return build_diagnoses(
        cases, ranked, night.frames.rules["rules"], past.symptoms.limit(0), none, leaning, night.frames.reasons,
        night.knowledge.scoring, past.as_of, night.settings.final_after_s,
    )  # fmt: skip


def _read(diagnoses: DataFrame, ranked: DataFrame, worlds: int) -> list[Verdicts]:
    won = ranked.where("is_winner").select(
        "cluster", "job_id", "attempt", "margin", F.col("category").alias("leaning"), F.col("origin").alias("at")
    )
    said = diagnoses.select("cluster", "job_id", "attempt", "category", "origin", "confidence", "rule_id")
    every: list[Verdicts] = [{} for _ in range(worlds)]
    for row in said.join(won, ["cluster", "job_id", "attempt"], "left").toArrow().to_pylist():
        world = int(row["cluster"].split(_SEPARATOR)[0])
        every[world][row["job_id"], row["attempt"]] = Verdict(
            row["category"],
            tuple(sorted(row["origin"])),
            row["confidence"],
            row["rule_id"],
            row["margin"],
            row["leaning"],
            frozenset(name.lower() for name in row["at"] or ()),
        )
    return every
