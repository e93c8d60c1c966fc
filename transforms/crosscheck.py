"""The scheduler's word beside ours: whether they agree, and why not."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from firstfault.transforms.contract import column
from firstfault.transforms.types import INT, TEXT, TEXTS

REASONS = StructType(
    [
        column("reason_no", INT, "place; the first that fits is told"),
        column("says", TEXT, "outcome that the scheduler's state means, none when it claims none"),
        column("outcome", TEXT, "our outcome, null for any"),
        column("category", TEXTS, "our categories, empty for any"),
        column("why", TEXT, "the reason"),
    ]
)
NONE = "none"
"""What a scheduler says whose state claims no outcome."""


def with_crosscheck(rows: DataFrame, reasons: DataFrame) -> DataFrame:
    """The rows with `agrees_with_scheduler` and `scheduler_note`.

    They agree when the outcomes are equal; a scheduler that claims no outcome agrees with nothing and denies nothing,
    unless its state is success and ours is a failure. Without a scheduler's state both are null.

    Args:
        rows: With uid, outcome, category, scheduler_state and outcome_hint (what the state means).
        reasons: Rows of `REASONS`.
    """
    says = F.coalesce("outcome_hint", F.lit(NONE))
    asked = rows.select("uid", says.alias("says"), F.col("outcome").alias("_outcome"), F.col("category").alias("_is"))
    tried = asked.join(F.broadcast(reasons), "says").where(
        (F.col("outcome").isNull() | (F.col("outcome") == F.col("_outcome")))
        & ((F.size("category") == 0) | F.array_contains("category", F.col("_is")))
    )
    told = tried.groupBy("uid").agg(F.min_by("why", "reason_no").alias("_why"))
    spoken = F.col("scheduler_state").isNotNull()
    agrees = F.when(spoken & F.col("outcome_hint").isNotNull(), F.col("outcome_hint") == F.col("outcome"))
    differs = F.format_string(
        "The scheduler says %s%s; we say %s: %s.",
        F.col("scheduler_state"),
        F.coalesce(F.concat(F.lit(" ("), F.col("outcome_hint"), F.lit(")")), F.lit("")),
        F.col("outcome"),
        F.coalesce("_why", F.lit("its state tells how the attempt was ended, the evidence how it began")),
    )
    told_anyway = agrees & F.col("_why").isNotNull()
    same = F.format_string("The scheduler says %s, and so do we.", F.col("scheduler_state"))
    but = F.format_string("The scheduler says %s, and so do we, but %s.", F.col("scheduler_state"), F.col("_why"))
    note = F.when(told_anyway, but).when(agrees, same).otherwise(differs)
    return (
        rows.join(told, "uid", "left")
        .withColumns({"agrees_with_scheduler": agrees, "scheduler_note": F.when(spoken, note)})
        .drop("_why")
    )
