"""The pen of a mechanism: collects what happens in one incident and closes it with its truth."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.model import Attempt, Gpu, Hca, Node, Occurrence, Rank, Role, Scalar, Span, Topology, after
from firstfault.jobs.fleet.truth import Incident, Truth

COMM = "pt_main_thread"


class Scene:
    """One incident in the making, of one attempt.

    Attributes:
        rng: Random stream of this incident.
        topology: The cluster.
        attempt: The attempt as it was planned.
        lines: Occurrences so far.
    """

    def __init__(self, rng: Random, topology: Topology, attempt: Attempt) -> None:
        self.rng = rng
        self.topology = topology
        self.attempt = attempt
        self.lines: list[Occurrence] = []

    def node(self, name: str) -> Node:
        """A node by name."""
        return self.topology.by_name[name]

    def pick_node(self, *, not_leader: bool = False, keeps_log: bool = False) -> Node:
        """A node of the attempt; where it can be not the first, or one whose kernel log outlives a reboot."""
        if self.attempt.weak is not None:
            return self.node(self.attempt.weak.node)
        nodes = [self.node(name) for name in self.attempt.nodes]
        if not_leader:
            nodes = nodes[1:] or nodes
        if keeps_log:
            nodes = [node for node in nodes if node.kernel != "dmesg"] or nodes
        return self.rng.choice(nodes)

    def pick_rank(self) -> Rank:
        """A rank of the attempt, on its weak node where it has one."""
        weak = self.attempt.weak
        if weak is not None:
            ranks = self.attempt.ranks_of(weak.node)
            return self.rng.choice(ranks) if weak.local is None else ranks[weak.local]
        return self.rng.choice(self.attempt.ranks)

    def gpu_of(self, rank: Rank) -> Gpu:
        """The GPU a rank holds."""
        return self.node(rank.node).gpus[rank.local]

    def hca_of(self, rank: Rank) -> Hca:
        """The adapter a rank uses."""
        return self.node(rank.node).hca_of(rank.local)

    def others(self, *ranks: Rank) -> list[Rank]:
        """The ranks of the attempt other than the given ones."""
        out = {r.rank for r in ranks}
        return [r for r in self.attempt.ranks if r.rank not in out]

    def app(self, t: datetime, kind: str, role: Role, rank: Rank, **attrs: Scalar) -> None:
        """A line that a rank prints."""
        key = self.attempt.key
        self.lines.append(
            Occurrence(t, kind, role, node=rank.node, device=rank.device, rank=rank.rank, job=key, attrs=attrs)
        )

    def launcher(self, t: datetime, kind: str, role: Role, node: str, **attrs: Scalar) -> None:
        """A line that srun, slurmstepd or the agent of a node prints into the job's output."""
        self.lines.append(Occurrence(t, kind, role, node=node, job=self.attempt.key, attrs=attrs))

    def ctl(self, t: datetime, kind: str, role: Role, **attrs: Scalar) -> None:
        """A line of the controller about this attempt."""
        said = {"job": self.attempt.job_id, **attrs}
        self.lines.append(Occurrence(t, kind, role, job=self.attempt.key, attrs=said))

    def host(self, t: datetime, kind: str, role: Role, node: str, **attrs: Scalar) -> None:
        """A kernel or system line of a node; `pci` among its attributes names the GPU it speaks of."""
        pci = attrs.get("pci")
        device = pci if isinstance(pci, str) else None
        self.lines.append(Occurrence(t, kind, role, node=node, device=device, attrs=attrs))

    def switch(self, t: datetime, kind: str, role: Role, port: str, **attrs: Scalar) -> None:
        """A line about a switch port, written by the fabric's manager."""
        self.lines.append(Occurrence(t, kind, role, port=port, attrs=attrs))

    def signal(
        self,
        t: datetime,
        kind: str,
        role: Role,
        node: str | None,
        value: float,
        *,
        device: str | None = None,
        port: str | None = None,
    ) -> None:
        """A gauge that takes a value (`set.x`) or a counter that grows by it (`add.x`)."""
        self.lines.append(Occurrence(t, kind, role, node=node, device=device, port=port, attrs={"value": value}))

    def xid(
        self, t: datetime, code: int, role: Role, rank: Rank, text: str, *, named: bool = False, bare: bool = False
    ) -> None:
        """An Xid line of a rank's GPU and the exporter's gauge that keeps it.

        It speaks of the rank's process when `named`, of none when `bare`, else of an unknown one.
        """
        who = f"pid={rank.pid}, name={COMM}, " if named else "pid='<unknown>', name=<unknown>, "
        who = "" if bare else who
        pci = rank.device
        self.host(t, "kern.xid", role, rank.node, pci=pci, code=code, who=who, text=text)
        self.signal(t, "set.xid", role, rank.node, code, device=pci)

    def close(
        self,
        mechanism: str,
        category: str,
        scope: str | None,
        origin: Sequence[str],
        *,
        t0: datetime,
        end: datetime,
        outcome: str = "failed",
        state: str = "FAILED",
        exit_code: str = "1:0",
        step: tuple[str, str] = ("FAILED", "1:0"),
        stalled: datetime | None = None,
        muted: Mapping[str, Span] | None = None,
        affected: Iterable[str] | None = None,
        acceptable: Sequence[str] = (),
    ) -> Incident:
        """Ends the incident with what is true of it.

        Args:
            mechanism: Its registered name.
            category: Root-cause category.
            scope: Origin scope, None when nothing is located.
            origin: Where it began.
            t0: When it began.
            end: When the scheduler ended the attempt.
            outcome: Outcome word.
            state: Scheduler state of the attempt.
            exit_code: Scheduler exit code of the attempt.
            step: State and exit code of its step.
            stalled: When training stopped to progress; `t0` by default.
            muted: Nodes that fell silent, from when to when.
            affected: Nodes that suffered; by default all of the attempt that are no origin.
            acceptable: Other categories that the evidence allows.

        Returns:
            The incident.
        """
        a = self.attempt
        places = {o.split("/")[0] for o in origin}
        hit = a.nodes if affected is None else affected
        truth = Truth(
            a.cluster,
            a.job_id,
            a.attempt,
            outcome,
            category,
            scope,
            tuple(origin),
            tuple(sorted(set(hit) - places)),
            t0,
            mechanism,
            acceptable=tuple(acceptable),
        )
        return Incident(
            tuple(self.lines), truth, end, state, exit_code, *step, stalled=stalled or t0, muted=muted or {}
        )

    def later(self, t: datetime, low: float, high: float) -> datetime:
        """A random instant `low` to `high` seconds after `t`."""
        return after(t, self.rng.uniform(low, high))
