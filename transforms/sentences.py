"""The sentences of a verdict: the winning rule's templates, which `w` holds with its anchor, filled in."""

from pyspark.sql import Column
from pyspark.sql import functions as F

_NOTHING_SHOWN = (
    " Every expected source was delivered and none shows a fault; a stack or Flight Recorder dump of the ranks, or the "
    "application's own error output, would settle it."
)
MAX_NAMED = 4
"""Names listed where it cannot be told which of them it was."""
_SETTLE = "Collect the missing sources for this attempt and run the night again; its verdict re-opens by itself."


def conclusion(sure: Column, missing: Column) -> Column:
    """What is known, or what keeps the attempt from being known.

    Args:
        sure: The winner is sure enough.
        missing: Sources that would settle or strengthen it.
    """
    known = _fill(F.col("w.conclusion_en"))
    open_order = ~F.col("w.order_certain") | F.col("w.undecided")
    doubt = F.when(open_order, F.lit(" The clocks cannot decide the order this rests on.")).otherwise("")
    best = F.when(
        F.col("w.rule_id").isNotNull(),
        F.concat(F.lit(" Best guess, not sure enough: "), known),
    ).otherwise("")
    wanting = F.when(
        F.size(missing) > 0, F.concat(F.lit(" Missing: "), F.array_join(missing, ", "), F.lit("."))
    ).otherwise(_NOTHING_SHOWN)
    settle = F.when(F.col("w.settle").isNotNull(), F.concat(F.lit(" Would settle it: "), F.col("w.settle"))).otherwise(
        ""
    )
    unknown = F.concat(F.lit("The cause is not known."), best, wanting, settle)
    return F.when(sure, F.concat(known, doubt)).otherwise(unknown)


def action(sure: Column) -> Column:
    """What to do: the rule's word, or to bring what is missing."""
    return F.when(sure, _fill(F.col("w.action_en"))).otherwise(F.lit(_SETTLE))


def _fill(template: Column) -> Column:
    """The sentence with its placeholders filled in."""
    several = F.array_sort(F.array_union("w.origin", "w.rival_origins"))
    more = F.when(F.size(several) > MAX_NAMED, F.lit(", ...")).otherwise("")
    one_of = F.concat(F.lit("one of "), F.array_join(F.slice(several, 1, MAX_NAMED), ", "), more)
    doubtful = ~F.col("_located") & (F.size("w.rival_origins") > 0)
    origin = F.when(doubtful, one_of).when(F.size("w.origin") > 0, F.array_join("w.origin", ", ")).otherwise("the job")
    values = {
        "{origin}": origin,
        "{node}": F.coalesce("w.anchor_node", F.lit("an unnamed node")),
        "{device}": F.coalesce("w.anchor_device", F.lit("an unnamed device")),
        "{code}": F.coalesce("w.anchor_code", F.lit("-")),
        "{count}": F.col("w.anchor_count").cast("string"),
        "{nodes}": F.size("w.anchor_nodes").cast("string"),
        "{event}": F.col("w.anchor_type"),
    }
    for name, value in values.items():
        template = F.replace(template, F.lit(name), value)
    return template
