"""What measurements share: rows that end in bench.json and in one table, and Spark as a user has it."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from firstfault.jobs.session import spark_session
from firstfault.jobs.settings import Settings

CORES = 2
WIDTH = 180
"""Of the table where it goes to a file."""


@dataclass(frozen=True)
class Row:
    """One measurement; a ratio over 1 is ours ahead."""

    work: str
    ours: float
    unit: str
    peer: str | None
    peer_value: float | None
    ratio: float | None
    n: int
    size: str


@dataclass
class Bench:
    """Collects the rows of a run."""

    rows: list[Row] = field(default_factory=list)

    def add(
        self, work: str, ours: float, unit: str, *, n: int, size: str, peer: str | None = None, peer_value: float = 0
    ) -> Row:
        """Notes one measurement.

        Args:
            work: What was done.
            ours: Our figure; of a unit such as `MB/s` more is better, of `s` less.
            unit: Unit of both figures.
            n: Things that the work was done on.
            size: In words, what it was done on.
            peer: Who else did the same work; None for no one.
            peer_value: Its figure.
        """
        ratio = (ours / peer_value if "/" in unit else peer_value / ours) if peer else None
        row = Row(
            work=work,
            ours=_short(ours),
            unit=unit,
            peer=peer,
            peer_value=_short(peer_value) if peer else None,
            ratio=None if ratio is None else _short(ratio),
            n=n,
            size=size,
        )
        self.rows.append(row)
        return row

    def write(self, path: Path) -> None:
        """All rows as JSON."""
        path.write_text(json.dumps([asdict(row) for row in self.rows], indent=1) + "\n", encoding="utf-8")

    def table(self) -> Table:
        """All rows for the terminal."""
        table = Table(title="Measurements (ratio over 1: ours ahead)", title_justify="left", show_edge=False)
        for name in ("work", "ours", "peer's", "ratio", "n", "size", "peer"):
            table.add_column(name, justify="right" if name in {"ours", "peer's", "ratio", "n"} else "left")
        said = ""
        for row in self.rows:
            theirs = "-" if row.peer_value is None else f"{row.peer_value:g} {row.unit}"
            ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
            size, said = ("" if row.size == said else row.size), row.size
            figures = (f"{row.ours:g} {row.unit}", theirs, ratio, f"{row.n:,}")
            table.add_row(row.work, *figures, size, row.peer or "-")
        return table


def _short(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def in_turn(rounds: int, *works: Callable[[], float]) -> list[float]:
    """The median figure of each work; all take turns, so that a busy moment hits all alike."""
    figures = [[work() for work in works] for _ in range(rounds)]
    return [sorted(of_work)[rounds // 2] for of_work in zip(*figures, strict=True)]


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Where a measurement adds its rows; the end of the run writes and prints them."""
    collected = Bench()
    yield collected
    if not collected.rows:
        return
    collected.write(Path(os.environ.get("BENCH_JSON", "bench.json")))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        console = Console()
        if not console.is_terminal:
            console.width = WIDTH
        console.print()
        console.print(collected.table())


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark with the settings that a user gets, on two cores."""
    session = spark_session(Settings(master=f"local[{CORES}]", shuffle_partitions=CORES))
    yield session
    session.stop()
