"""Weak labels: what later nights hint at about a verdict, one named function a kind; rows of `labels`, kind weak.

Each takes the cases it judges (`weak_cases.cases`) and what came later, and gives at most one row a case. Windows and
weights are data (rules/weak_labels.yaml).
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.weak_cases import KEY, at_nodes, weak_rows, within
from firstfault.transforms.weak_rules import Readiness, WeakRules


def same_node_failed_again(
    judged: DataFrame, known: DataFrame, attempts: DataFrame, repairs: DataFrame, rules: WeakRules
) -> DataFrame:
    """One row per case of hardware whose node failed under another job soon after, or ran others to the end.

    Args:
        judged: Cases to label.
        known: Cases that may speak, those to label included.
        attempts: Rows of `attempts`.
        repairs: Rows of `repairs`.
        rules: Weights and windows.
    """
    own, days = at_nodes(located(judged, rules), "origin_nodes"), rules.again.window_days
    other = at_nodes(located(known, rules), "origin_nodes").select(
        "cluster", "node", F.col("job_id").alias("_job"), F.col("end").alias("_at")
    )
    meets = own.join(other, ["cluster", "node"]).where((F.col("_job") != F.col("job_id")) & within("_at", days))
    first = meets.groupBy(*KEY).agg(F.min(F.struct("_at", "node", "_job")).alias("_first"))
    again = judged.join(first, KEY)
    supports = weak_rows(
        again, "same_node_failed_again", weight=F.lit(rules.again.supports), refutes=F.lit(False),
        at=F.col("_first._at"), note=F.format_string("%s failed again in job %s", "_first.node", "_first._job"),
    )  # fmt: skip
    calm = _calm(own, attempts, repairs, rules).join(first, KEY, "left_anti")
    refutes = weak_rows(
        judged.join(calm, KEY), "same_node_failed_again", weight=F.lit(rules.again.refutes), refutes=F.lit(True),
        at=F.col("end") + F.make_dt_interval(F.lit(days)),
        note=F.format_string("ran %d other jobs to the end in %d days without a repair", "_clean", F.lit(days)),
    )  # fmt: skip
    return supports.unionByName(refutes)


def _calm(own: DataFrame, attempts: DataFrame, repairs: DataFrame, rules: WeakRules) -> DataFrame:
    """Keys of the cases all of whose nodes worked for the whole window, and how many jobs each ran at least."""
    days = rules.again.window_days
    whole = own.crossJoin(attempts.agg(F.max("end").alias("_newest"))).where(
        F.col("_newest") >= F.col("end") + F.make_dt_interval(F.lit(days))
    )
    ran = at_nodes(attempts.where("is_ended and not is_failure and end is not null"), "nodes").select(
        "cluster", "node", F.col("job_id").alias("_job"), F.col("start").alias("_from"), F.col("end").alias("_to")
    )
    clean = (
        _unrepaired(whole, repairs, days)
        .join(ran, ["cluster", "node"])
        .where((F.col("_job") != F.col("job_id")) & (F.col("_from") >= F.col("end")) & within("_to", days))
        .groupBy(*KEY, "node", F.size("origin_nodes").alias("_nodes"))
        .agg(F.count_distinct("_job").alias("_clean"))
        .where(F.col("_clean") >= rules.again.least_clean)
    )
    counted = clean.groupBy(*KEY, "_nodes").agg(F.count("*").alias("_calm"), F.min("_clean").alias("_clean"))
    return counted.where("_calm = _nodes").select(*KEY, "_clean")


def _unrepaired(rows: DataFrame, repairs: DataFrame, days: int) -> DataFrame:
    """The rows (a case and a node) whose node was not repaired within the days after the case."""
    done = repairs.select(F.col("cluster").alias("_named"), F.col("node").alias("_node"), F.col("day").alias("_day"))
    met = (
        (F.col("node") == F.col("_node"))
        & F.array_contains("names", F.col("_named"))
        & F.col("_day").between(F.to_date("end"), F.date_add(F.to_date("end"), days))
    )
    return rows.join(done, met, "left_anti")


def repaired(judged: DataFrame, repairs: DataFrame, rules: WeakRules) -> DataFrame:
    """One row per case whose node was repaired: the part tells the category, whatever the verdict said.

    Args:
        judged: Cases to label.
        repairs: Rows of `repairs`.
        rules: Weights and windows.
    """
    has_place = F.size("origin_nodes") > 0
    own = at_nodes(judged.withColumn("_at", F.when(has_place, F.col("origin_nodes")).otherwise(F.col("nodes"))), "_at")
    days = F.when(has_place, rules.repaired.window_days).otherwise(rules.repaired.unlocated_days)
    done = repairs.select(
        F.col("cluster").alias("_named"), "node", "device", "serial", "part", "day", _category(rules).alias("_category")
    ).where("_category is not null")
    met = own.join(done, "node").where(
        F.array_contains("names", F.col("_named"))
        & (F.col("day") >= F.to_date("end"))
        & (F.col("day") <= F.date_add(F.to_date("end"), days))
    )
    order = F.struct("day", "node", "_category", "device", "serial", "part")
    first = met.groupBy(*KEY).agg(F.min(order).alias("_first")).select(*KEY, "_first.*", "_first")
    is_gpu = F.col("device").contains(":")
    place = F.when(is_gpu, F.concat_ws("/", "node", "device")).when(
        F.col("device").isNotNull(), F.concat_ws("/", "node", "device", F.lit("1"))
    )
    told = (
        judged.drop("category", "origin_scope", "origin")
        .join(first, KEY)
        .withColumns(
            {
                "category": F.col("_category"),
                "origin_scope": F.when(is_gpu, "gpu").when(F.col("device").isNotNull(), "port").otherwise("node"),
                "origin": F.array(F.coalesce(place, "node")),
            }
        )
    )
    return weak_rows(
        told, "repaired", weight=F.when(has_place, rules.repaired.supports).otherwise(rules.repaired.unlocated),
        refutes=F.lit(False), at=F.col("day").cast("timestamp"),
        note=F.concat_ws(" ", F.col("part"), F.lit("of"), F.col("node"), F.lit("replaced"), F.col("serial")),
    )  # fmt: skip


def _category(rules: WeakRules) -> Column:
    """The category of a part: that of the first word it holds."""
    words = [F.when(F.col("part").contains(holds), category) for holds, category in rules.repaired.parts]
    return F.coalesce(*words)


def succeeded_elsewhere(
    judged: DataFrame, known: DataFrame, attempts: DataFrame, repairs: DataFrame, rules: WeakRules
) -> DataFrame:
    """One row per case whose work ended well next time without, or with, the blamed node, or failed alike elsewhere.

    Args:
        judged: Cases to label.
        known: Cases that may speak, those to label included.
        attempts: Rows of `attempts`.
        repairs: Rows of `repairs`.
        rules: Weights and windows.
    """
    name, days = "succeeded_elsewhere", rules.elsewhere.window_days
    later = attempts.select(
        F.col("cluster"), F.col("job_id").alias("_job"), F.col("attempt").alias("_attempt"),
        F.col("workload_key").alias("_workload"), F.coalesce("nodes", F.array().cast("array<string>")).alias("_nodes"),
        F.col("start").alias("_from"), F.col("end").alias("_to"),
        F.coalesce(F.col("is_ended") & ~F.col("is_failure"), F.lit(False)).alias("_well"),
    )  # fmt: skip
    same_work = (F.col("_job") == F.col("job_id")) | (F.col("_workload") == F.col("workload_key"))
    next_one = (
        located(judged, rules)
        .join(later, "cluster")
        .where(same_work & (F.col("_from") >= F.col("end")) & within("_from", days))
        .groupBy(*KEY)
        .agg(F.min(F.struct("_from", "_job", "_attempt", "_well", "_nodes", "_to")).alias("_next"))
    )
    met = judged.join(next_one, KEY).where("_next._well and size(_next._nodes) > 0")
    without = ~F.arrays_overlap("origin_nodes", "_next._nodes")
    with_it = F.size(F.array_except("origin_nodes", F.col("_next._nodes"))) == 0
    untouched = _unrepaired(at_nodes(judged, "origin_nodes"), repairs, days).select(*KEY, F.lit(True).alias("_same"))
    next_name = F.format_string("job %s attempt %d ended well", "_next._job", "_next._attempt")
    supports = weak_rows(
        met.where(without), name, weight=F.lit(rules.elsewhere.supports), refutes=F.lit(False), at=F.col("_next._to"),
        note=F.concat(next_name, F.lit(" on other nodes")),
    )  # fmt: skip
    refutes = weak_rows(
        met.where(with_it).join(untouched.distinct(), KEY, "left_semi"), name, weight=F.lit(rules.elsewhere.refutes),
        refutes=F.lit(True), at=F.col("_next._to"), note=F.concat(next_name, F.lit(" on the same node, unrepaired")),
    )  # fmt: skip
    return reduce(DataFrame.unionByName, (supports, refutes, _failed_alike(judged, known, rules)))


def _failed_alike(judged: DataFrame, known: DataFrame, rules: WeakRules) -> DataFrame:
    """One row per case of code whose work failed in the same way on nodes that share none with its own."""
    other = known.select(
        "cluster", "workload_key", "category", F.col("job_id").alias("_job"), F.col("attempt").alias("_attempt"),
        F.col("nodes").alias("_nodes"), F.col("end").alias("_at"),
    )  # fmt: skip
    elsewhere = (F.size("nodes") > 0) & (F.size("_nodes") > 0) & ~F.arrays_overlap("nodes", "_nodes")
    first = (
        judged.where(F.col("category").isin(*rules.code))
        .join(other, ["cluster", "workload_key", "category"])
        .where(elsewhere & within("_at", rules.elsewhere.window_days))
        .groupBy(*KEY)
        .agg(F.min(F.struct("_at", "_job", "_attempt")).alias("_first"))
    )
    return weak_rows(
        judged.join(first, KEY), "succeeded_elsewhere", weight=F.lit(rules.elsewhere.supports_code),
        refutes=F.lit(False), at=F.col("_first._at"),
        note=F.format_string("job %s attempt %d failed alike on other nodes", "_first._job", "_first._attempt"),
    )  # fmt: skip


def readiness_failed_after(judged: DataFrame, events: DataFrame, inputs: DataFrame, rules: WeakRules) -> DataFrame:
    """One row per case of hardware whose node failed a check afterwards, or passed one and failed none.

    Args:
        judged: Cases to label.
        events: Rows of `events`.
        inputs: Landed rows of `inputs`.
        rules: Weights and windows.
    """
    name, days = "readiness_failed_after", rules.readiness.window_days
    own = at_nodes(located(judged, rules), "origin_nodes").withColumn("_cluster", F.explode("names"))
    failed = events.where(_is_failed(rules.readiness)).select(
        F.col("cluster").alias("_cluster"), "node", F.col("device").alias("_device"), F.col("t").alias("_at"),
        "event_type",
    )  # fmt: skip
    same_device = (
        F.col("_device").isNull()
        | (F.col("origin_scope") != "gpu")
        | F.array_contains("origin", F.concat_ws("/", "node", "_device"))
    )
    bad = (
        own.join(failed, ["_cluster", "node"])
        .where(within("_at", days))
        .groupBy(*KEY)
        .agg(F.min(F.when(same_device, F.struct("_at", "node", "event_type"))).alias("_first"))
    )
    supports = weak_rows(
        judged.join(bad.where("_first is not null"), KEY), name, weight=F.lit(rules.readiness.supports),
        refutes=F.lit(False), at=F.col("_first._at"),
        note=F.format_string("%s failed a check (%s)", "_first.node", "_first.event_type"),
    )  # fmt: skip
    good = (
        own.join(_passed(events, inputs, rules.readiness), ["_cluster", "node"])
        .where(within("_at", days))
        .groupBy(*KEY, F.size("origin_nodes").alias("_nodes"))
        .agg(F.min("_at").alias("_at"), F.count_distinct("node").alias("_passed"))
        .where("_passed = _nodes")
        .join(bad, KEY, "left_anti")
    )
    refutes = weak_rows(
        judged.join(good, KEY), name, weight=F.lit(rules.readiness.refutes), refutes=F.lit(True), at=F.col("_at"),
        note=F.lit("passed a check"),
    )  # fmt: skip
    return supports.unionByName(refutes)


def _is_failed(rules: Readiness) -> Column:
    """Whether an event says that a check failed."""
    told = []
    for check in rules.failed:
        test = F.col("event_type") == check.event
        if check.status:
            test &= F.lower(F.col("attrs")["status"]).isin(*check.status)
        if check.sources:
            test &= F.col("source").isin(*check.sources)
        told.append(test)
    return reduce(lambda a, b: a | b, told)


def _passed(events: DataFrame, inputs: DataFrame, rules: Readiness) -> DataFrame:
    """Checks that ran to their end: a row per cluster, node and time."""
    ran = events.where(F.col("event_type").isin(*rules.passed_events)).select(
        F.col("cluster").alias("_cluster"), "node", F.col("t").alias("_at")
    )
    landed = inputs.where(
        F.col("format").isin(*rules.passed_formats)
        & F.col("file").rlike(rules.passed_files)
        & F.col("node").isNotNull()
    )
    return ran.unionByName(landed.select(F.col("cluster").alias("_cluster"), "node", F.col("file_time").alias("_at")))


def located(rows: DataFrame, rules: WeakRules) -> DataFrame:
    """The cases of hardware that blame nodes."""
    return rows.where(F.col("category").isin(*rules.hardware) & (F.size("origin_nodes") > 0))
