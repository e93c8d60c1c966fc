"""The parts of the rule language that look for events: selectors, anchors and clauses (design section 9)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Scalar = bool | int | float | str
Relation = Annotated[
    str,
    Field(
        pattern=r"^(same_device|same_node|same_port|same_switch|same_rack|same_power_domain|filesystem|job_other_nodes"
        r"|origin_node|job|cluster|other_jobs_same_node|other_jobs_same_device|same_workload|same_user|attr:[a-z_]+)$"
    ),
]
OwnPlace = Annotated[str, Field(pattern=r"^(same_device|same_node|same_port|filesystem|origin_node|job|attr:[a-z_]+)$")]
WindowS = tuple[float, float]


class StrictPart(BaseModel):
    """Refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Test(StrictPart):
    """Bounds on one attribute; all that are given must hold."""

    eq: Scalar | None = None
    ne: Scalar | None = None
    gte: float | None = None
    lte: float | None = None
    one_of: list[Scalar] | None = Field(default=None, alias="in")
    none_of: list[Scalar] | None = Field(default=None, alias="not_in")
    prefix: str | None = None
    contains: str | None = None
    exists: bool | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Test":
        if not self.model_fields_set:
            raise ValueError("an empty test: give eq, ne, gte, lte, in, not_in, prefix, contains or exists")
        return self


Where = dict[str, Scalar | Test]


class Selector(StrictPart):
    """Events of one type, or of a glob such as `comm.*`, whose attributes pass the tests."""

    event: str
    where: Where = {}


class Suppress(Selector):
    """Later events that take an anchor event back: it starts nothing when one follows within the seconds."""

    relation: OwnPlace
    within_s: float = Field(gt=0)


class Anchor(Selector):
    """The event that a rule starts from; the distinct things are counted over all that one entity is blamed for."""

    min_count: int = Field(default=1, ge=1)
    min_nodes: int = Field(default=1, ge=1)
    min_ranks: int = Field(default=0, ge=0)
    min_devices: int = Field(default=0, ge=0)
    suppress: list[Suppress] = []


class Looking(StrictPart):
    """Where events are looked for, relative to the anchor."""

    relation: Relation


class Clause(Selector, Looking):
    """Events looked for around the anchor; window in seconds relative to it, on corrected time."""

    window_s: WindowS

    @model_validator(mode="after")
    def _ordered(self) -> "Clause":
        if self.window_s[0] > self.window_s[1]:
            raise ValueError("window_s must be [from, to] with from <= to")
        return self


class Counted(Clause):
    """A clause that counts records, and at most one kind of distinct thing among them."""

    min_events: int = Field(default=1, ge=1)
    min_nodes: int = Field(default=1, ge=1)
    min_ranks: int = Field(default=1, ge=1)
    min_devices: int = Field(default=1, ge=1)
    min_ports: int = Field(default=1, ge=1)
    min_jobs: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _one_kind(self) -> "Counted":
        if len(self._asked()) > 1:
            raise ValueError("count one of nodes, ranks, devices, ports or jobs; write a clause for each")
        return self

    def _asked(self) -> dict[str, int]:
        kinds = ("node", "rank", "device", "port", "job")
        return {kind: n for kind in kinds if (n := getattr(self, f"min_{kind}s")) > 1}

    @property
    def distinct_by(self) -> str:
        """What is counted distinctly: node, rank, device, port or job."""
        return next(iter(self._asked()), "node")

    @property
    def min_distinct(self) -> int:
        """How many of them are needed."""
        return next(iter(self._asked().values()), 1)


class Support(Counted):
    """Events that speak for the rule."""

    required: bool = False
    weight: float = Field(default=1, ge=0, le=10)


class Unless(Counted):
    """Events that exclude the rule, if they are certain."""


class Doubt(Counted):
    """Events that speak for another cause: while they stand unexplained the rule is not sure, whatever its points."""


class Absence(Clause):
    """Events that must not be there although their source was delivered."""

    needs_coverage: str
    required: bool = True
    weight: float = Field(default=1, ge=0, le=10)


class Silence(Clause):
    """Events that one place had before the anchor and has no more in the window, while other nodes of the job have."""

    relation: Literal["same_node", "same_device", "origin_node"]
    before_s: float = Field(gt=0)
    needs_coverage: str
    required: bool = True
    weight: float = Field(default=1, ge=0, le=10)


class Step(StrictPart):
    """One step of a sequence: events, or the anchor itself."""

    anchor: Literal[True] | None = None
    event: str | None = None
    where: Where = {}

    @model_validator(mode="after")
    def _one_of(self) -> "Step":
        if (self.anchor is None) == (self.event is None):
            raise ValueError("a step is an event or `anchor: true`")
        return self


class Sequence(Looking):
    """Events that follow each other in this order, all in one relation and window around the anchor."""

    steps: list[Step] = Field(min_length=2, max_length=6)
    window_s: WindowS
    required: bool = False
    weight: float = Field(default=1, ge=0, le=10)

    @model_validator(mode="after")
    def _sane(self) -> "Sequence":
        if self.window_s[0] > self.window_s[1]:
            raise ValueError("window_s must be [from, to] with from <= to")
        if sum(step.anchor is not None for step in self.steps) > 1:
            raise ValueError("the anchor is one step of a sequence at most")
        return self


AnyClause = Support | Unless | Doubt | Absence | Silence | Sequence
