"""attribution: scoped events in, candidates out; the one join plan over all rules and all attempts.

scoped events -> tagged with selectors -> anchors (where rules start)
-> folds   (what may stand around them)
anchors x folds -> clauses judged -> candidates -> coverage of symptoms -> competition
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.anchors import find_anchors
from firstfault.transforms.candidates import evaluate
from firstfault.transforms.columns import Cut
from firstfault.transforms.composites import judge_composites
from firstfault.transforms.filesystems import names_known
from firstfault.transforms.keys import ATTEMPT_KEY, id_column
from firstfault.transforms.origins import with_origin
from firstfault.transforms.probes import BEYOND_ATTEMPT, fold, probe
from firstfault.transforms.selection import tag, with_places
from firstfault.transforms.step_times import STEP

_AROUND = ("home", "start", "window_from", "window_to", "source_cluster", "workload_key", "user")
_FOR_READERS = (
    "text", "file", "line_no", "stream_id", "byte_offset", "pattern_id", "time_basis", "t_raw", "t_raw_last",
    "t_prev", "t_next", "file_time", "attempt_hint", "cluster", "job_id", "attempt", "day",
)  # fmt: skip
"""Columns of events that no rule looks at; a tagged event stands once for each selector, so they are left behind."""
RuleTables = Mapping[str, DataFrame]
"""One small frame per name of `rule_tables.TABLES`."""


@dataclass(frozen=True)
class Evidence:
    """What attribution rests on; every frame of an attempt carries its `uid`.

    Attributes:
        attempts: Attempts with uid, home (cluster and job), window_from, window_to, source_cluster, nodes,
            workload_key and user.
        scoped: Scoped events.
        beyond: Events of the look-back days with home, source_cluster, workload_key and user, for relations beyond the
            attempt.
        placement: Ranks.
        topology: HCAs.
        covered: uid, kinds (sources delivered throughout).
        occupancy: Who ran where: source_cluster, node, start, end, home, for all attempts of the look-back.
    """

    attempts: DataFrame
    scoped: DataFrame
    beyond: DataFrame
    placement: DataFrame
    topology: DataFrame
    covered: DataFrame
    occupancy: DataFrame


def with_uid(df: DataFrame) -> DataFrame:
    """The frame with `uid`, one id per (cluster, job_id, attempt)."""
    return df.withColumn("uid", id_column(*(F.col(k) for k in ATTEMPT_KEY)))


def find_candidates(evidence: Evidence, rules: RuleTables, cut: Cut = lambda df: df) -> DataFrame:
    """One row per (attempt, rule, origin) that holds, with uid and cid, before the competition.

    Args:
        evidence: What attribution rests on.
        rules: The compiled rule set.
        cut: Materialises a frame that is used twice, so that its plan is neither analysed nor run twice.
    """
    attempts = evidence.attempts
    owned = evidence.scoped.join(F.broadcast(attempts.select("uid", "source_cluster", "workload_key", "user")), "uid")
    scoped = with_places(owned.drop(*_FOR_READERS), evidence.topology)
    tagged = cut(tag(scoped, rules["selectors"]))
    started = find_anchors(tagged, rules["specs"], rules["suppressions"])
    located = with_origin(started, attempts, evidence.placement, evidence.topology, names_known(tagged))
    around = attempts.select("uid", *ATTEMPT_KEY, "day", *_AROUND).join(_first_steps(tagged), "uid", "left")
    anchors = cut(located.join(around, "uid"))
    folds = fold(tagged, rules["probes"], beyond=False).unionByName(_folds_beyond(evidence, rules, cut))
    single = cut(probe(anchors, rules["spec_probes"], rules["probes"], folds))
    together = judge_composites(anchors, rules["spec_probes"], rules["composites"], single)
    found = single.drop("intervals").unionByName(together)
    candidates = evaluate(anchors, rules["rules"], rules["clauses"], found, evidence.covered)
    cid = id_column(F.col("uid"), F.col("rule_id"), F.array_join("origin", "\x1f"))
    best = candidates.withColumn("cid", cid)
    # Two anchors of one rule that resolve to one origin (a device and its node) are one candidate: the earlier one.
    return (
        best.groupBy("cid")
        .agg(F.min_by(F.struct(*best.columns), F.struct("t0_high", "event_ids")).alias("c"))
        .select("c.*")
    )


def _first_steps(tagged: DataFrame) -> DataFrame:
    """One row (uid, first_step) per attempt that reported a step: when it first made progress.

    Every rule set tags all step reports, so the scoped events need not be read again for them.
    """
    return tagged.where(F.col("event_type") == STEP).groupBy("uid").agg(F.min("t").alias("first_step"))


def _folds_beyond(evidence: Evidence, rules: RuleTables, cut: Cut) -> DataFrame:
    wanted = rules["probes"].where(F.col("kind").isin(*BEYOND_ATTEMPT)).select("selector_id").distinct()
    selectors = rules["selectors"].join(F.broadcast(wanted), "selector_id")
    tagged = cut(tag(with_places(evidence.beyond.drop(*_FOR_READERS), evidence.topology), selectors))
    ran = _with_jobs(tagged, rules["probes"], evidence.occupancy)
    return fold(ran.withColumn("uid", F.lit(None).cast("string")), rules["probes"], beyond=True)


def _with_jobs(tagged: DataFrame, probes: DataFrame, occupancy: DataFrame) -> DataFrame:
    """The events with `ran`: their job, or for a node's own events that are counted by job, the one that ran there."""
    counted = F.broadcast(probes.where("distinct_by = 'job'").select("selector_id").distinct())
    homeless = tagged.join(counted, "selector_id", "left_semi").where("home is null and node is not null")
    there = homeless.select("event_id", "source_cluster", "node", "t").join(occupancy, ["source_cluster", "node"])
    jobs = there.where(F.col("t").between(F.col("start"), F.col("end"))).groupBy("event_id")
    ran = jobs.agg(F.min(occupancy["home"]).alias("_ran"))
    return tagged.join(ran, "event_id", "left").withColumn("ran", F.coalesce("home", "_ran")).drop("_ran")
