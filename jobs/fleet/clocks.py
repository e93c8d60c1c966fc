"""Per-node clocks: what a node's clock says at a true instant, and what its chrony log admits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from random import Random

from firstfault.jobs.fleet.model import Topology, after, stream
from firstfault.jobs.fleet.profile import ClocksProfile, Profile

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that is off by an offset, drifts, and may be stepped once.

    Attributes:
        offset_s: Local minus true at `since`; positive is fast.
        drift_ppm: Growth of the offset, in microseconds a second.
        since: When the offset holds.
        step_s: What a correction adds to the offset at `step_at`.
        step_at: True time of the correction, or None.
        telemetry: Whether the node keeps a chrony log.
        kind: good, seconds_off, hours_off or stepped.
    """

    offset_s: float
    drift_ppm: float
    since: datetime
    step_s: float = 0.0
    step_at: datetime | None = None
    telemetry: bool = True
    kind: str = "good"

    def offset(self, t: datetime) -> float:
        """Local minus true at a true time, in seconds."""
        value = self.offset_s + self.drift_ppm * 1e-6 * (t - self.since).total_seconds()
        return value + self.step_s if self.step_at is not None and t >= self.step_at else value

    def written(self, t: datetime) -> datetime:
        """What the clock shows at a true time."""
        return t + timedelta(microseconds=round(self.offset(t) * 1e6))


def perfect(since: datetime) -> Clock:
    """The clock of the controller and of collectors: true time."""
    return Clock(0.0, 0.0, since)


def build_clocks(profile: Profile, topology: Topology) -> Mapping[str, Clock]:
    """A clock for each node, the bad ones spread over the cluster.

    Args:
        profile: The clock mix and the seed.
        topology: The nodes.

    Returns:
        Clocks by node name.
    """
    mix = profile.clocks
    rng = stream(profile.seed, "clocks")
    kinds = ["seconds_off"] * mix.seconds_off + ["hours_off"] * mix.hours_off + ["stepped"] * mix.stepped
    names = [node.name for node in topology.nodes]
    bad = dict(zip(rng.sample(names, min(len(kinds), len(names))), kinds, strict=False))
    midnight = datetime.combine(profile.day, time(), UTC)
    return {
        name: _clock(mix, stream(profile.seed, "clock", name), bad.get(name, "good"), midnight, profile.days)
        for name in names
    }


def _clock(mix: ClocksProfile, rng: Random, kind: str, midnight: datetime, days: int) -> Clock:
    small = rng.uniform(-mix.good_ms, mix.good_ms) / 1e3
    drift = rng.uniform(-mix.drift_ppm, mix.drift_ppm)
    telemetry = rng.random() < mix.chrony_share
    sign = rng.choice((-1, 1))
    if kind == "seconds_off":
        return Clock(sign * rng.uniform(*mix.seconds), drift, midnight, telemetry=telemetry, kind=kind)
    if kind == "hours_off":
        return Clock(sign * HOUR_S + small, drift, midnight, telemetry=False, kind=kind)
    if kind == "stepped":
        at = after(midnight, rng.uniform(8.0, 16.0) * HOUR_S)
        at = after(at, rng.randrange(days) * 24 * HOUR_S) if days > 1 else at
        wrong = sign * mix.step_s
        return Clock(wrong + small, drift, midnight, -wrong, at, telemetry=True, kind=kind)
    return Clock(small, drift, midnight, telemetry=telemetry, kind=kind)
