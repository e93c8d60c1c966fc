"""Makes a landing zone and its truth from a profile."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from pathlib import Path

from firstfault.jobs.fleet.clocks import build_clocks
from firstfault.jobs.fleet.days import worlds
from firstfault.jobs.fleet.labels import HEADER, rows
from firstfault.jobs.fleet.mix import draw
from firstfault.jobs.fleet.profile import Profile, load_profile
from firstfault.jobs.fleet.topology import build_topology
from firstfault.jobs.fleet.truth import Truth
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers import WRITERS, Sink, chatter
from firstfault.jobs.fleet.writers.disk import Disk

LANDING, TRUTH, LABELS, FLEET = "landing", "truth.json", "labels.csv", "fleet.json"


@dataclass(frozen=True, slots=True)
class FleetReport:
    """What was made.

    Attributes:
        landing: The landing zone.
        truth: The truth, beside it.
        day: The first day rehearsed.
        attempts: Attempts of all days.
        healthy: Attempts in which nothing went wrong.
        mechanisms: Attempts by mechanism.
        files: Files in the landing zone.
        size_bytes: Their size.
        days: Days rehearsed.
        lines: Physical lines in the landing zone.
        labelled: Rows of labels.
        lost: Lines (or whole snapshots) that were lost, by source.
        repeated: Lines delivered twice, by source.
        missing: Files not delivered, by source.
    """

    landing: Path
    truth: Path
    day: date
    attempts: int
    healthy: int
    mechanisms: dict[str, int]
    files: int
    size_bytes: int
    days: int = 1
    lines: int = 0
    labelled: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    repeated: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)


def generate(
    profile: Profile | str | Path, out: Path, *, seed: int | None = None, day: date | None = None
) -> FleetReport:
    """Writes `<out>/landing/`, `<out>/truth.json` and, where labels are asked for, `<out>/labels.csv`.

    `<out>/fleet.json` says what was asked for, what the clocks really did and what was lost on the way.

    Args:
        profile: A profile, the name of a shipped one, or the path of a YAML file.
        out: Folder to write into; made when missing. Files of an earlier run with another profile stay.
        seed: Replaces the profile's seed.
        day: Replaces the profile's first day.

    Returns:
        What was made.

    Raises:
        ProfileError: When the profile cannot be found or used.
    """
    loaded = profile if isinstance(profile, Profile) else load_profile(profile)
    changes = {key: given for key, given in (("seed", seed), ("day", day)) if given is not None}
    drawn = draw(loaded.model_copy(update=changes))
    disk = Disk(Path(out) / LANDING)
    truths: tuple[Truth, ...] = ()
    for world in worlds(drawn):
        sink = Sink()
        for write in WRITERS:
            write(world, sink)
        chatter.write(world, sink)
        disk.write(world, sink)
        truths = world.truths
    truth = Path(out) / TRUTH
    truth.write_text(json.dumps([_record(t) for t in truths], indent=1) + "\n", "utf-8")
    (Path(out) / FLEET).write_text(_told(drawn, disk) + "\n", "utf-8")
    labels = rows(drawn, truths)
    if labels:
        (Path(out) / LABELS).write_text("".join(f"{row}\n" for row in (HEADER, *labels)), "utf-8")
    return _report(drawn, disk, truth, truths, len(labels))


def build_world(profile: Profile) -> World:
    """Everything that happens in a profile's only day, or in the first of several, on true time and not yet written.

    Args:
        profile: The checked profile.

    Returns:
        The world its writers see.
    """
    return next(worlds(draw(profile)))


def _report(profile: Profile, disk: Disk, truth: Path, truths: Sequence[Truth], labelled: int) -> FleetReport:
    named = [t.mechanism for t in truths if t.mechanism is not None]
    return FleetReport(
        disk.landing,
        truth,
        profile.day,
        len(truths),
        len(truths) - len(named),
        {name: named.count(name) for name in sorted(set(named))},
        disk.files,
        disk.size,
        profile.days,
        disk.lines,
        labelled,
        dict(+disk.lost),
        dict(+disk.repeated),
        dict(+disk.missing),
    )


def _told(profile: Profile, disk: Disk) -> str:
    clocks = {
        name: {"kind": c.kind, "offset_s": c.offset_s, "drift_ppm": c.drift_ppm, "step_s": c.step_s}
        | {"since": _stamp(c.since), "step_at": _stamp(c.step_at)}
        for name, c in build_clocks(profile, build_topology(profile)).items()
    }
    harm = {"lost": dict(+disk.lost), "repeated": dict(+disk.repeated), "missing": dict(+disk.missing)}
    return json.dumps({"profile": profile.model_dump(mode="json"), **harm, "clocks": clocks}, indent=1)


def _record(truth: Truth) -> dict[str, object]:
    """The truth as JSON; what only few attempts have is left out of the others."""
    fields = asdict(truth)
    fields["t0"] = _stamp(truth.t0)
    also = [{**asdict(other), "t0": _stamp(other.t0)} for other in truth.also]
    rare = {"also": also, "acceptable": list(truth.acceptable)}
    return {k: v for k, v in fields.items() if k not in rare} | {k: v for k, v in rare.items() if v}


def _stamp(t: datetime | None) -> str | None:
    return None if t is None else t.isoformat(timespec="microseconds").replace("+00:00", "Z")
