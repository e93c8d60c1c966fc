"""What a suite says of its table: checks with a severity, each of one kind, without Spark or Great Expectations.

Row checks are SQL over the columns of one row, true or null where all is well; they cost one scan together. The other
kinds look at the schema, at the keys, at another frame, or at groups of rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from firstfault.transforms.contract import Table

Words = Mapping[str, Sequence[str]]
"""Value sets that are known only at run time, such as the event types of the vocabulary."""


class Severity(StrEnum):
    """What a failed check means for the night."""

    CRITICAL = "critical"
    """A promise of our own is broken: the table is not published."""
    WARNING = "warning"
    """The input is poor: the night goes on, and verdicts that lean on it are less sure."""


class SuiteError(ValueError):
    """A suite is not usable as it is written or called."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Something that must hold.

    Attributes:
        name: snake_case, unique in its suite; the `expectation` of a quarantined row.
        severity: What a failure means.
        says: What must hold, as a sentence for Data Docs.
    """

    name: str
    severity: Severity
    says: str

    def sql(self, words: Words) -> str:
        """The SQL that decides it, for the statement and for Data Docs; empty where the schema decides."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Typed(Check):
    """The columns are those of the contract, with its types: the schema decides."""


@dataclass(frozen=True, kw_only=True)
class Unique(Check):
    """No two rows have the same values in the columns; null is a value."""

    columns: tuple[str, ...]

    def sql(self, words: Words) -> str:
        """The columns."""
        return ", ".join(f"`{c}`" for c in self.columns)


@dataclass(frozen=True, kw_only=True)
class Holds(Check):
    """A condition over the columns of a row that is never false."""

    condition: str

    def sql(self, words: Words) -> str:
        """The condition."""
        return self.condition


@dataclass(frozen=True, kw_only=True)
class AmongWords(Check):
    """A condition that speaks of a set of words that the gate is given.

    Attributes:
        words: Name of the set.
        condition: SQL with `{words}` where the list stands.
    """

    words: str
    condition: str

    def sql(self, words: Words) -> str:
        """The condition, with the words of this run."""
        if self.words not in words:
            raise SuiteError(f"check {self.name} needs the words {self.words!r}; the gate was given {sorted(words)}")
        return self.condition.format(words=listed(words[self.words]))


@dataclass(frozen=True, kw_only=True)
class Exists(Check):
    """The columns, where none is null, are found in another frame; skipped when that frame is not given.

    Attributes:
        columns: Columns of the table.
        reference: Name of the other frame.
        of: Its columns, in the same order.
    """

    columns: tuple[str, ...]
    reference: str
    of: tuple[str, ...]

    def sql(self, words: Words) -> str:
        """The condition of the anti-join, `a` being the table and `b` the reference."""
        return " and ".join(f"a.`{c}` = b.`{o}`" for c, o in zip(self.columns, self.of, strict=True))


@dataclass(frozen=True, kw_only=True)
class Groups(Check):
    """A query that gives a row (cluster, node, source, figure, text) per group that is poor.

    Attributes:
        query: SQL over the view `{batch}` and over `{name}` of each frame it needs.
        needs: Frames without which the check is skipped.
        suspects: SQL that rows of a poor group satisfy, or that some of them do.
        at_least: With fewer suspects than this no group can be poor, and the query is not run.
    """

    query: str
    needs: tuple[str, ...] = ()
    suspects: str = "true"
    at_least: int = 1

    def sql(self, words: Words) -> str:
        """The query, its views unnamed."""
        return self.query


RowCheck = Holds | AmongWords


@dataclass(frozen=True)
class Suite:
    """The checks of one table."""

    table: Table
    checks: tuple[Check, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """What identifies a row: the columns that are checked to be unique, else the contract's keys."""
        return next((c.columns for c in self.checks if isinstance(c, Unique)), self.table.keys)

    def __post_init__(self) -> None:
        names = [c.name for c in self.checks]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise SuiteError(f"suite {self.table.name}: checks {twice} are named twice")

    def check(self, name: str) -> Check:
        """The check of this name."""
        return next(c for c in self.checks if c.name == name)


def promises(table: Table, *, unique: Severity = Severity.CRITICAL) -> tuple[Check, ...]:
    """What every table promises: columns of its contract, none of the required ones null, and unique keys.

    Args:
        table: Contract.
        unique: How bad a key is that two rows have; a warning where only the input can be to blame.
    """
    required = tuple(f.name for f in table.fields if f.metadata["required"])
    return (
        Typed(
            name="columns_match_contract",
            severity=Severity.CRITICAL,
            says=f"Columns and their types are those of the contract of {table.name}.",
        ),
        *(not_null(column) for column in required),
        Unique(
            name="key_unique",
            severity=unique,
            says=f"One row is {table.row}: no two have the same {', '.join(table.keys)}.",
            columns=table.keys,
        ),
    )


def not_null(column: str, severity: Severity = Severity.CRITICAL) -> Holds:
    """A column that is never null."""
    return Holds(
        name=f"{column}_not_null",
        severity=severity,
        says=f"{column} is never null.",
        condition=f"`{column}` is not null",
    )


def in_set(column: str, values: Sequence[str], severity: Severity = Severity.CRITICAL) -> Holds:
    """A column that holds null or one of the values."""
    says = f"{column} is one of {', '.join(values)}."
    return Holds(name=f"{column}_in_set", severity=severity, says=says, condition=f"`{column}` in ({listed(values)})")


def in_words(column: str, words: str, severity: Severity = Severity.CRITICAL) -> AmongWords:
    """A column that holds null or a word of the set that the gate is given under this name."""
    return AmongWords(
        name=f"{column}_in_vocabulary",
        severity=severity,
        says=f"{column} is null or a word that the vocabulary knows as {words}.",
        words=words,
        condition=f"`{column}` in ({{words}})",
    )


def between(column: str, low: float | None, high: float | None = None, severity: Severity = Severity.CRITICAL) -> Holds:
    """A column that is null or lies within the bounds, both inclusive."""
    bounds = [f"`{column}` >= {low}" if low is not None else "", f"`{column}` <= {high}" if high is not None else ""]
    condition = " and ".join(b for b in bounds if b)
    return Holds(
        name=f"{column}_in_range", severity=severity, says=f"{condition.replace('`', '')}.", condition=condition
    )


def matches(column: str, regex: str, severity: Severity = Severity.CRITICAL) -> Holds:
    """A column that is null or matches the whole regular expression."""
    says = f"{column} has the form {regex}."
    whole = rf"\A(?:{regex})\z"  # `$` would let a line feed follow
    condition = f"`{column}` rlike {literal(whole)}"
    return Holds(name=f"{column}_has_form", severity=severity, says=says, condition=condition)


def literal(text: str) -> str:
    """The text as a SQL string."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def listed(values: Sequence[str]) -> str:
    """The values as a SQL list; of an empty set nothing is a member."""
    return ", ".join(literal(v) for v in values) or "null"
