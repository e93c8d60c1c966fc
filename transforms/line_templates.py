"""Lines of attempts that were left unknown, as templates, beside lines of healthy attempts.

A template is a line whose numbers, hashes, paths and hosts are masked; xxhash64 of it is its id. Only the end of an
attempt is looked at, for a bounded number of attempts.
"""

from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.keys import ATTEMPT_KEY, HOME_NODE

MAX_TEMPLATES = 500
"""More than these would be no few lines that stand out."""
TEMPLATE_COLUMNS = (
    "template_id", "source", "template", "example", "unknown_attempts", "healthy_attempts", "log_odds", "is_alarming",
)  # fmt: skip


@dataclass(frozen=True)
class Looking:
    """How unknown attempts are looked at; see rules/review.yaml."""

    max_attempts: int
    healthy_attempts: int
    before_end_s: int
    after_end_s: int
    line_chars: int
    min_attempts: int
    least_log_odds: float
    max_proposals: int
    alarm: str
    masks: tuple[tuple[str, str], ...] = field(repr=False)


def chosen(attempts: DataFrame, diagnoses: DataFrame, looking: Looking) -> DataFrame:
    """One row per attempt to look at, `is_unknown` or healthy; which of too many is told by a hash, the same each time.

    Args:
        attempts: Ended attempts of the month.
        diagnoses: Live verdicts of the month; an attempt without one that did not fail is healthy.
        looking: Bounds.
    """
    unknown = diagnoses.where("category = 'unknown'").select(*ATTEMPT_KEY)
    failed = attempts.join(unknown, list(ATTEMPT_KEY), "left_semi")
    healthy = attempts.join(diagnoses.select(*ATTEMPT_KEY), list(ATTEMPT_KEY), "left_anti").where(
        "coalesce(is_ended, true) and not coalesce(is_failure, false)"
    )
    return _first(failed, looking.max_attempts, unknown=True).unionByName(
        _first(healthy, looking.healthy_attempts, unknown=False)
    )


def _first(attempts: DataFrame, n: int, *, unknown: bool) -> DataFrame:
    columns = (*ATTEMPT_KEY, "source_cluster", "nodes", "end")
    picked = attempts.where("end is not null").orderBy(F.xxhash64(*ATTEMPT_KEY), *ATTEMPT_KEY).limit(n)
    return picked.select(*columns, F.lit(unknown).alias("is_unknown"))


def lines_of(raw: DataFrame, attempts: DataFrame, looking: Looking) -> DataFrame:
    """One row per line and attempt: the job's own near its end, and those of its nodes at that time.

    Args:
        raw: Rows of raw_logs of the attempts' jobs and of nodes.
        attempts: Result of `chosen`.
        looking: How far from the end.
    """
    kept = raw.select(
        F.col("cluster").alias("source_cluster"), "job_id", "node", "source", "stream_id", "byte_offset",
        F.coalesce("event_time", "collected_at").alias("_t"),
        F.substring("message", 1, 4 * looking.line_chars).alias("message"),
    )  # fmt: skip
    near = F.col("_t").isNull() | F.col("_t").between(
        F.timestamp_seconds(F.col("end").cast("double") - looking.before_end_s),
        F.timestamp_seconds(F.col("end").cast("double") + looking.after_end_s),
    )
    own = kept.join(F.broadcast(attempts), ["source_cluster", "job_id"]).where(near)
    of_nodes = attempts.withColumn("node", F.explode("nodes"))
    beside = (
        kept.where((F.col("job_id") == HOME_NODE) & F.col("_t").isNotNull())
        .drop("job_id")
        .join(F.broadcast(of_nodes), ["source_cluster", "node"])
        .where(near)
    )
    columns = (*ATTEMPT_KEY, "is_unknown", "source", "stream_id", "byte_offset", "message")
    return own.select(*columns).unionByName(beside.select(*columns))


def with_template(lines: DataFrame, looking: Looking) -> DataFrame:
    """The lines with `template` and `template_id`.

    Args:
        lines: With `message`.
        looking: Names the masks.
    """
    masked: Column = F.col("message")
    for regex, word in looking.masks:
        masked = F.regexp_replace(masked, regex, word)
    short = F.substring(F.trim(F.regexp_replace(masked, r"\s+", " ")), 1, looking.line_chars)
    return (
        lines.withColumn("template", short)
        .where("length(template) >= 12")
        .withColumn("template_id", F.lower(F.hex(F.xxhash64("template"))))
    )


def over_represented(templated: DataFrame, attempts: DataFrame, looking: Looking) -> DataFrame:
    """One row per template that unknown attempts have far oftener than healthy ones.

    `log_odds` is ln of the ratio of odds, half an attempt added to each of the four counts (Haldane 1940, Anscombe
    1956), so that a template that no healthy attempt has stands for something finite.

    Args:
        templated: Result of `with_template`.
        attempts: Result of `chosen`.
        looking: When it counts.
    """
    totals = attempts.agg(F.count_if("is_unknown").alias("_u"), F.count_if(~F.col("is_unknown")).alias("_h"))
    an_attempt = F.struct(*ATTEMPT_KEY)
    counted = templated.groupBy("template_id", "source").agg(
        F.min("template").alias("template"),
        F.min("message").alias("example"),
        F.count_distinct(F.when(F.col("is_unknown"), an_attempt)).alias("unknown_attempts"),
        F.count_distinct(F.when(~F.col("is_unknown"), an_attempt)).alias("healthy_attempts"),
    )
    a, b = F.col("unknown_attempts"), F.col("healthy_attempts")
    odds = F.ln((a + 0.5) / (F.col("_u") - a + 0.5)) - F.ln((b + 0.5) / (F.col("_h") - b + 0.5))
    scored = counted.crossJoin(F.broadcast(totals)).withColumns(
        {"log_odds": F.round(odds, 3), "is_alarming": F.col("template").rlike(looking.alarm)}
    )
    far = scored.where((a >= looking.min_attempts) & (F.col("log_odds") >= looking.least_log_odds))
    best_first = (F.col("is_alarming").desc(), F.col("log_odds").desc(), "template_id", "source")
    return far.select(*TEMPLATE_COLUMNS).orderBy(*best_first).limit(MAX_TEMPLATES)


def clusters(templated: DataFrame, templates: DataFrame, looking: Looking) -> DataFrame:
    """One row per template that is the most telling one of unknown attempts, with these attempts.

    Lines that sound an alarm come first, then those that no pattern knows, then the odds.

    Args:
        templated: Result of `with_template`.
        templates: Rows of `over_represented` with `event_type`, null where no pattern knows the example.
        looking: How many are kept.
    """
    had = templated.where("is_unknown").select(*ATTEMPT_KEY, "template_id", "source").distinct()
    telling = Window.partitionBy(*ATTEMPT_KEY).orderBy(
        F.col("is_alarming").desc(), F.col("event_type").isNull().desc(), F.col("log_odds").desc(),
        F.col("unknown_attempts").desc(), "template_id", "source",
    )  # fmt: skip
    best = had.join(templates, ["template_id", "source"]).withColumn("_n", F.row_number().over(telling)).where("_n = 1")
    jobs = F.array_sort(F.collect_set(F.format_string("%s/%s#%d", *ATTEMPT_KEY)))
    grouped = best.groupBy(*templates.columns).agg(F.count("*").alias("n"), jobs.alias("attempts"))
    return (
        grouped.where(F.col("n") >= looking.min_attempts)
        .orderBy(F.col("n").desc(), "template_id")
        .limit(looking.max_proposals)
    )
