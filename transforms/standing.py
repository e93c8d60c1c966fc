"""Standing: what other attempts say of a candidate, of the same cluster, that day and the look-back days before it.

A rule that fires as often where nothing went wrong explains little; the same place under other workloads points at the
place; the same failure of one workload on other nodes points at its code.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

COLUMNS = ("healthy_share", "healthy_places", "same_place", "same_code")
HEALTHY_PRIOR = 10
"""Healthy attempts added to those counted, so that the first few that a rule fires on say little."""


@dataclass(frozen=True)
class Weights:
    """What other attempts add to, or take from, a candidate's points (rules/scoring.yaml).

    Attributes:
        healthy_rule: Taken, times the share of healthy attempts on which the rule fires.
        healthy_place: Taken when the rule blames the same origin on healthy attempts.
        same_place: Added to a fault of a place whose node failed in the same way under other workloads.
        same_code: Added to a fault of the code when the workload failed in the same way on other nodes.
        place_categories: Categories that are faults of a place.
        code_categories: Categories that are faults of the code.
    """

    healthy_rule: float = 0.0
    healthy_place: float = 0.0
    same_place: float = 0.0
    same_code: float = 0.0
    place_categories: tuple[str, ...] = ()
    code_categories: tuple[str, ...] = ()


def with_standing(
    candidates: DataFrame, known: DataFrame, peers: DataFrame, weights: Weights, lookback_days: int
) -> DataFrame:
    """The candidates with healthy_share, healthy_places, same_place and same_code, and their points changed by them.

    Args:
        candidates: With cid, uid, cluster, day, rule_id, category, origin, origin_nodes, anchor_code, anchor_nodes,
            points.
        known: Candidates of all attempts that may speak, these included; same columns but cid.
        peers: Attempts that may speak: uid, cluster, day, start, end, workload_key, is_healthy.
        weights: Parameters.
        lookback_days: Days before an attempt's own of which others speak.
    """
    mine = candidates.drop(*COLUMNS).join(peers.select("uid", F.col("workload_key").alias("_workload")), "uid", "left")
    during = (F.col("t0") >= F.col("start")) & (F.col("t0") <= F.coalesce("end", "t0"))
    others = known.drop("cluster", "day").join(peers, "uid")
    calm = others.where(F.col("is_healthy") & during)
    ill = others.where(~F.col("is_healthy"))
    found = mine.join(_healthy_share(mine, calm, peers, lookback_days), ["cluster", "rule_id", "day"], "left")
    for extra in (
        _at_healthy(mine, calm, lookback_days),
        _same_place(mine, ill, weights, lookback_days),
        _same_code(mine, ill, weights, lookback_days),
    ):
        found = found.join(extra, "cid", "left")
    counted = found.withColumns({n: F.coalesce(n, F.lit(0)).cast("int") for n in COLUMNS[1:]}).withColumn(
        "healthy_share", F.round(F.coalesce("healthy_share", F.lit(0.0)), 4)
    )
    change = (
        weights.same_place * _grows("same_place")
        + weights.same_code * _grows("same_code")
        - weights.healthy_rule * F.col("healthy_share")
        - weights.healthy_place * _grows("healthy_places")
    )
    return counted.withColumn("points", F.round(F.col("points") + change, 3)).drop("_workload")


def _grows(count: str) -> Column:
    """0 for none, a half for one, towards 1 for many."""
    return F.col(count) / (F.col(count) + 1)


def _before(mine: str, theirs: str, lookback_days: int) -> Column:
    """Only attempts up to the day of one's own speak: a later night would say otherwise of an earlier one."""
    return (F.col(theirs) <= F.col(mine)) & (F.col(theirs) >= F.date_sub(F.col(mine), lookback_days))


def _healthy_share(mine: DataFrame, calm: DataFrame, peers: DataFrame, lookback_days: int) -> DataFrame:
    """One row (cluster, rule_id, day): the share of healthy attempts on which the rule fires."""
    asked = mine.select("cluster", "rule_id", F.col("day").alias("_day")).distinct()
    fired = calm.groupBy("cluster", "rule_id", "day").agg(F.countDistinct("uid").alias("_h"))
    near = _before("_day", "day", lookback_days)
    on = asked.join(fired, ["cluster", "rule_id"]).where(near).groupBy("cluster", "rule_id", "_day")
    healthy = peers.where("is_healthy").groupBy("cluster", "day").agg(F.count("*").alias("_n"))
    days = asked.select("cluster", "_day").distinct().join(healthy, "cluster").where(near)
    totals = days.groupBy("cluster", "_day").agg(F.sum("_n").alias("_n"))
    share = F.col("_h") / (F.col("_n") + HEALTHY_PRIOR)
    return (
        on.agg(F.sum("_h").alias("_h"))
        .join(totals, ["cluster", "_day"])
        .select("cluster", "rule_id", F.col("_day").alias("day"), share.alias("healthy_share"))
    )


def _at_healthy(mine: DataFrame, calm: DataFrame, lookback_days: int) -> DataFrame:
    """One row (cid, healthy_places): healthy attempts on which the same rule blames one of the same names."""
    asked = mine.select("cid", "cluster", "rule_id", F.col("day").alias("_day"), F.explode("origin").alias("name"))
    said = calm.select("cluster", "rule_id", "day", F.col("uid").alias("_other"), F.explode("origin").alias("name"))
    met = asked.join(said, ["cluster", "rule_id", "name"]).where(_before("_day", "day", lookback_days))
    return met.groupBy("cid").agg(F.countDistinct("_other").alias("healthy_places"))


def _same_place(mine: DataFrame, ill: DataFrame, weights: Weights, lookback_days: int) -> DataFrame:
    """One row (cid, same_place): failed attempts of other workloads with the same category on one of its nodes."""
    of_place = mine.where(F.col("category").isin(*weights.place_categories))
    asked = of_place.select(
        "cid", "cluster", "category", "_workload", F.col("day").alias("_day"), F.explode("origin_nodes").alias("node")
    )
    said = ill.select(
        "cluster", "category", "day", "workload_key", F.col("uid").alias("_other"),
        F.explode("origin_nodes").alias("node"),
    )  # fmt: skip
    met = asked.join(said, ["cluster", "category", "node"]).where(_before("_day", "day", lookback_days))
    return met.where("workload_key != _workload").groupBy("cid").agg(F.countDistinct("_other").alias("same_place"))


def _same_code(mine: DataFrame, ill: DataFrame, weights: Weights, lookback_days: int) -> DataFrame:
    """One row (cid, same_code): attempts of the workload that failed by the same rule and code, all on other nodes."""
    none = F.array().cast("array<string>")

    def side(df: DataFrame, workload: str, names: dict[str, str]) -> DataFrame:
        code = F.coalesce("anchor_code", F.lit("")).alias("_code")
        nodes = F.coalesce("anchor_nodes", none)
        renamed = (nodes.alias(names["nodes"]), F.col("day").alias(names["day"]), F.col("uid").alias(names["uid"]))
        extra = ("cid",) if "cid" in df.columns else ()
        return df.select(*extra, "cluster", "rule_id", code, F.col(workload).alias("_of"), *renamed)

    of_code = mine.where(F.col("category").isin(*weights.code_categories))
    asked = side(of_code, "_workload", {"nodes": "_nodes", "day": "_day", "uid": "_uid"})
    said = side(ill.drop("cid"), "workload_key", {"nodes": "_their", "day": "day", "uid": "_other"})
    met = asked.join(said, ["cluster", "rule_id", "_code", "_of"]).where(_before("_day", "day", lookback_days))
    elsewhere = ~F.arrays_overlap("_nodes", "_their") & (F.size("_their") > 0)
    return (
        met.where(elsewhere & (F.col("_other") != F.col("_uid")))
        .groupBy("cid")
        .agg(F.countDistinct("_other").alias("same_code"))
    )
