"""attribution: scoped events in, candidates out; the one join plan over all rules and all attempts.

scoped events -> tagged with selectors -> anchors (where rules start)
-> folds   (what may stand around them)
anchors x folds -> clauses judged -> candidates -> coverage of symptoms -> competition
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.anchors import find_anchors, with_origin
from firstfault.transforms.candidates import evaluate
from firstfault.transforms.columns import Cut
from firstfault.transforms.keys import ATTEMPT_KEY, id_column
from firstfault.transforms.probes import BEYOND_ATTEMPT, fold, probe
from firstfault.transforms.selection import tag, with_places

_AROUND = ("home", "window_from", "window_to", "source_cluster", "workload_key", "user")
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
    """

    attempts: DataFrame
    scoped: DataFrame
    beyond: DataFrame
    placement: DataFrame
    topology: DataFrame
    covered: DataFrame


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
    scoped = with_places(owned, evidence.topology)
    tagged = cut(tag(scoped, rules["selectors"]))
    located = with_origin(find_anchors(tagged, rules["specs"]), attempts, evidence.placement, evidence.topology)
    anchors = cut(located.join(attempts.select("uid", *ATTEMPT_KEY, "day", *_AROUND), "uid"))
    folds = fold(tagged, rules["probes"], beyond=False).unionByName(_folds_beyond(evidence, rules))
    found = probe(anchors, rules["spec_probes"], rules["probes"], folds)
    candidates = evaluate(anchors, rules["rules"], rules["clauses"], found, evidence.covered)
    cid = id_column(F.col("uid"), F.col("rule_id"), F.array_join("origin", "\x1f"))
    best = candidates.withColumn("cid", cid)
    # Two anchors of one rule that resolve to one origin (a device and its node) are one candidate: the earlier one.
    return (
        best.groupBy("cid")
        .agg(F.min_by(F.struct(*best.columns), F.struct("t0_high", "event_ids")).alias("c"))
        .select("c.*")
    )


def _folds_beyond(evidence: Evidence, rules: RuleTables) -> DataFrame:
    wanted = rules["probes"].where(F.col("kind").isin(*BEYOND_ATTEMPT)).select("selector_id").distinct()
    selectors = rules["selectors"].join(F.broadcast(wanted), "selector_id")
    tagged = tag(with_places(evidence.beyond, evidence.topology), selectors)
    return fold(tagged.withColumn("uid", F.lit(None).cast("string")), rules["probes"], beyond=True)
