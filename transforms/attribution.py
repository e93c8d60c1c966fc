"""attribution: scoped events in, candidates out; the one join plan over all rules and all attempts.

scoped events -> placed -> tagged with the selectors that rules start from -> anchors
anchors -> needs (what they ask for) -> events tagged with those selectors only -> folds (what may stand around)
anchors x folds -> clauses judged -> candidates -> coverage of symptoms -> competition

Against design section 9, which tags every event once for all rules: an event then stood six times, once for each
selector it met, and all of it was folded. Tagging twice, the second time only for what anchors ask, folds a tenth.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.anchors import find_anchors, starts_of
from firstfault.transforms.candidates import Doubts, evaluate
from firstfault.transforms.columns import Cut
from firstfault.transforms.composites import judge_composites
from firstfault.transforms.filesystems import names_known
from firstfault.transforms.keys import ATTEMPT_KEY, id_column
from firstfault.transforms.needs import needs
from firstfault.transforms.origins import with_origin
from firstfault.transforms.probes import fold, probe
from firstfault.transforms.selection import tag, with_places
from firstfault.transforms.step_times import STEP
from firstfault.transforms.suppression import cancels, taken_back

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


def find_candidates(evidence: Evidence, rules: RuleTables, doubts: Doubts, cut: Cut = lambda df: df) -> DataFrame:
    """One row per (attempt, rule, origin) that holds, with uid and cid, before the competition.

    Args:
        evidence: What attribution rests on.
        rules: The compiled rule set.
        doubts: What speaks against a candidate by itself.
        cut: Materialises a frame that is used twice, so that its plan is neither analysed nor run twice.
    """
    placed = cut(_placed(evidence, rules["selectors"]))
    anchors = cut(_anchors(evidence, placed, rules, cut))
    within = cut(needs(anchors, rules["spec_probes"], rules["probes"], beyond=False))
    folds = fold(tag(placed, rules["selectors"], within), beyond=False).unionByName(
        _folds_beyond(evidence, anchors, rules, cut)
    )
    single = cut(probe(anchors, rules["spec_probes"], rules["probes"], folds))
    together = judge_composites(anchors, rules["spec_probes"], rules["composites"], single)
    found = single.drop("intervals").unionByName(together)
    candidates = evaluate(anchors, rules["rules"], rules["clauses"], found, evidence.covered, doubts)
    cid = id_column(F.col("uid"), F.col("rule_id"), F.array_join("origin", "\x1f"))
    best = candidates.withColumn("cid", cid)
    # Two anchors of one rule that resolve to one origin (a device and its node) are one candidate: the earlier one.
    return (
        best.groupBy("cid")
        .agg(F.min_by(F.struct(*best.columns), F.struct("t0_high", "event_ids")).alias("c"))
        .select("c.*")
    )


def _placed(evidence: Evidence, selectors: DataFrame) -> DataFrame:
    """The scoped events of types that some selector asks for, with places, workload and user; one row per event."""
    attempts = evidence.attempts.select("uid", "source_cluster", "workload_key", "user")
    asked = evidence.scoped.join(F.broadcast(selectors.select("event_type").distinct()), "event_type", "left_semi")
    return with_places(asked.join(F.broadcast(attempts), "uid").drop(*_FOR_READERS), evidence.topology)


def _anchors(evidence: Evidence, placed: DataFrame, rules: RuleTables, cut: Cut) -> DataFrame:
    """One row per (attempt, anchor specification, entity) with its origin and what else is known of the attempt."""
    used = F.broadcast(rules["specs"].select("selector_id").distinct())
    starts = cut(starts_of(tag(placed, rules["selectors"].join(used, "selector_id")), rules["specs"]))
    ends = tag(placed, rules["selectors"], cut(cancels(starts, rules["suppressions"])))
    taken = cut(taken_back(starts, ends, rules["suppressions"]))
    located = with_origin(
        find_anchors(starts, taken), evidence.attempts, evidence.placement, evidence.topology, names_known(placed)
    )
    attempts = evidence.attempts.select("uid", *ATTEMPT_KEY, "day", *_AROUND)
    return located.join(attempts.join(_first_steps(placed), "uid", "left"), "uid")


def _first_steps(placed: DataFrame) -> DataFrame:
    """One row (uid, first_step) per attempt that reported a step: when it first made progress.

    Every rule set asks for step reports, so the scoped events need not be read again for them.
    """
    return placed.where(F.col("event_type") == STEP).groupBy("uid").agg(F.min("t").alias("first_step"))


def _folds_beyond(evidence: Evidence, anchors: DataFrame, rules: RuleTables, cut: Cut) -> DataFrame:
    asked = cut(needs(anchors, rules["spec_probes"], rules["probes"], beyond=True))
    placed = with_places(evidence.beyond.drop(*_FOR_READERS), evidence.topology)
    tagged = cut(tag(placed, rules["selectors"], asked))
    ran = _with_jobs(tagged, rules["probes"], evidence.occupancy)
    return fold(ran.withColumn("uid", F.lit(None).cast("string")), beyond=True)


def _with_jobs(tagged: DataFrame, probes: DataFrame, occupancy: DataFrame) -> DataFrame:
    """The events with `ran`: their job, or for a node's own events that are counted by job, the one that ran there."""
    counted = F.broadcast(probes.where("distinct_by = 'job'").select("selector_id").distinct())
    homeless = tagged.join(counted, "selector_id", "left_semi").where("home is null and node is not null")
    there = homeless.select("event_id", "source_cluster", "node", "t").join(occupancy, ["source_cluster", "node"])
    jobs = there.where(F.col("t").between(F.col("start"), F.col("end"))).groupBy("event_id")
    ran = jobs.agg(F.min(occupancy["home"]).alias("_ran"))
    return tagged.join(ran, "event_id", "left").withColumn("ran", F.coalesce("home", "_ran")).drop("_ran")
