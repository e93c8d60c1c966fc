"""Checks that several suites share."""

from firstfault.expectations.model import (
    AmongWords,
    Exists,
    Groups,
    Holds,
    Severity,
    in_set,
    in_words,
    matches,
    not_null,
)
from firstfault.transforms.formats import times
from firstfault.transforms.keys import ATTEMPT_KEY

WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL
TIME_BASES = (
    times.ZONED, times.ASSUMED_ZONE, times.NO_YEAR, times.NO_DATE, times.BOOT_RELATIVE, times.EPOCH, times.FILE_TIME,
    times.NEIGHBOUR, times.OTHER_NEIGHBOUR, times.NONE, times.BOOT_WALL, "sample_window",
)  # fmt: skip
"""How a time may be known (design section 4); `sample_window` is said of events found in metrics."""
ID_FORM = "[0-9a-f]{16}"
DEVICE_FORM = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(\.[0-7])?(/.+)?"
"""PCI id, with the function of a NIC or the instance of a MIG slice behind it; some print a domain of 8 digits."""

TIME_BASIS = in_set("time_basis", TIME_BASES)
HOUR = matches("hour", "[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}")
FUTURE_DATE = Holds(
    name="event_time_not_in_the_future",
    severity=WARNING,
    says="The written time lies at most a day after the file; the hour is of another time only where it does not.",
    condition="event_time is null or date_format(event_time, 'yyyy-MM-dd-HH') = hour",
)
EPOCH_CLOCK = Holds(
    name="event_time_after_2010",
    severity=WARNING,
    # No GPU cluster wrote logs before; a board without a battery starts at 1970 or 2000.
    says="The clock was set: the written time is not of before 2010.",
    condition="time_basis = 'boot_relative' or event_time >= timestamp'2010-01-01 00:00:00'",
)
DEVICE = matches("device", DEVICE_FORM, WARNING)
NODE = matches("node", "[^A-Z.]+", WARNING)
"""Short and in lower case (design section 4); else one node has two names, and joins miss."""
INTERVAL = Holds(
    name="t_within_interval",
    severity=CRITICAL,
    says="t lies within [t_low, t_high].",
    condition="t_low <= t and t <= t_high",
)
RAW_POINTER = (not_null("stream_id"), not_null("byte_offset"))
"""An event or a step without its raw line cannot be shown to anyone."""
VERDICT_WORDS = (in_words("category", "category"), in_words("outcome", "outcome"), in_words("origin_scope", "scope"))
ORIGIN_NAMES = Holds(
    name="origin_has_no_null",
    severity=CRITICAL,
    says="No name of the origin is null.",
    condition="not exists(origin, x -> x is null)",
)
ORIGIN_SCOPED = Holds(
    name="origin_has_scope",
    severity=CRITICAL,
    says="An origin that is named has a scope.",
    condition="size(origin) = 0 or origin_scope is not null",
)


def exists(name: str, columns: tuple[str, ...], reference: str, of: tuple[str, ...] = ()) -> Exists:
    """A critical reference to another table of ours."""
    says = f"{', '.join(columns)} is found in {reference}."
    return Exists(name=name, severity=CRITICAL, says=says, columns=columns, reference=reference, of=of or columns)


ATTEMPT_EXISTS = exists("attempt_exists", ATTEMPT_KEY, "attempts")


def words_within(column: str, field: str, words: str) -> AmongWords:
    """A critical check of a field of an array of structs against a set of words."""
    return AmongWords(
        name=f"{column}_{field}_in_vocabulary",
        severity=CRITICAL,
        says=f"{field} of every element of {column} is a word that the vocabulary knows as {words}.",
        words=words,
        condition=f"forall({column}, x -> x.{field} is null or x.{field} in ({{words}}))",
    )


def poor(
    name: str, says: str, query: str, *, needs: tuple[str, ...] = (), suspects: str = "true", at_least: int = 1
) -> Groups:
    """A warning about nodes and sources."""
    return Groups(
        name=name, severity=WARNING, says=says, query=query, needs=needs, suspects=suspects, at_least=at_least
    )


def broken(name: str, says: str, condition: str) -> Holds:
    """A promise of our own about a row."""
    return Holds(name=name, severity=CRITICAL, says=says, condition=condition)


def doubtful(name: str, says: str, condition: str) -> Holds:
    """Something that a row of good input satisfies."""
    return Holds(name=name, severity=WARNING, says=says, condition=condition)
