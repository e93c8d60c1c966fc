"""Writes the days of a fleet to a landing zone, with the losses and repeats of a site's log shippers."""

import gzip
import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from firstfault.jobs.fleet.damage import Way, is_missing
from firstfault.jobs.fleet.model import stream
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.paths import Kind, after_day, grows, kind_of, place_of
from firstfault.jobs.fleet.writers.sink import Sink

SETTLE_S = 1.0


@dataclass(slots=True)
class Disk:
    """A landing zone in the making; a file of a job that goes on over midnight grows on the next day.

    Attributes:
        landing: Its root.
        lost: Lines lost, by source.
        repeated: Lines delivered twice, by source.
        missing: Files not delivered, by source.
    """

    landing: Path
    lost: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    _sizes: dict[str, int] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)
    _folders: set[Path] = field(default_factory=set)

    @property
    def files(self) -> int:
        """Files in the landing zone."""
        return len(self._sizes)

    @property
    def size(self) -> int:
        """Their size in bytes."""
        return sum(self._sizes.values())

    @property
    def lines(self) -> int:
        """Physical lines in them, repeats among them."""
        return self._counts.total()

    def write(self, world: World, sink: Sink) -> None:
        """Writes a day; a file's modification time is its last true write time.

        Args:
            world: The day.
            sink: Its lines.
        """
        for path in sink.paths():
            kind, damage = kind_of(path), world.profile.damage
            if is_missing(world.profile.seed, damage.missing, kind.source, place_of(path), world.number):
                self.missing[kind.source] += 1
                continue
            rng = stream(world.profile.seed, "way", path, world.number)
            if not kind.log and not kind.sure and rng.random() < damage.loss:
                self.lost[kind.source] += 1
                continue
            name = path if world.last else after_day(path, world.profile.day)
            self._file(name, path, kind, sink, Way(rng, damage))
            twice = stream(world.profile.seed, "twice", path, world.number if grows(path) else "")
            if kind.log and twice.random() < damage.duplicates:
                self._again(name, f"{path}.{world.number + 1 if grows(path) else 1}", kind)
            if world.profile.compress and name != path and grows(path):
                self._pack(name)

    def _file(self, name: str, path: str, kind: Kind, sink: Sink, way: Way) -> None:
        file = self.landing / name
        self._make(file.parent)
        last, begun = sink.touched(path), name in self._sizes
        with file.open("ab" if begun else "wb") as out:
            for times, texts in sink.blocks(path):
                header = not begun and path.endswith(".csv")
                arrived = _arrived(texts, kind, way, header=header)
                self._counts[name] += len(arrived)
                out.write("".join(f"{line}\n" for line in arrived).encode())
                last, begun = max(last, times[-1]), True
        self._sizes[name] = file.stat().st_size
        self.lost[kind.source] += way.lost
        self.repeated[kind.source] += way.repeated
        os.utime(file, (last / 1e6 + SETTLE_S,) * 2)

    def _again(self, name: str, rotated: str, kind: Kind) -> None:
        source, copy = self.landing / name, self.landing / rotated
        shutil.copyfile(source, copy)
        shutil.copystat(source, copy)
        self._sizes[rotated] = self._sizes[name]
        self.repeated[kind.source] += self._counts[name] - self._counts[rotated]
        self._counts[rotated] = self._counts[name]

    def _pack(self, name: str) -> None:
        """Packs a file as logrotate does, with the time of its last write."""
        file, packed = self.landing / name, self.landing / f"{name}.gz"
        with (
            file.open("rb") as plain,
            packed.open("wb") as out,
            gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as squeezed,
        ):
            shutil.copyfileobj(plain, squeezed)
        shutil.copystat(file, packed)
        file.unlink()
        del self._sizes[name]
        self._sizes[f"{name}.gz"] = packed.stat().st_size

    def _make(self, folder: Path) -> None:
        if folder not in self._folders:
            folder.mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)


def _arrived(texts: list[str], kind: Kind, way: Way, *, header: bool) -> list[str]:
    """The physical lines that arrive of some records; the header of a table always does."""
    lines = "\n".join(texts).split("\n")
    if not kind.log:
        return lines
    return [*lines[:1], *way.carry(lines[1:])] if header else way.carry(lines)
