"""The rule language: what a rule file may say (design section 9)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Scalar = bool | int | float | str
Status = Literal["experimental", "test", "stable", "deprecated"]
Relation = Annotated[
    str,
    Field(
        pattern=r"^(same_device|same_node|same_port|same_switch|same_rack|same_power_domain|filesystem|job_other_nodes"
        r"|job|cluster|other_jobs_same_node|other_jobs_same_device|same_workload|same_user|attr:[a-z_]+)$"
    ),
]
Blamed = Annotated[
    str,
    Field(
        pattern=r"^(anchor\.(device|node|port|rank|filesystem)|attr:[a-z_]+|silent|behind"
        r"|common:(switch|rack|power_domain|filesystem)|scheduler|job)$"
    ),
]
Scope = Literal["gpu", "node", "port", "rank", "rack", "power_domain", "filesystem", "scheduler", "job"]
WindowS = tuple[float, float]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Test(_Strict):
    """Bounds on one attribute; all that are given must hold."""

    eq: Scalar | None = None
    ne: Scalar | None = None
    gte: float | None = None
    lte: float | None = None
    one_of: list[Scalar] | None = Field(default=None, alias="in")
    none_of: list[Scalar] | None = Field(default=None, alias="not_in")
    prefix: str | None = None
    contains: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Test":
        if not self.model_fields_set:
            raise ValueError("an empty test: give eq, ne, gte, lte, in, not_in, prefix or contains")
        return self


Where = dict[str, Scalar | Test]


class Selector(_Strict):
    """Events of one type, or of a glob such as `comm.*`, whose attributes pass the tests."""

    event: str
    where: Where = {}


class Anchor(Selector):
    """The event that a rule starts from."""

    min_count: int = Field(default=1, ge=1)
    min_nodes: int = Field(default=1, ge=1)


class Clause(Selector):
    """Events looked for around the anchor; window in seconds relative to it, on corrected time."""

    relation: Relation
    window_s: WindowS

    @model_validator(mode="after")
    def _ordered(self) -> "Clause":
        if self.window_s[0] > self.window_s[1]:
            raise ValueError("window_s must be [from, to] with from <= to")
        return self


class Support(Clause):
    """Events that speak for the rule."""

    min_events: int = Field(default=1, ge=1)
    min_nodes: int = Field(default=1, ge=1)
    required: bool = False
    weight: float = Field(default=1, ge=0, le=10)


class Unless(Clause):
    """Events that exclude the rule, if they are certain."""

    min_events: int = Field(default=1, ge=1)


class Absence(Clause):
    """Events that must not be there although their source was delivered."""

    needs_coverage: str
    required: bool = True
    weight: float = Field(default=1, ge=0, le=10)


class Blame(_Strict):
    """Who is named, and where the name comes from."""

    scope: Scope
    source: Blamed = Field(alias="from")


class Text(_Strict):
    """A sentence template; {origin}, {node}, {device}, {code}, {count}, {nodes} and {event} are filled in."""

    en: str = Field(min_length=10)
    zh: str | None = None


class RuleTest(_Strict):
    """A small attempt in the rule's own words, and whether the rule must match it."""

    name: str
    events: list[str] = Field(min_length=1)
    topology: dict[str, str] = {}
    nodes: list[str] = []
    ranks: dict[int, str] = {}
    covered: list[str] = []
    expect: Literal["match", "none"]
    origin: list[str] | None = None


class Rule(_Strict):
    """One rule file."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{3,60}$")
    title: str
    status: Status
    category: str
    outcome: str | None = None
    anchor: Anchor
    blame: Blame
    support: list[Support] = []
    unless: list[Unless] = []
    absence: list[Absence] = []
    explains: list[str] = []
    base: float = Field(ge=0, le=10)
    cap: float = Field(default=1.0, gt=0, le=1)
    settle: str | None = None
    conclusion: Text
    action: Text
    false_positives: list[str] = []
    references: list[str] = []
    tests: list[RuleTest] = Field(min_length=2)

    @model_validator(mode="after")
    def _tested_both_ways(self) -> "Rule":
        expected = {t.expect for t in self.tests}
        if expected != {"match", "none"}:
            raise ValueError("tests need at least one `expect: match` and one `expect: none`")
        return self

    @property
    def specificity(self) -> int:
        """How much the rule asks for: attribute tests, required clauses, exclusions and absences."""
        required = sum(1 for s in self.support if s.required)
        return len(self.anchor.where) + 2 * required + len(self.unless) + 2 * len(self.absence)
