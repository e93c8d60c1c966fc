"""Competition: candidates of one attempt against each other, all attempts at once (design section 9).

A beats B if A explains B's anchor and does not come after it, or names the same entity and asks for more, or B only
saw the teardown. Where each could explain the other and their order cannot be decided, neither beats the other and the
verdict says so.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.clock_order import Clock, common_slack_s
from firstfault.transforms.columns import Cut, seconds

COVERAGE_WEIGHT = 2.0


@dataclass(frozen=True)
class Scoring:
    """Parameters of the verdict (rules/scoring.yaml).

    Attributes:
        calibration: (least margin in points, share of verdicts that were right), margins falling.
        undecidable_cap: Highest confidence when the deciding order is undecidable or a needed source is missing.
        unknown_below: Below this confidence the category is `unknown`.
        independent_bar: Points from which another unbeaten candidate is a finding of its own.
        poor_input_factor: Part of the confidence that is left when a source it rests on is poor.
        clock_fault_factor: The same for a clock that is at fault, though corrected.
    """

    calibration: tuple[tuple[float, float], ...]
    undecidable_cap: float
    unknown_below: float
    independent_bar: float
    poor_input_factor: float = 1.0
    clock_fault_factor: float = 1.0

    def confidence(self, margin: Column) -> Column:
        """Share of verdicts with such a margin that were right."""
        value = F.lit(0.0)
        for least, share in sorted(self.calibration):
            value = F.when(margin >= least, F.lit(share)).otherwise(value)
        return value


def with_coverage(candidates: DataFrame, symptoms: DataFrame, explains: DataFrame) -> DataFrame:
    """The candidates with `explained` (symptom event ids) and `coverage`, their share of the attempt's symptoms."""
    total = symptoms.groupBy("uid").agg(F.count("*").alias("_total"))
    felt = symptoms.select("uid", F.col("event_type"), F.col("event_id").alias("_id"), F.col("t_high").alias("_high"))
    paired = (
        candidates.select("cid", "uid", "rule_id", "t0_low")
        .join(F.broadcast(explains), "rule_id")
        .join(felt, ["uid", "event_type"])
        .where(F.col("t0_low") <= F.col("_high"))
    )
    explained = paired.groupBy("cid").agg(F.array_sort(F.collect_set("_id")).alias("explained"))
    joined = candidates.join(explained, "cid", "left").join(total, "uid", "left")
    none = F.array().cast("array<string>")
    return joined.withColumns(
        {
            "explained": F.coalesce("explained", none),
            "coverage": F.round(
                F.coalesce(F.try_divide(F.size(F.coalesce("explained", none)), F.col("_total")), F.lit(0.0)),
                4,
            ),
        }
    ).drop("_total")


def compete(candidates: DataFrame, explains: DataFrame, scoring: Scoring, cut: Cut = lambda df: df) -> DataFrame:
    """The candidates with score, is_winner, why_lost, confidence of the winner, and order_certain.

    Args:
        candidates: With `cid`, `uid` and the columns of `with_coverage`.
        explains: Rows of `rule_tables.EXPLAINS`.
        scoring: Parameters.
        cut: Materialises a frame that is used twice.
    """
    scored = cut(candidates.withColumn("score", F.round(F.col("points") + COVERAGE_WEIGHT * F.col("coverage"), 4)))
    edges = cut(beats(scored, explains))
    beaten = edges.where("not open_order").groupBy("loser").agg(F.max("certain").alias("_certainly"))
    ranked = scored.join(beaten, scored["cid"] == beaten["loser"], "left").drop("loser")
    best_first = Window.partitionBy("uid").orderBy(
        # Uncertain edges may form a cycle that leaves nobody; then only certain ones count.
        F.when(F.col("_certainly").isNull(), 0).when(~F.col("_certainly"), 1).otherwise(2),
        F.col("score").desc(),
        F.col("specificity").desc(),
        "t0_high",
        "rule_id",
        F.array_join("origin", ";"),
    )
    placed = ranked.withColumn("_place", F.row_number().over(best_first)).withColumn("is_winner", F.col("_place") == 1)
    return _with_reasons(cut(placed), edges, scoring)


def beats(scored: DataFrame, explains: DataFrame) -> DataFrame:
    """One row per (winner, loser) edge: certain, open_order (each could explain the other), and the reason."""
    pairs = _side(scored, "a").join(
        _side(scored, "b"), (F.col("a_uid") == F.col("b_uid")) & (F.col("a_cid") != F.col("b_cid"))
    )
    known = pairs.join(_explaining(explains, "a", "b"), ["a_rule_id", "b_anchor_type"], "left").join(
        _explaining(explains, "b", "a"), ["b_rule_id", "a_anchor_type"], "left"
    )
    slack = common_slack_s(Clock(*(F.col(f"a_{c}") for c in _CLOCK)), Clock(*(F.col(f"b_{c}") for c in _CLOCK)))
    before = seconds("a_t0_high") - slack < seconds("b_t0_low")
    maybe = seconds("a_t0_low") <= seconds("b_t0_high") - slack
    same_entity = (F.col("a_origin") == F.col("b_origin")) & (F.col("a_origin_scope") == F.col("b_origin_scope"))
    finer = (same_entity & (F.col("a_specificity") > F.col("b_specificity"))) | _names_more()
    teardown = (F.col("b_anchor_role") == "teardown") & (F.col("a_anchor_role") != "teardown")
    a_explains, b_explains = F.col("a_b").isNotNull() & maybe, F.col("b_a").isNotNull()
    mutual = a_explains & b_explains & ~before & ~same_entity
    later = F.col("b_t0_high") < F.col("a_t0_low")
    edge = known.select(
        F.col("a_cid").alias("winner"),
        F.col("b_cid").alias("loser"),
        (finer | teardown | (before & a_explains)).alias("certain"),
        (mutual & ~later & ~finer & ~teardown).alias("open_order"),
        F.when(finer, "less_specific")
        .when(teardown, "explained_by")
        .when(a_explains & ~same_entity & b_explains & before, "later")
        .when(a_explains & ~same_entity & ~later, "explained_by")
        .alias("reason"),
    )
    return edge.where("reason is not null or open_order")


_EDGE_COLUMNS = (
    "uid", "cid", "rule_id", "category", "origin", "origin_scope", "specificity", "t0_low", "t0_high", "anchor_type",
    "anchor_role", "anchor_clock", "clock_error_s", "clock_shared_s", "clock_reference",
)  # fmt: skip
_CLOCK = ("anchor_clock", "clock_error_s", "clock_shared_s", "clock_reference")


def _names_more() -> Column:
    """A names a part of what B names (a GPU of the node, or anything where B names nothing) for the same category."""
    a, b = F.col("a_origin"), F.col("b_origin")
    inside = F.forall(a, lambda name: F.exists(b, lambda whole: name.startswith(F.concat(whole, F.lit("/")))))
    located = (F.size(a) > 0) & ((F.size(b) == 0) | inside)
    return (F.col("a_category") == F.col("b_category")) & located


def _side(scored: DataFrame, name: str) -> DataFrame:
    return scored.select(*(F.col(c).alias(f"{name}_{c}") for c in _EDGE_COLUMNS))


def _explaining(explains: DataFrame, a: str, b: str) -> DataFrame:
    return F.broadcast(
        explains.select(
            F.col("rule_id").alias(f"{a}_rule_id"),
            F.col("event_type").alias(f"{b}_anchor_type"),
            F.lit(True).alias(f"{a}_{b}"),
        )
    )


def _with_reasons(placed: DataFrame, edges: DataFrame, scoring: Scoring) -> DataFrame:
    winners = placed.where("is_winner").select(
        "uid",
        F.col("cid").alias("_w"),
        F.col("score").alias("_w_score"),
        F.col("coverage").alias("_w_coverage"),
        F.col("explained").alias("_w_explained"),
        F.col("origin").alias("_w_origin"),
        F.col("category").alias("_w_category"),
    )
    by_winner = edges.select(F.col("winner").alias("_w"), F.col("loser").alias("cid"), "reason", "open_order")
    every = placed.join(winners, "uid").join(by_winner, ["_w", "cid"], "left")
    is_other = ~F.col("is_winner")
    undecided = F.coalesce("open_order", F.lit(False))
    independent = (
        is_other
        & F.col("_certainly").isNull()
        & F.col("reason").isNull()
        & (F.col("points") >= scoring.independent_bar)
        & (F.col("origin") != F.col("_w_origin"))
        & (F.size("explained") > 0)
        & ~F.arrays_overlap("explained", "_w_explained")
        & (F.size("missing") == 0)
    )
    why = (
        F.when(F.col("is_winner") | independent, None)
        .when(undecided, "undecidable_order")
        .when(F.col("reason").isNotNull(), F.col("reason"))
        .when(F.col("_certainly").isNotNull(), "explained_by")
        .when(F.size("missing") > 0, "source_missing")
        .when(F.col("coverage") < F.col("_w_coverage"), "covers_less")
        .otherwise("low_points")
    )
    # A rival that the winner explains, or that tells the same story, does not lower the margin.
    same_story = (F.col("category") == F.col("_w_category")) & (
        (F.col("origin") == F.col("_w_origin")) | (F.size("origin") == 0)
    )
    rival = (
        is_other & ~independent & ~same_story & (undecided | F.col("reason").isNull()) & F.col("_certainly").isNull()
    )
    attempt = Window.partitionBy("uid")
    margin = F.col("_w_score") - F.greatest(F.max(F.when(rival, F.col("score"))).over(attempt), F.lit(0.0))
    open_order = F.max((undecided & is_other).cast("int")).over(attempt) == 1
    return every.select(
        *placed.columns,
        independent.alias("is_independent"),
        why.alias("why_lost"),
        F.coalesce(margin, F.col("_w_score")).alias("margin"),
        (~F.coalesce(open_order, F.lit(False))).alias("order_certain"),
    )
