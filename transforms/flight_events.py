"""Flight Recorder dumps of all ranks of an attempt, compared: who is behind, silent, stuck or runs something else.

Only groups in which somebody still waits are judged; ranks that agree give no event. Every finding speaks of ranks
that are at most half of their group: where most differ, the one that went ahead is odd, and nothing is said.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.events import FOUND_COLUMNS, fold_bursts, judge
from firstfault.transforms.flight_dumps import ATTEMPT, GROUP, NO_ATTEMPT, POINTER, flight_facts, heads

BEHIND, MISSING = "comm.flight_behind", "comm.flight_missing"
UNFINISHED, MISMATCH = "comm.flight_unfinished", "comm.collective_mismatch"
PATTERN = "flight."
"""Begins the pattern_id of every event of this module; a newer comparison of an attempt replaces them all."""

_LEAVES_EARLY = ("broadcast", "reduce", "gather", "scatter")
"""Calls that one rank may finish before the others have joined."""
_SYMMETRIC = ("all_reduce", "allreduce", "reduce", "broadcast", "_all_gather_base", "_reduce_scatter_base")
"""Calls whose ranks must all give the same size and type; others may differ by design."""
_SHOWN_RANKS = 16


def flight_events(rows: DataFrame, vocabulary: DataFrame, catalogues: DataFrame) -> DataFrame:
    """One row per finding (`events.FOUND_COLUMNS`).

    Args:
        rows: raw_logs rows of whole attempts: a comparison needs the dumps of all ranks, whenever they landed.
        vocabulary: As for `events.extract_events`.
        catalogues: As for `events.extract_events`.
    """
    facts = flight_facts(rows)
    found = _apart(heads(facts)).unionByName(_mismatched(facts))
    return fold_bursts(judge(found.select(*_found_columns()), vocabulary, catalogues))


def _apart(heads: DataFrame) -> DataFrame:
    """Ranks that did not enter, or did not leave, what their group waits in or has left."""
    groups = _groups(heads).where("open_seq >= lead or most_done < lead")
    behind = F.filter("heads", lambda h: h["fresh"] & (h["last"] < F.col("lead")))
    silent = F.filter("heads", lambda h: h["fresh"] & h["last"].isNull() & ~h["paired"])
    known = F.transform("heads", lambda h: h["rank"])
    absent = F.filter(F.array_except("ranks", known), lambda rank: ~F.array_contains("_untold", rank))
    stuck = F.filter(
        "heads",
        lambda h: h["fresh"] & (_oldest(h)["seq"] <= F.col("most_done")) & ~_oldest(h)["op"].isin(*_LEAVES_EARLY),
    )
    lacking = F.transform(absent, lambda rank: _finding(MISSING, rank, None))
    entered = F.concat(
        F.transform(behind, lambda h: _finding(BEHIND, h["rank"], h)),
        F.transform(silent, lambda h: _finding(MISSING, h["rank"], h)),
        lacking,
    )
    left = F.transform(stuck, lambda h: _finding(UNFINISHED, h["rank"], h))
    spoken = groups.select("*", F.explode(F.concat(_few(entered), _few(left))).alias("f"))
    return spoken.select(*GROUP, *_columns_of_finding())


def _groups(heads: DataFrame) -> DataFrame:
    """One row per group: its heads and figures, and the ranks of its attempt whose dumps are of another incident."""
    fresh = F.col("fresh")
    head = F.struct("rank", "last", "done", "open", "at", "fresh", "paired", "waits")
    groups = heads.groupBy(*GROUP).agg(
        F.array_sort(F.collect_list(head)).alias("heads"),
        F.coalesce(F.first("ranks", ignorenulls=True), F.array().cast("array<int>")).alias("ranks"),
        F.max(F.when(fresh, F.col("last"))).alias("lead"),
        F.max(F.when(fresh, F.col("done"))).alias("most_done"),
        F.array_sort(F.flatten(F.collect_list(F.when(fresh, F.col("open"))))).alias("open"),
        F.max(F.when(fresh, F.try_element_at("open", F.lit(-1))["seq"])).alias("open_seq"),
        F.max(F.struct("fresh", "last", "at"))["at"].alias("lead_at"),
        F.collect_set(F.when(~fresh, F.col("rank"))).alias("_stale"),
    )
    stale = F.flatten(F.collect_list("_stale").over(Window.partitionBy(*ATTEMPT)))
    return groups.withColumn("_untold", stale).withColumn("_n", F.greatest(F.size("ranks"), F.size("heads")))


def _oldest(head: Column) -> Column:
    """The first call that the rank has not left."""
    return F.get(head["open"], F.lit(0))


def _few(findings: Column) -> Column:
    """The findings, none where they are of most ranks."""
    return F.when(F.size(findings) * 2 <= F.col("_n"), findings).otherwise(F.filter(findings, lambda _: F.lit(False)))


def _finding(kind: str, rank: Column, head: Column | None) -> Column:
    """What is said of one rank; `head` is None when no dump of it speaks of the group."""
    last = F.lit(None).cast("bigint") if head is None else head["last"]
    # The first call that the rank owes: when the others entered it is when it was missed.
    owed = F.get(F.filter("open", lambda call: call["seq"] > F.coalesce(last, F.lit(-1))), F.lit(0))
    call = _oldest(head) if head is not None and kind == UNFINISHED else owed
    waits = None if head is None or kind == UNFINISHED else head["waits"]
    dump = "none" if head is None else "fresh"
    return F.struct(
        F.lit(kind).alias("kind"),
        rank.alias("rank"),
        (F.col("lead_at") if head is None else head["at"]).alias("at"),
        (call["seq"] if kind == UNFINISHED else last).alias("seq"),
        call["created"].alias("created"),
        call["op"].alias("op"),
        call["state"].alias("state"),
        (F.lit(None) if waits is None else _place(waits)).cast("string").alias("waits_in"),
        F.lit(dump if kind == MISSING else None).cast("string").alias("dump"),
    )


def _place(waits: Column) -> Column:
    return F.when(waits.isNotNull(), F.concat_ws(":", waits["pg"], waits["seq"].cast("string")))


def _columns_of_finding() -> list[Column]:
    lead = F.when(F.col("f.kind") == UNFINISHED, F.col("most_done")).otherwise(F.col("lead"))
    told = {name: F.col(f"f.{name}") for name in ("seq", "op", "state", "waits_in", "dump")}
    return [
        F.col("f.rank").alias("rank"),
        F.col("f.kind").alias("event_type"),
        F.coalesce("f.created", "f.at.event_time").alias("t_raw"),
        F.when(F.col("f.created").isNull(), "file_time").otherwise("epoch").alias("time_basis"),
        F.col("f.at").alias("at"),
        _attrs(**told, lead=lead),
    ]


def _mismatched(facts: DataFrame) -> DataFrame:
    """Ranks whose call of a number is not what most of the group called; only the first such number of a group."""
    sized = F.when(F.col("op").isin(*_SYMMETRIC), F.concat_ws(" ", "op", "sizes", "dtypes")).otherwise(F.col("op"))
    # The parts of a coalesced call share one number and are taken together.
    calls = (
        facts.where("is_call and not is_p2p and fresh and seq is not null")
        .groupBy(*GROUP, "seq", "rank")
        .agg(
            F.array_join(F.array_sort(F.collect_set(sized)), " + ").alias("called"),
            F.min_by(F.struct("op", "created", F.struct(*POINTER).alias("at")), "byte_offset").alias("first"),
        )
    )
    kinds = calls.groupBy(*GROUP, "seq", "called").agg(
        F.count("*").alias("n"), F.array_sort(F.collect_list(F.struct("rank", "first"))).alias("by")
    )
    numbers = kinds.groupBy(*GROUP, "seq").agg(
        F.array_sort(F.collect_list(F.struct("n", "called", "by"))).alias("kinds"), F.sum("n").alias("_all")
    )
    earliest = F.row_number().over(Window.partitionBy(*GROUP).orderBy("seq")) == 1
    differ = numbers.where(F.size("kinds") > 1).withColumn("_earliest", earliest).where("_earliest")
    usual = F.element_at("kinds", -1)
    even = usual["n"] * 2 <= F.col("_all")  # nobody is in a majority, so nobody is odd
    others = F.flatten(F.transform(F.filter("kinds", lambda k: k != usual), lambda k: k["by"]))
    named = differ.withColumn("_even", even).withColumn("_odd", F.when(even, F.slice(others, 1, 1)).otherwise(others))
    body = F.array_join(F.transform("kinds", _called_by), "; ")
    return (
        named.withColumn("body", body)
        .withColumn("o", F.explode("_odd"))
        .select(
            *GROUP,
            F.when(~F.col("_even"), F.col("o.rank")).alias("rank"),
            F.lit(MISMATCH).alias("event_type"),
            F.coalesce("o.first.created", "o.first.at.event_time").alias("t_raw"),
            F.when(F.col("o.first.created").isNull(), "file_time").otherwise("epoch").alias("time_basis"),
            F.col("o.first.at").alias("at"),
            _attrs(seq=F.col("seq"), op=F.col("o.first.op"), body=F.col("body")),
        )
    )


def _called_by(kind: Column) -> Column:
    ranks = F.transform(F.slice(kind["by"], 1, _SHOWN_RANKS), lambda call: call["rank"].cast("string"))
    return F.concat_ws(" ", kind["called"], F.lit("on"), F.array_join(ranks, ","))


def _attrs(**values: Column) -> Column:
    """Attributes by name, those that are null left out."""
    pairs = [F.struct(F.lit(name).alias("k"), value.cast("string").alias("v")) for name, value in values.items()]
    named = F.array(F.struct(F.lit("group").alias("k"), F.col("pg").alias("v")), *pairs)
    return F.map_from_entries(F.filter(named, lambda pair: pair["v"].isNotNull())).alias("attrs")


def _found_columns() -> list[Column]:
    """A finding as an event that points at a row of the dump it rests on."""
    attrs = F.col("attrs")
    words = F.concat_ws(" ", *(F.concat_ws("=", F.lit(name), attrs[name]) for name in ("group", "seq", "lead", "op")))
    values = {
        "attempt_hint": F.when(F.col("attempt_hint") != NO_ATTEMPT, F.col("attempt_hint")),
        "source": F.lit("flight_recorder"),
        "clock": F.col("at.node"),
        "pattern_id": F.concat(F.lit(PATTERN), F.regexp_extract("event_type", r"_([a-z]+)$", 1)),
        "text": F.concat_ws(" ", "event_type", F.concat(F.lit("rank="), "rank"), words, attrs["body"]),
        # A dump has many groups and lacks many ranks: together they tell its findings apart.
        "_ordinal": F.pmod(F.xxhash64("pg", "members", "rank", "event_type"), F.lit(2**31)).cast("int"),
        # The row can be another rank's when there is no dump of this one.
        "node": F.when(F.coalesce(attrs["dump"], F.lit("")) != "none", F.col("at.node")),
        "file_time": F.col("at.event_time"),
        **{name: F.col(f"at.{name}") for name in ("stream_id", "byte_offset", "file", "line_no")},
        **dict.fromkeys(("device", "port"), F.lit(None).cast("string")),
        **dict.fromkeys(("t_prev", "t_next"), F.lit(None).cast("timestamp")),
    }
    folding = {"_ordinal": values["_ordinal"], "_count": F.lit(1), "_last": F.col("t_raw")}
    left_out = {"event_id", "code", "class", "role", "category", "count", "t_raw_last"}
    names = [name for name in FOUND_COLUMNS if name not in left_out]
    found = [values.get(name, F.col(name)).alias(name) for name in names]
    return [*found, *(value.alias(name) for name, value in folding.items())]
