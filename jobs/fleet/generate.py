"""Makes a landing zone and its truth from a profile."""

import json
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from pathlib import Path

from firstfault.jobs.fleet.clocks import Clock, build_clocks
from firstfault.jobs.fleet.model import Occurrence
from firstfault.jobs.fleet.noise import day_noise
from firstfault.jobs.fleet.profile import Profile, load_profile
from firstfault.jobs.fleet.schedule import rehearse
from firstfault.jobs.fleet.topology import build_topology
from firstfault.jobs.fleet.truth import Truth
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers import WRITERS, Sink

LANDING, TRUTH = "landing", "truth.json"


@dataclass(frozen=True, slots=True)
class FleetReport:
    """What was made.

    Attributes:
        landing: The landing zone.
        truth: The truth, beside it.
        day: The day rehearsed.
        attempts: Attempts of that day.
        healthy: Attempts in which nothing went wrong.
        mechanisms: Attempts by mechanism.
        files: Files in the landing zone.
        size_bytes: Their size.
    """

    landing: Path
    truth: Path
    day: date
    attempts: int
    healthy: int
    mechanisms: dict[str, int]
    files: int
    size_bytes: int


def generate(
    profile: Profile | str | Path, out: Path, *, seed: int | None = None, day: date | None = None
) -> FleetReport:
    """Writes `<out>/landing/` and `<out>/truth.json`.

    Args:
        profile: A profile, the name of a shipped one, or the path of a YAML file.
        out: Folder to write into; made when missing. Files of an earlier run with another profile stay.
        seed: Replaces the profile's seed.
        day: Replaces the profile's day.

    Returns:
        What was made.

    Raises:
        ProfileError: When the profile cannot be found or used.
    """
    loaded = profile if isinstance(profile, Profile) else load_profile(profile)
    changes = {key: given for key, given in (("seed", seed), ("day", day)) if given is not None}
    world = build_world(loaded.model_copy(update=changes))
    sink = Sink()
    for write in WRITERS:
        write(world, sink)
    landing, truth = Path(out) / LANDING, Path(out) / TRUTH
    written = sink.flush(landing)
    truth.write_text(json.dumps([_record(t) for t in world.truths], indent=1) + "\n", "utf-8")
    named = [t.mechanism for t in world.truths if t.mechanism is not None]
    return FleetReport(
        landing,
        truth,
        world.profile.day,
        len(world.attempts),
        len(world.attempts) - len(named),
        {name: named.count(name) for name in sorted(set(named))},
        written.files,
        written.size,
    )


def build_world(profile: Profile) -> World:
    """Everything that happens in a profile's day, on true time and not yet written.

    Args:
        profile: The checked profile.

    Returns:
        The world its writers see.
    """
    topology = build_topology(profile)
    clocks = build_clocks(profile, topology)
    day = rehearse(profile, topology)
    world = World(profile, topology, clocks, day.attempts, (), day.truths, day.silences)
    lines = [*day.occurrences, *day_noise(profile.seed, profile.noise, topology, world.midnight)]
    lines += [_step(name, c.step_at, c) for name, c in clocks.items() if c.step_at is not None]
    lines = [o for o in lines if o.role != "noise" or o.node is None or not world.silent(o.node, o.t)]
    return replace(world, occurrences=tuple(sorted(lines, key=lambda o: (o.t, o.node or "", o.rank or 0, o.kind))))


def _step(node: str, at: datetime, clock: Clock) -> Occurrence:
    return Occurrence(at, "sys.clock_step", "noise", node=node, attrs={"step": clock.step_s})


def _record(truth: Truth) -> dict[str, object]:
    """The truth as JSON; what only few attempts have is left out of the others."""
    fields = asdict(truth)
    fields["t0"] = _stamp(truth.t0)
    also = [{**asdict(other), "t0": _stamp(other.t0)} for other in truth.also]
    rare = {"also": also, "acceptable": list(truth.acceptable)}
    return {k: v for k, v in fields.items() if k not in rare} | {k: v for k, v in rare.items() if v}


def _stamp(t: datetime | None) -> str | None:
    return None if t is None else t.isoformat(timespec="microseconds").replace("+00:00", "Z")
