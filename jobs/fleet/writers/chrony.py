"""chrony's tracking.log: what a node's own clock discipline admits. Offset + is fast, remaining + is slow."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.model import after
from firstfault.jobs.fleet.world import DAY_S, World
from firstfault.jobs.fleet.writers.sink import Sink

SERVER = "10.0.0.1"
ROOT_DELAY_S, ROOT_DISPERSION_S = 9.870e-04, 2.655e-04
BANNER = (
    "=" * 110,
    (
        "   Date (UTC) Time     IP Address   St   Freq ppm   Skew ppm     Offset L Co  Offset sd Rem. corr. "
        "Root delay Root disp. Max. error"
    ),
    "=" * 110,
)


def write(world: World, sink: Sink) -> None:
    """Writes the log of each node that keeps one; its own times are those of the clock it speaks of."""
    for node in world.topology.nodes:
        clock = world.clock(node.name)
        if not clock.telemetry:
            continue
        path = f"nodes/{node.name}/chrony-tracking.log"
        rng = world.stream("chrony", node.name)
        t = after(world.midnight, rng.uniform(0.0, world.profile.sampling.chrony_s))
        for text in BANNER:
            sink.add(path, world.midnight, text)
        while t < after(world.midnight, DAY_S):
            if not world.silent(node.name, t):
                sink.add(path, t, row(rng, clock.written(t), clock.offset(t), clock.drift_ppm))
            t = after(t, world.profile.sampling.chrony_s)


def row(rng: Random, written: datetime, offset_s: float, drift_ppm: float) -> str:
    """One update of tracking.log.

    Args:
        rng: For the measurement's noise.
        written: What the clock shows.
        offset_s: Local minus true.
        drift_ppm: Its drift.

    Returns:
        The line; its offset is positive when the clock is fast, its remaining correction when it is slow.
    """
    seen = offset_s + rng.gauss(0.0, 20e-6)
    bound = abs(seen) + ROOT_DISPERSION_S + ROOT_DELAY_S / 2
    return (
        f"{written:%Y-%m-%d %H:%M:%S} {SERVER:<15} {3:2d} {drift_ppm:10.3f} {0.031:10.3f} {seen:10.3e} N "
        f"{1:2d} {4.410e-05:10.3e} {-seen:10.3e} {ROOT_DELAY_S:10.3e} {ROOT_DISPERSION_S:10.3e} {bound:10.3e}"
    )
