"""Competition: candidates of one attempt against each other, all attempts at once (design section 9).

A beats B if A explains B's anchor and does not come after it, or names the same entity and asks for more, or B only
saw the teardown. Where each could explain the other and their order cannot be decided, neither beats the other and the
verdict says so.
"""

from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.candidates import Doubts
from firstfault.transforms.columns import Cut
from firstfault.transforms.edges import INITIATING, beats, lie_apart, touched
from firstfault.transforms.standing import Weights

COVERAGE_WEIGHT = 2.0
UNKNOWN = "unknown"
"""Category of a candidate that names who, and not what."""


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
        weights: What other attempts add or take.
        doubts: What speaks against a candidate by itself.
    """

    calibration: tuple[tuple[float, float], ...]
    undecidable_cap: float
    unknown_below: float
    independent_bar: float
    poor_input_factor: float = 1.0
    clock_fault_factor: float = 1.0
    weights: Weights = field(default_factory=Weights)
    doubts: Doubts = field(default_factory=Doubts)

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
    explained = paired.groupBy("cid").agg(F.sort_array(F.collect_set("_id")).alias("explained"))
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
    """The candidates with score, is_winner, why_lost, margin, origin_margin, rival_origins and order_certain.

    `margin` is what the winner is ahead of rivals of other categories, `origin_margin` of those of its own category
    that name another origin: they leave no doubt of what, only of where.

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
    local = explains.where("is_local").select(F.col("event_type").alias("anchor_type")).distinct()
    marked = placed.join(F.broadcast(local.withColumn("_local", F.lit(True))), "anchor_type", "left")
    return _with_reasons(cut(marked.select(*placed.columns, "_local")), edges, scoring)


def _with_reasons(placed: DataFrame, edges: DataFrame, scoring: Scoring) -> DataFrame:
    winners = placed.where("is_winner").select(
        "uid",
        F.col("cid").alias("_w"),
        F.col("score").alias("_w_score"),
        F.col("coverage").alias("_w_coverage"),
        F.col("explained").alias("_w_explained"),
        F.col("origin").alias("_w_origin"),
        F.col("origin_nodes").alias("_w_nodes"),
        F.col("link").alias("_w_link"),
        F.col("link_nodes").alias("_w_link_nodes"),
        F.col("t0_high").alias("_w_t0_high"),
        F.col("category").alias("_w_category"),
    )
    by_winner = edges.select(F.col("winner").alias("_w"), F.col("loser").alias("cid"), "reason", "open_order")
    every = placed.join(winners, "uid").join(by_winner, ["_w", "cid"], "left")
    second = _second(scoring)
    # A fault of its own kind and place is no other story of the winner's; it may have come first.
    of_its_own = second & F.coalesce("_local", F.lit(False))
    rival, alike = _rivals(_independent(scoring) | of_its_own), F.col("category") == F.col("_w_category")
    perhaps_first = of_its_own & (F.col("t0_low") <= F.col("_w_t0_high"))
    unsure = (_undecided() & ~F.col("is_winner") & ~alike) | perhaps_first
    open_order = F.max(unsure.cast("int")).over(Window.partitionBy("uid")) == 1
    finding = _independent(scoring) | second
    # One of the same category doubts only where it began.
    doubtful = F.flatten(F.collect_set(F.when(rival & alike, F.col("origin"))).over(Window.partitionBy("uid")))
    return every.select(
        *(c for c in placed.columns if c != "_local"),
        finding.alias("is_independent"),
        _why_lost(finding).alias("why_lost"),
        _ahead_of(rival & ~alike).alias("margin"),
        _ahead_of(rival & alike).alias("origin_margin"),
        F.sort_array(F.array_distinct(doubtful)).alias("rival_origins"),
        (~F.coalesce(open_order, F.lit(False))).alias("order_certain"),
    )


def _undecided() -> Column:
    """The clocks cannot tell whether it or the winner came first."""
    return F.coalesce("open_order", F.lit(False))


def _independent(scoring: Scoring) -> Column:
    """A finding of its own: unbeaten, of another origin, with symptoms that the winner does not explain."""
    return (
        ~F.col("is_winner")
        & F.col("_certainly").isNull()
        & F.col("reason").isNull()
        & (F.col("points") >= scoring.independent_bar)
        & (F.col("origin") != F.col("_w_origin"))
        & (F.size("explained") > 0)
        & ~F.arrays_overlap("explained", "_w_explained")
        & (F.size("missing") == 0)
    )


def _second(scoring: Scoring) -> Column:
    """A second fault: unbeaten, begun on other nodes, of another category; it may share symptoms."""
    ours = touched(F.col("origin_nodes"), F.col("link_nodes"))
    theirs = touched(F.col("_w_nodes"), F.col("_w_link_nodes"))
    unbeaten = F.col("_certainly").isNull() & F.col("reason").isNull() & ~_undecided()
    own_kind = ~F.col("category").isin(UNKNOWN) & (F.col("category") != F.col("_w_category"))
    strong = (F.col("points") >= scoring.independent_bar) & (F.size("missing") == 0)
    began = F.col("anchor_role") == INITIATING
    found = ~F.col("is_winner") & unbeaten & own_kind & strong & began & lie_apart(ours, theirs)
    return F.coalesce(found, F.lit(False))


def _why_lost(independent: Column) -> Column:
    return (
        F.when(F.col("is_winner") | independent, None)
        .when(_undecided(), "undecidable_order")
        .when(F.col("reason").isNotNull(), F.col("reason"))
        .when(F.col("_certainly").isNotNull(), "explained_by")
        .when(F.size("missing") > 0, "source_missing")
        .when(F.col("coverage") < F.col("_w_coverage"), "covers_less")
        .otherwise("low_points")
    )


def _rivals(independent: Column) -> Column:
    """It lowers the margin: neither beaten nor a finding of its own, and it tells another story.

    A suspect of unknown category on the winner's node, or one without a name, tells the same story with less of it.
    What the attempt overcame tells none.
    """
    nodes_met = F.coalesce(F.arrays_overlap("origin_nodes", "_w_nodes"), F.lit(False))
    one_link = F.coalesce(F.col("link") == F.col("_w_link"), F.lit(False))
    here = F.arrays_overlap("origin", "_w_origin") | nodes_met | one_link
    like = (F.col("category") == F.col("_w_category")) | (F.col("category") == UNKNOWN)
    same_story = like & (here | (F.size("origin") == 0))
    unbeaten = (_undecided() | F.col("reason").isNull()) & F.col("_certainly").isNull()
    overcome = F.coalesce("_overcome", F.lit(False))
    return ~F.col("is_winner") & ~independent & ~same_story & unbeaten & ~overcome


def _ahead_of(rivals: Column) -> Column:
    """What the winner's score has over the best of these; the score itself where there is none."""
    best = F.greatest(F.max(F.when(rivals, F.col("score"))).over(Window.partitionBy("uid")), F.lit(0.0))
    return F.coalesce(F.col("_w_score") - best, F.col("_w_score"))
