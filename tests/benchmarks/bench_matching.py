"""Finding literals, three ways, and whole matching: lines in Arrow to typed events, on one core.

The lines are synthetic; one in twenty is the test line of a pattern.
"""

import random
import re
import string
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import firstfault.rules
from firstfault.rules.engine.patterns import PatternLibrary, load_patterns
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms import literal_scan
from firstfault.transforms.matching import CompiledPattern, match
from tests.benchmarks.conftest import Bench

ROOT = Path(next(iter(firstfault.rules.__path__)))
LINES = 300_000
HIT_SHARE = 0.05
SOURCE = "app"

pytestmark = pytest.mark.bench


def library() -> PatternLibrary:
    return load_patterns(ROOT / "patterns", Vocabulary.load(ROOT / "vocabulary.yaml"))


def lines(patterns: PatternLibrary, n: int, hit_share: float = HIT_SHARE) -> pa.Array:
    rng = random.Random(20261129)
    quiet = [
        f"trainer.py:{rng.randrange(999)} {word(rng, 30)} lr 1.0e-04 {word(rng, 24)} mem {rng.random():.4f}"
        for _ in range(5000)
    ]
    loud = [h.line.split("\n")[0] for p in patterns if SOURCE in p.formats for h in p.tests.hit]
    return pa.array([rng.choice(loud if rng.random() < hit_share else quiet) for _ in range(n)])


def word(rng: random.Random, length: int) -> str:
    return "".join(rng.choice(string.ascii_lowercase) for _ in range(length))


def tenfold(patterns: tuple[CompiledPattern, ...]) -> tuple[CompiledPattern, ...]:
    """The patterns and nine more of each, which share their beginnings and match nothing here."""
    more = [
        replace(p, id=f"{p.id}.{k}", literals=tuple(f"{x}~{k}" for x in p.literals)) for p in patterns for k in range(9)
    ]
    return (*patterns, *more)


def fastest(work: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def per_literal(texts: pa.Array, literals: list[str]) -> int:
    return sum(pc.match_substring(texts, literal).true_count for literal in literals)


def alternation(texts: pa.Array, literals: list[str]) -> int:
    chosen = pc.match_substring_regex(texts, "|".join(re.escape(x) for x in literals))
    return per_literal(texts.filter(chosen), literals)


def bare_pass(texts: pa.Array, patterns: tuple[CompiledPattern, ...]) -> Callable[[], object]:
    """Hyperscan with the same literals from the Arrow buffer to rows and nothing else; compiled beforehand."""
    hyperscan = pytest.importorskip("hyperscan")
    wanted = sorted({x for p in patterns if SOURCE in p.formats for x in p.literals})
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[x.encode() for x in wanted],
        ids=list(range(len(wanted))),
        elements=len(wanted),
        flags=0,
        literal=True,
    )
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)
    data = memoryview(texts.buffers()[2])

    def run() -> object:
        found: list[tuple[int, int]] = []
        database.scan(data, match_event_handler=lambda i, _a, end, _f, _c: found.append((i, end)))
        return np.searchsorted(offsets, np.array(found)[:, 1] - 1, side="right") - 1

    return run


def ways(texts: pa.Array, patterns: tuple[CompiledPattern, ...]) -> dict[str, float]:
    """Seconds to find all literals."""
    literals = sorted({x for p in patterns if SOURCE in p.formats for x in p.literals})
    encoded = [x.encode() for x in literals]
    found = {
        "a: match_substring per literal": fastest(lambda: per_literal(texts, literals), 1),
        "b: RE2 alternation, then match_substring": fastest(lambda: alternation(texts, literals), 1),
        "b': RE2 alternations of 64, then bytes.find": fastest(lambda: literal_scan.Re2(encoded).scan(texts)),
    }
    if literal_scan.hyperscan is not None:
        scanner = literal_scan.Hyperscan(encoded)
        found["c: Hyperscan over the buffer"] = fastest(lambda: scanner.scan(texts))
    return found


@pytest.fixture(autouse=True)
def _one_core() -> Iterator[None]:
    before = pa.cpu_count()
    pa.set_cpu_count(1)
    yield
    pa.set_cpu_count(before)


def test_finding_literals(bench: Bench) -> None:
    known = library()
    texts = lines(known, LINES)
    size = f"{texts.nbytes / 1e6:.0f} MB, {len(known)} patterns"
    measured = ways(texts, known.compiled)
    for name, took in measured.items():
        bench.add(f"literals: {name}", took, "s", n=LINES, size=size)
    assert len(measured) >= 3


def test_ten_times_the_patterns_cost_less_than_half_more(bench: Bench) -> None:
    known = library()
    patterns, texts = known.compiled, lines(known, LINES)
    wide = tenfold(patterns)
    size = f"{texts.nbytes / 1e6:.0f} MB, {len(patterns)} patterns"
    fast = fastest(lambda: match(texts, None, SOURCE, patterns))
    ten = fastest(lambda: match(texts, None, SOURCE, wide))
    re2 = fastest(lambda: match(texts, None, SOURCE, patterns, engine="re2"))
    bare = fastest(bare_pass(texts, patterns))
    for work, ours, peer, peer_value in (
        ("extract", fast, "bare Hyperscan pass from Arrow buffers to rows", bare),
        ("extract, tenfold patterns", ten, "the same with a tenth of the patterns", fast),
        ("extract without Hyperscan", re2, "extract with Hyperscan", fast),
    ):
        bench.add(work, ours, "s", n=LINES, size=size, peer=peer, peer_value=peer_value)
    assert ten < 1.5 * fast
