"""Edges: which candidate of an attempt beats which other, and whether their order lets us say so."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.clock_order import Clock, common_slack_s
from firstfault.transforms.columns import seconds


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
    one_category = F.col("a_category") == F.col("b_category")
    one_name = (F.col("a_origin") == F.col("b_origin")) & (F.col("a_origin_scope") == F.col("b_origin_scope"))
    same_entity = one_name & ((F.size("a_origin") > 0) | one_category | _one_start())
    a_explains = F.col("a_b").isNotNull() & maybe & ~_arises_elsewhere("a", "b") & ~_overcome("a", "b")
    b_explains = F.col("b_a").isNotNull() & ~_arises_elsewhere("b", "a") & ~_overcome("b", "a")
    one_link = _one_link()
    # A rule that asks for more does not undo what certainly came before it on the same place and explains it.
    began_it = b_explains & ~one_category & (seconds("b_t0_high") - slack < seconds("a_t0_low"))
    asks_more = F.col("a_specificity") > F.col("b_specificity")
    tells_more = (F.col("a_score") > F.col("b_score")) | ((F.col("a_score") == F.col("b_score")) & asks_more)
    more_asked = same_entity & F.when(one_category, tells_more).otherwise(asks_more & ~began_it)
    finer = more_asked | _names_more() | _stronger_end(one_link)
    other_story = ~(same_entity & one_category)
    teardown = (F.col("b_anchor_role") == "teardown") & (F.col("a_anchor_role") != "teardown")
    mutual = a_explains & b_explains & ~before & ~same_entity & ~one_link
    later = F.col("b_t0_high") < F.col("a_t0_low")
    edge = known.select(
        F.col("a_cid").alias("winner"),
        F.col("b_cid").alias("loser"),
        (finer | teardown | (before & a_explains)).alias("certain"),
        (mutual & ~later & ~finer & ~teardown).alias("open_order"),
        F.when(finer, "less_specific")
        .when(teardown, "explained_by")
        .when(a_explains & other_story & b_explains & before, "later")
        .when(a_explains & other_story & ~later, "explained_by")
        .alias("reason"),
    )
    return edge.where("reason is not null or open_order")


_EDGE_COLUMNS = (
    "uid", "cid", "rule_id", "category", "score", "link", "link_nodes", "origin", "origin_scope", "specificity",
    "origin_nodes", "t0_low", "t0_high", "anchor_type", "anchor_node", "anchor_role", "anchor_clock", "clock_error_s",
    "clock_shared_s", "clock_reference", "_overcome",
)  # fmt: skip
INITIATING = "initiating"
_CLOCK = ("anchor_clock", "clock_error_s", "clock_shared_s", "clock_reference")


def _arises_elsewhere(cause: str, effect: str) -> Column:
    """The effect starts from what a fault of other nodes does not cause, and the cause lies on other nodes."""
    starts_so = F.coalesce(F.col(f"{cause}_{effect}_local"), F.lit(False)) & (
        F.col(f"{effect}_anchor_role") == INITIATING
    )
    another_story = F.col("a_category") != F.col("b_category")
    return F.coalesce(starts_so & another_story & lie_apart(_nodes(cause), _nodes(effect)), F.lit(False))


def _overcome(cause: str, effect: str) -> Column:
    """The cause, and not the effect, was over before the attempt began, and did not keep it from making steps."""
    over = [F.coalesce(F.col(f"{side}__overcome"), F.lit(False)) for side in (cause, effect)]
    return over[0] & ~over[1]


def _nodes(side: str) -> Column:
    return touched(F.col(f"{side}_origin_nodes"), F.col(f"{side}_link_nodes"))


def touched(origin_nodes: Column, link_nodes: Column) -> Column:
    """The nodes that a candidate's origin lies on or serves."""
    none = F.array().cast("array<string>")
    return F.array_union(F.coalesce(origin_nodes, none), F.coalesce(link_nodes, none))


def lie_apart(ours: Column, theirs: Column) -> Column:
    """Both are on known nodes, and on no common one."""
    return (F.size(ours) > 0) & (F.size(theirs) > 0) & ~F.arrays_overlap(ours, theirs)


def _names_more() -> Column:
    """A names a part of what B names for the same category: a GPU or port of the node, anything where B names nothing.

    A port also names more than a node that its link serves: what the node felt came through it.
    """
    a, b = F.col("a_origin"), F.col("b_origin")
    inside = F.forall(a, lambda name: F.exists(b, lambda whole: name.startswith(F.concat(whole, F.lit("/")))))
    served = (F.col("b_origin_scope") == "node") & F.forall(b, lambda name: F.array_contains("a_link_nodes", name))
    located = (F.size(a) > 0) & ((F.size(b) == 0) | inside | F.coalesce(served, F.lit(False)))
    return (F.col("a_category") == F.col("b_category")) & located


def _one_link() -> Column:
    """Both name an end of one link for the same category."""
    same = (F.col("a_link") == F.col("b_link")) & (F.col("a_category") == F.col("b_category"))
    return F.coalesce(same, F.lit(False))


def _one_start() -> Column:
    """Both start from one event: two readings of one evidence, of which the one that asks for more stands."""
    same = [F.col(f"a_{c}").eqNullSafe(F.col(f"b_{c}")) for c in ("anchor_type", "t0_low", "t0_high", "anchor_node")]
    return reduce(Column.__and__, same)


def _stronger_end(one_link: Column) -> Column:
    """Of two ends of one link, the one with more evidence is named."""
    other_end = F.col("a_origin") != F.col("b_origin")
    return one_link & other_end & (F.col("a_score") > F.col("b_score"))


def _side(scored: DataFrame, name: str) -> DataFrame:
    return scored.select(*(F.col(c).alias(f"{name}_{c}") for c in _EDGE_COLUMNS))


def _explaining(explains: DataFrame, a: str, b: str) -> DataFrame:
    return F.broadcast(
        explains.select(
            F.col("rule_id").alias(f"{a}_rule_id"),
            F.col("event_type").alias(f"{b}_anchor_type"),
            F.lit(True).alias(f"{a}_{b}"),
            F.col("is_local").alias(f"{a}_{b}_local"),
        )
    )
