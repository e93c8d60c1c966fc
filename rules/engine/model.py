"""The rule language: what a rule file may say (design section 9)."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from firstfault.rules.engine.clauses import (
    Absence,
    Anchor,
    AnyClause,
    Doubt,
    Sequence,
    Silence,
    StrictPart,
    Support,
    Unless,
)

Status = Literal["experimental", "test", "stable", "deprecated"]
Blamed = Annotated[
    str,
    Field(
        pattern=r"^(anchor\.(device|node|only_node|port|rank|ranks|filesystem)|attr:[a-z_]+|odd:[a-z_]+|hub|silent|behind"
        r"|stopped|last_reporter"
        r"|common:(switch|rack|power_domain|filesystem)|scheduler|job)$"
    ),
]
Role = Literal["initiating", "cascade", "teardown", "confirmation"]
Scope = Literal["gpu", "node", "port", "rank", "rack", "power_domain", "filesystem", "scheduler", "job"]


class Blame(StrictPart):
    """Who is named, and where the name comes from; by_s: by how much a `stopped` or `last_reporter` stands apart.

    `anchor.only_node`, `hub` (the common end of failed connections) and `odd:<attribute>` name one node or the job.
    """

    scope: Scope
    source: Blamed = Field(alias="from")
    by_s: float = Field(default=60, gt=0)


class Text(StrictPart):
    """A sentence template; {origin}, {node}, {device}, {code}, {count}, {nodes} and {event} are filled in."""

    en: str = Field(min_length=10)
    zh: str | None = None


class RuleTest(StrictPart):
    """A small attempt in the rule's own words, and whether the rule must match it."""

    name: str
    events: list[str] = Field(min_length=1)
    topology: dict[str, str] = Field(default_factory=dict)
    nodes: list[str] = Field(default_factory=list)
    ranks: dict[int, str] = Field(default_factory=dict)
    covered: list[str] = Field(default_factory=list)
    expect: Literal["match", "none"]
    origin: list[str] | None = None


class Rule(StrictPart):
    """One rule file."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{3,60}$")
    title: str
    status: Status
    category: str
    outcome: str | None = None
    role: Role | None = None
    anchor: Anchor
    blame: Blame
    support: list[Support] = Field(default_factory=list)
    unless: list[Unless] = Field(default_factory=list)
    doubt: list[Doubt] = Field(default_factory=list)
    absence: list[Absence] = Field(default_factory=list)
    silence: list[Silence] = Field(default_factory=list)
    sequence: list[Sequence] = Field(default_factory=list)
    explains: list[str] = Field(default_factory=list)
    base: float = Field(ge=0, le=10)
    cap: float = Field(default=1.0, gt=0, le=1)
    settle: str | None = None
    conclusion: Text
    action: Text
    false_positives: list[str] = Field(default_factory=list)
    references: list[str] = Field(default_factory=list)
    tests: list[RuleTest] = Field(min_length=2)

    @model_validator(mode="after")
    def _tested_both_ways(self) -> "Rule":
        expected = {t.expect for t in self.tests}
        if expected != {"match", "none"}:
            raise ValueError("tests need at least one `expect: match` and one `expect: none`")
        return self

    @property
    def clauses(self) -> tuple[AnyClause, ...]:
        """All clauses, in the order in which they are numbered."""
        return (*self.support, *self.unless, *self.doubt, *self.absence, *self.silence, *self.sequence)

    @property
    def specificity(self) -> int:
        """How much the rule asks for: attribute tests, required clauses, absences; exclusions only make it careful."""
        required = sum(s.required for s in self.support) + sum(s.required for s in self.sequence)
        unheard = len(self.absence) + len(self.silence)
        return len(self.anchor.where) + 2 * required + 2 * unheard
