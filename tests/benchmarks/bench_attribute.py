"""Attribution: scoped events to candidates in one plan, with a hundred rules and with ten times as many.

Ours is the night's own join plan, cut where a night cuts it. The peers run one query per rule and do less: see
`attribute_peers`. Ten times the rules are variants of the hundred with other attribute tests and other windows.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from firstfault.jobs.frames import materialised
from firstfault.jobs.knowledge import Knowledge, load_unlocked
from firstfault.jobs.settings import default_driver_memory_mb
from firstfault.transforms.attribution import Evidence, find_candidates
from firstfault.transforms.candidates import Doubts
from tests.benchmarks import attribute_loop, attribute_peers
from tests.benchmarks.attribute_events import Mix, write_events
from tests.benchmarks.attribute_fleet import (
    EVENTS_PER_ATTEMPT,
    KINDS,
    attempts_of,
    make_fleet,
    placement_of,
    topology_of,
)
from tests.benchmarks.attribute_rules import Compiled, compiled, distinct, hundred, rule_frames, tenfold
from tests.benchmarks.attribute_templates import make_templates
from tests.benchmarks.conftest import CORES, Bench

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]

EVENTS = int(os.environ.get("BENCH_EVENTS", "5000000"))
WARM_UP = 20_000
OVERLAP_SHARE = 10
"""Rules that all hold at once are measured on a part of the events: what they give is tenfold too."""
ASKED = {"duckdb": 10, "pandas": 5}
"""So many rules a peer runs of a set, evenly chosen: it looks at the events anew for each."""
CUTS = {"placed events": 1, "anchors": 4}
"""How many cuts of `find_candidates` end a part of the work; what follows gives the candidates."""
SPARSE = Mix("anchors 5%", EVENTS, anchors=0.05, quiet=0.6)
DENSE = Mix("dense: anchors 50%", EVENTS, anchors=0.5, quiet=0.2)


@dataclass
class Watch:
    """Cuts frames as a night does, and keeps how long each took."""

    seconds: list[float] = field(default_factory=list)
    begun: float = field(default_factory=time.perf_counter)

    def cut(self, rows: DataFrame) -> DataFrame:
        made = materialised(rows)
        self.lap()
        return made

    def lap(self) -> None:
        self.seconds.append(time.perf_counter() - self.begun - sum(self.seconds))


def evidence_of(spark: SparkSession, mix: Mix, rules: Compiled, knowledge: Knowledge, folder: Path) -> Evidence:
    """Writes the events and what else attribution rests on; reads it back."""
    fleet = make_fleet(mix.events // EVENTS_PER_ATTEMPT)
    write_events(mix, fleet, make_templates(spark, knowledge, hundred(knowledge.rules), rules), folder / "events")
    attempts = attempts_of(spark, fleet)
    made = {"attempts": attempts, "topology": topology_of(spark, fleet), "placement": placement_of(attempts)}
    for name, rows in made.items():
        rows.write.parquet(str(folder / name))
    read = {name: spark.read.parquet(str(folder / name)) for name in (*made, "events")}
    attempts = materialised(read["attempts"])
    owners = F.broadcast(attempts.select("uid", "source_cluster", "workload_key", "user", F.col("home").alias("_home")))
    beyond = (
        read["events"]
        .join(owners, "uid")
        .withColumns({"home": F.when(F.col("relation") == "own", F.col("_home")), "relation": F.lit("beyond")})
    )
    return Evidence(
        attempts=attempts,
        scoped=read["events"],
        beyond=beyond.drop("uid", "_home"),
        placement=read["placement"],
        topology=read["topology"],
        covered=attempts.select("uid", F.array(*(F.lit(kind) for kind in KINDS)).alias("kinds")),
        occupancy=read["attempts"].select("source_cluster", F.explode("nodes").alias("node"), "start", "end", "home"),
    )


def attribute(spark: SparkSession, evidence: Evidence, rules: Compiled) -> tuple[int, list[float]]:
    """How many candidates there are, and the seconds of each cut."""
    frames = rule_frames(spark, rules)
    watch = Watch()
    n = materialised(find_candidates(evidence, frames, Doubts(), watch.cut)).count()
    watch.lap()
    spark.catalog.clearCache()
    return n, watch.seconds


def note(bench: Bench, mix: Mix, rules: Compiled, candidates: int, seconds: list[float]) -> float:
    """Adds the figures of one run; its seconds."""
    about = {"n": mix.events, "size": f"{mix.name}, {distinct(rules)}, {CORES} cores"}
    many = f"{len(rules['rules']):,} rules"
    total = sum(seconds)
    bench.add(f"attribute: {many} to {candidates:,} candidates", total, "s", **about)
    laps = iter(seconds)
    for what, cuts in CUTS.items():
        bench.add(f"attribute: {many}, {what}", sum(islice(laps, cuts)), "s", **about)
    bench.add(f"attribute: {many}, candidates", sum(laps), "s", **about)
    return total


def timed(work: Callable[[Compiled], object], rules: Iterable[Compiled]) -> float:
    begun = time.perf_counter()
    for rule in rules:
        work(rule)
    return time.perf_counter() - begun


def evenly(rules: list[Compiled], n: int) -> list[Compiled]:
    return rules[:: max(1, len(rules) // n)][:n]


def peers(bench: Bench, mix: Mix, folder: Path, alone: list[Compiled], ours: float) -> None:
    """Adds what one query per rule takes for all of them, as a part of them shows.

    Args:
        bench: Where it goes.
        mix: Of the events.
        folder: Where events and topology lie.
        alone: Each rule, compiled as a set of its own.
        ours: Seconds that all rules took together.
    """
    database = attribute_peers.connect(folder, folder / "events", default_driver_memory_mb())
    asked = evenly(alone, ASKED["duckdb"])
    spent = timed(lambda rule: database.execute(attribute_peers.query(rule)).fetchall(), asked)
    database.close()
    name = f"DuckDB {duckdb.__version__}, {CORES} threads, a query a rule"
    add_peer(bench, mix, name, len(asked), len(alone), spent, ours)
    asked = evenly([rule for rule in alone if attribute_loop.knows(rule)], ASKED["pandas"])
    begun = time.perf_counter()
    events = attribute_loop.load(folder / "events", asked)
    loading = time.perf_counter() - begun
    spent = timed(lambda rule: attribute_loop.run(rule, events), asked)
    name = f"pandas {pd.__version__}, a loop over rules ({loading:.1f} s to load not counted)"
    add_peer(bench, mix, name, len(asked), len(alone), spent, ours)


def add_peer(bench: Bench, mix: Mix, peer: str, asked: int, rules: int, spent: float, ours: float) -> None:
    size = f"{mix.name}, {rules} rules; the peer's from {asked} of them"
    bench.add("attribute", ours, "s", n=mix.events, size=size, peer=peer, peer_value=spent * rules / asked)


@pytest.fixture(scope="module")
def knowledge(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Knowledge:
    """Knowledge, with the session warmed up."""
    known = load_unlocked()
    rules = compiled(hundred(known.rules), known.vocabulary)
    folder = tmp_path_factory.mktemp("warm")
    attribute(spark, evidence_of(spark, replace(SPARSE, events=WARM_UP), rules, known, folder), rules)
    return known


@pytest.mark.parametrize("mix", [SPARSE, DENSE], ids=["sparse", "dense"])
def test_rules(spark: SparkSession, knowledge: Knowledge, tmp_path: Path, bench: Bench, mix: Mix) -> None:
    rules = hundred(knowledge.rules)
    base, many = (compiled(some, knowledge.vocabulary) for some in (rules, tenfold(rules)))
    evidence = evidence_of(spark, mix, base, knowledge, tmp_path)
    (few, few_laps), (more, many_laps) = (attribute(spark, evidence, some) for some in (base, many))
    few_s, many_s = note(bench, mix, base, few, few_laps), note(bench, mix, many, more, many_laps)
    assert few > 0
    assert more > 0
    size = f"{mix.name}, {distinct(many)} beside {distinct(base)}"
    bench.add("attribute: time of ten times the rules", many_s / few_s, "x", n=mix.events, size=size)
    for some, seconds in ((rules, few_s), (tenfold(rules), many_s)):
        peers(bench, mix, tmp_path, [compiled([rule], knowledge.vocabulary) for rule in some], seconds)


def test_rules_that_all_hold_at_once(spark: SparkSession, knowledge: Knowledge, tmp_path: Path, bench: Bench) -> None:
    mix = replace(SPARSE, name=f"{SPARSE.name}, every variant holds", events=EVENTS // OVERLAP_SHARE)
    rules = hundred(knowledge.rules)
    base, many = (compiled(some, knowledge.vocabulary) for some in (rules, tenfold(rules, overlapping=True)))
    evidence = evidence_of(spark, mix, base, knowledge, tmp_path)
    (few, few_laps), (more, many_laps) = (attribute(spark, evidence, some) for some in (base, many))
    note(bench, mix, base, few, few_laps)
    note(bench, mix, many, more, many_laps)
    assert more > few > 0, "ten variants that all hold give more candidates than one"
