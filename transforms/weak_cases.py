"""Verdicts as weak labels look at them: with the attempt's time and nodes, and the nodes that are blamed."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.diagnoses import LIVE
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import LABELS, WEAK, WEAK_PREFIX

KEY = list(ATTEMPT_KEY)
_SAID = ("category", "origin_scope", "origin")
NODE_NAMED = ("gpu", "node", "port")
"""Scopes whose names begin with a node, but for `switch:port`."""


def cases(diagnoses: DataFrame, attempts: DataFrame) -> DataFrame:
    """One row per live verdict of an attempt that has ended, with `names`, `nodes`, `start`, `end`, `origin_nodes`.

    Args:
        diagnoses: Rows of `diagnoses`.
        attempts: Rows of `attempts`.
    """
    live = diagnoses.where(F.col("track") == LIVE).select(*KEY, *_SAID)
    known = attempts.where("end is not null").select(
        *KEY,
        F.array_distinct(F.array("cluster", F.coalesce("source_cluster", "cluster"))).alias("names"),
        "workload_key",
        F.coalesce("nodes", F.array().cast("array<string>")).alias("nodes"),
        "start",
        "end",
    )
    heads = F.transform("origin", lambda name: F.substring_index(name, "/", 1))
    nodes = F.array_distinct(F.filter(heads, lambda head: ~head.contains(":")))
    none = F.array().cast("array<string>")
    return live.join(known, KEY).withColumn(
        "origin_nodes", F.when(F.col("origin_scope").isin(*NODE_NAMED), nodes).otherwise(none)
    )


def at_nodes(rows: DataFrame, column: str) -> DataFrame:
    """One row per case and node of an array column, as `node`."""
    return rows.withColumn("node", F.explode(column))


def within(time: str | Column, days: int) -> Column:
    """Whether a time lies after the case's end, and no more than so many days."""
    at = F.col(time) if isinstance(time, str) else time
    return (at > F.col("end")) & (at <= F.col("end") + F.make_dt_interval(F.lit(days)))


def weak_rows(
    found: DataFrame, function: str, *, weight: Column, refutes: Column, at: Column, note: Column
) -> DataFrame:
    """Rows of `labels` of one function: one per case that was found.

    Args:
        found: Cases with category, origin_scope and origin as the label says them.
        function: Its name.
        weight: How much the label counts.
        refutes: Whether it says that this was not the cause.
        at: When the evidence came.
        note: The evidence in words.
    """
    return LABELS.conform(
        found.select(
            *KEY,
            *_SAID,
            F.lit(WEAK).alias("kind"),
            F.lit(WEAK_PREFIX + function).alias("source"),
            F.lit(None).alias("who"),
            at.alias("labelled_at"),
            weight.alias("weight"),
            refutes.alias("refutes"),
            F.lit(False).alias("withdrawn"),
            note.alias("note"),
        )
    )
