"""What the fleet is made of: places, attempts and occurrences on true time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Literal

Role = Literal["origin", "cascade", "teardown", "verdict", "progress", "context", "noise"]
Scalar = str | int | float | None
Attrs = dict[str, Scalar]
AttemptKey = tuple[str, int]
Span = tuple[datetime, datetime]

RDMA_PORT = 1


def stream(seed: int, *parts: object) -> Random:
    """A random stream of its own for one purpose, so that one more draw elsewhere shifts nothing here.

    Args:
        seed: Seed of the profile.
        parts: What the stream is for.

    Returns:
        A seeded generator.
    """
    return Random("/".join(map(str, (seed, *parts))))  # noqa: S311 - a rehearsal, not a secret


def after(t: datetime, seconds: float) -> datetime:
    """The instant `seconds` after `t` (before it when negative)."""
    return t + timedelta(microseconds=round(seconds * 1e6))


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: index in its node, PCI id in kernel form, UUID, board serial."""

    index: int
    pci: str
    uuid: str
    serial: str


@dataclass(frozen=True, slots=True)
class Hca:
    """One adapter port and the switch port behind it."""

    name: str
    iface: str
    bdf: str
    lid: int
    switch: str
    switch_port: int

    @property
    def uplink(self) -> str:
        """The switch port, as `switch:port`."""
        return f"{self.switch}:{self.switch_port}"

    @property
    def local(self) -> str:
        """The port inside its node, as `hca/1`."""
        return f"{self.name}/{RDMA_PORT}"


@dataclass(frozen=True, slots=True)
class Node:
    """One machine. `kernel` says how its kernel log is kept, `booted` when its kernel started."""

    name: str
    rack: str
    power_domain: str
    pod: str
    ip: str
    kernel: Literal["iso", "rfc3164", "dmesg", "journal"]
    booted: datetime
    gpus: tuple[Gpu, ...]
    hcas: tuple[Hca, ...]

    def hca_of(self, local_rank: int) -> Hca:
        """The adapter that serves a local rank."""
        return self.hcas[local_rank * len(self.hcas) // len(self.gpus)]


@dataclass(frozen=True, slots=True)
class Topology:
    """All nodes of one cluster, in rack order."""

    cluster: str
    nodes: tuple[Node, ...]
    by_name: Mapping[str, Node] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rank:
    """One training process and the hardware it holds."""

    rank: int
    node: str
    local: int
    pid: int
    device: str
    hca: str


@dataclass(frozen=True, slots=True)
class Style:
    """How an attempt writes: where its lines go, and which versions print them."""

    layout: Literal["ranks", "single"]
    steps: Literal["step", "megatron", "transformers", "deepspeed"]
    torch: Literal["2.1", "2.4", "2.7"]
    nccl: Literal["2.18", "2.26"]


@dataclass(frozen=True, slots=True)
class Weak:
    """Hardware that is bound to fail in an attempt: a node, one GPU of it or any, and how often it did before."""

    node: str
    local: int | None = None
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of one job, as the scheduler and the training loop see it."""

    cluster: str
    job_id: str
    attempt: int
    name: str
    user: str
    uid: int
    nodes: tuple[str, ...]
    ranks: tuple[Rank, ...]
    submit: datetime
    start: datetime
    end: datetime
    time_limit_s: int
    step_s: float
    log_every: int
    timeout_s: int
    style: Style
    state: str = "COMPLETED"
    exit_code: str = "0:0"
    step_state: str = "COMPLETED"
    step_exit: str = "0:0"
    requeued: bool = False
    retried: bool = False
    weak: Weak | None = None

    @property
    def key(self) -> AttemptKey:
        """Job id and attempt number."""
        return (self.job_id, self.attempt)

    @property
    def init_at(self) -> datetime:
        """When the communicators are complete."""
        return after(self.start, 28.0)

    @property
    def train_at(self) -> datetime:
        """When step 0 begins."""
        return after(self.start, 40.0)

    @property
    def speakers(self) -> tuple[Rank, ...]:
        """The ranks that report steps: all, or the one that the training loop chooses."""
        if self.style.steps == "step":
            return self.ranks
        return self.ranks[-1:] if self.style.steps == "megatron" else self.ranks[:1]

    def step_at(self, t: datetime) -> int:
        """The step in progress at a true time."""
        return max(0, int((t - self.train_at).total_seconds() / self.step_s))

    def seq_at(self, t: datetime) -> int:
        """The sequence number of the collective in progress at a true time."""
        return 40 + 6 * self.step_at(t)

    def ranks_of(self, node: str) -> tuple[Rank, ...]:
        """The ranks that run on one node."""
        return tuple(r for r in self.ranks if r.node == node)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One thing that happens, on true time.

    Attributes:
        t: True time (UTC).
        kind: Line kind (`kern.xid`) or signal (`set.gpu_temp`, `add.symbol_error`) that a writer knows.
        role: The part it plays in its incident.
        node: The node whose clock writes it; None for the controller or a switch.
        device: GPU (PCI id) it speaks of.
        port: `hca/1` on its node, or `switch:port`.
        rank: Global rank that prints it; None for the launcher.
        job: Attempt whose log holds it.
        attrs: What the line says.
    """

    t: datetime
    kind: str
    role: Role
    node: str | None = None
    device: str | None = None
    port: str | None = None
    rank: int | None = None
    job: AttemptKey | None = None
    attrs: Mapping[str, Scalar] = field(default_factory=dict)
