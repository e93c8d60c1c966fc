"""What a simulated fleet writes of its clocks: marks, telemetry, streams and attempts, as the night's tables."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.benchmarks.clock_fleets import DAY_S, LATE_S, MARGIN_S, START_S, ZONE_S, Attempt, Fleet, Floats, Ints

RANKS, LATE_RANK = 8, 3
APP, FLIGHT, KERNEL = "app", "flight_recorder", "kernel"
TAIL_S = 2.0
"""Mean of the delay of a line that comes much later."""
SPAN_S = 300.0


def write(fleet: Fleet, folder: Path) -> dict[str, Path]:
    """The tables of a fleet as Parquet files, by name."""
    rng = np.random.default_rng(fleet.mix.seed + 1)
    made = {"marks": _marks(fleet, rng), "samples": [_samples(fleet, rng)]}
    made |= {"streams": [_streams(fleet, rng)], "attempts": [_attempts(fleet)]}
    paths = {}
    for name, parts in made.items():
        paths[name] = folder / f"{name}.parquet"
        writer = None
        for part in parts:
            writer = writer or pq.ParquetWriter(paths[name], part.schema)
            writer.write_table(part)
        assert writer is not None
        writer.close()
    return paths


def _marks(fleet: Fleet, rng: np.random.Generator) -> Iterator[pa.Table]:
    """Rows of clock_marks, a part at a time."""
    cluster = fleet.mix.cluster
    yield _mark(cluster, np.zeros(0, np.int64), np.zeros(0))
    yield from _arrivals(fleet, rng)
    told = np.flatnonzero(fleet.clocks.fault == "step_back")
    at = fleet.clocks.step_at[told]
    yield _mark(
        cluster, told, at + fleet.clocks.offset(told, at), kind="told_step", source="syslog",
        value=np.round(fleet.clocks.step_s[told], 1),
    )  # fmt: skip
    for attempt in fleet.attempts if fleet.mix.marks else []:
        yield from _of_attempt(fleet, attempt, rng)


def _of_attempt(fleet: Fleet, attempt: Attempt, rng: np.random.Generator) -> Iterator[pa.Table]:
    place = np.repeat(np.arange(len(attempt.nodes)), RANKS) * RANKS + np.tile(np.arange(RANKS), len(attempt.nodes))
    writes = place[:: RANKS if attempt.loggers == 1 else 1] if attempt.loggers else place[:1]
    slots = np.arange(attempt.start + 120, attempt.end - 60, SPAN_S)
    moments = np.sort((slots[:, None] + rng.uniform(0, SPAN_S, (len(slots), fleet.mix.slot_lines))).ravel())
    yield _lines(fleet, attempt, rng, "step", writes, moments, _step_delay(fleet, attempt, writes, len(moments), rng))
    if attempt.communicator:
        at = np.sort(attempt.start + rng.uniform(20, 120, 2))
        apart = np.repeat(np.abs(rng.normal(0, 0.2, (len(attempt.nodes), 2))), RANKS, axis=0)
        delay = apart + np.abs(rng.normal(0, 0.01, (len(place), 2)))
        yield _lines(fleet, attempt, rng, "communicator", place, at, delay)
    if attempt.flight:
        at = np.sort(attempt.end - rng.uniform(0, 600, 32))
        yield _lines(fleet, attempt, rng, "collective", place, at, rng.uniform(0, 0.1, (len(place), 32)))
    if attempt.term:
        delay = np.repeat(rng.uniform(0.05, 2.0, (len(attempt.nodes), 1)), RANKS, axis=0)
        yield _lines(fleet, attempt, rng, "term_wave", place, np.array([attempt.end]), delay)


def _step_delay(fleet: Fleet, attempt: Attempt, ranks: Ints, moments: int, rng: np.random.Generator) -> Floats:
    """How long after its moment each rank prints: noise, a tail, and stragglers."""
    shape = (len(ranks), moments)
    delay = np.abs(rng.normal(0, attempt.width_s, shape))
    delay += np.where(rng.random(shape) < attempt.tail, rng.exponential(TAIL_S, shape), 0.0)
    fault = fleet.clocks.fault[attempt.nodes[ranks // RANKS]]
    late = (fault == "late_node") | ((fault == "late_rank") & (ranks % RANKS == 3))
    # Who is late at the barrier makes everybody's line late.
    waits = LATE_S if "late_barrier" in fault else 0.0
    return np.asarray(delay + np.where(late, LATE_S, 0.0)[:, None] + waits)


def _lines(
    fleet: Fleet, attempt: Attempt, rng: np.random.Generator, kind: str, ranks: Ints, moments: Floats, delay: Floats
) -> pa.Table:
    """Lines of ranks about shared moments, on their nodes' clocks; a few are missing."""
    node = np.repeat(attempt.nodes[ranks // RANKS], len(moments))
    t = (moments[None, :] + delay).ravel()
    written = t + fleet.clocks.offset(node, t)
    source = FLIGHT if kind == "collective" else APP
    if source == APP:
        written = written + np.where(fleet.clocks.fault[node] == "zone", ZONE_S, 0.0)
        written = np.floor(written) if attempt.whole_seconds else np.floor(written * 1e3) / 1e3
    kept = rng.random(len(t)) > 0.03
    named = kind == "communicator" or (attempt.node_in_path and source == APP)
    key = np.tile(np.arange(len(moments)), len(ranks))
    rank = np.repeat(ranks, len(moments))
    return _mark(
        fleet.mix.cluster, node[kept], written[kept], kind=kind, source=source, job=attempt.job, hint=attempt.hint,
        key=(np.zeros(len(t), np.int64) if kind == "term_wave" else key)[kept], rank=rank[kept], named=named,
    )  # fmt: skip


def _arrivals(fleet: Fleet, rng: np.random.Generator) -> Iterator[pa.Table]:
    """Kernel lines with a collector's stamp: some delay, a queue with a heavy tail, and minutes of congestion."""
    base, begin, length = rng.uniform(0.05, 0.8), START_S - MARGIN_S, DAY_S + 2 * MARGIN_S
    for node in np.flatnonzero(fleet.has_arrival):
        n = int(rng.poisson(length / 100))
        t = np.sort(begin + rng.uniform(0, length, n))
        delay = base + rng.exponential(0.02) + rng.exponential(0.1, n)
        delay += np.where(rng.random(n) < 0.1, rng.pareto(1.5, n), 0.0)
        for at in begin + rng.uniform(0, length, 4):
            delay += np.where((t >= at) & (t < at + rng.uniform(120, 1200)), rng.uniform(5, 60), 0.0)
        who = np.full(n, node)
        written = t + fleet.clocks.offset(who, t)
        yield _mark(fleet.mix.cluster, who, written, kind="arrival", source=KERNEL, value=written - t - delay)


def _mark(
    cluster: str,
    node: Ints,
    t: Floats,
    *,
    kind: str = "step",
    source: str = APP,
    job: int | None = None,
    hint: int = 0,
    key: Ints | None = None,
    rank: Ints | None = None,
    value: Floats | None = None,
    named: bool = True,
) -> pa.Table:
    """Rows of clock_marks."""
    n = len(node)
    home = "_node" if job is None else f"job-{job}"
    who = pa.nulls(n, pa.int32()) if rank is None else pa.array(rank.astype(np.int32))
    host = names(node)
    place = host if rank is None else pc.cast(who, pa.string())
    writer = pc.binary_join_element_wise(_same(f"{home}/{hint}/{source}", n), place, "/")
    return pa.table(
        {
            "cluster": _same(cluster, n),
            "kind": _same(kind, n),
            "job_id": _same(home, n),
            "attempt_hint": pa.array(np.full(n, hint, np.int32), mask=np.full(n, job is None)),
            "key": _same("", n) if key is None else pc.cast(pa.array(key), pa.string()),
            "source": _same(source, n),
            "stream_id": writer,
            "byte_offset": pa.array(np.arange(n)),
            "node": host if named else pa.nulls(n, pa.string()),
            "rank": who,
            "t": _times(t),
            "value_s": pa.nulls(n, pa.float64()) if value is None else pa.array(value),
            "n": pa.array(np.ones(n, np.int64)),
        }
    )


def _samples(fleet: Fleet, rng: np.random.Generator) -> pa.Table:
    """Telemetry: what a daemon measured of its clock, on that clock, and the bound that it claims."""
    node, t, value, metric = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0)], ["clock.offset_s"]
    for one in np.flatnonzero(fleet.has_telemetry):
        gap = 64.0 if rng.random() < 0.2 else 1024.0
        at = np.arange(START_S - MARGIN_S + rng.uniform(0, gap), START_S + DAY_S + MARGIN_S, gap)
        who = np.full(len(at), one)
        true = fleet.clocks.offset(who, at)
        path = rng.uniform(-0.005, 0.005) if rng.random() < 0.1 else 0.0
        seen = true + path + rng.normal(0, np.exp(rng.uniform(np.log(20e-6), np.log(2e-3))), len(at))
        node += [who, who]
        t += [at + true, at + true]
        value += [seen, np.abs(seen) + abs(path) + rng.uniform(0.001, 0.02)]
        metric += ["clock.offset_s", "clock.max_error_s"]
    lengths = [len(part) for part in node]
    return pa.table(
        {
            "cluster": _same(fleet.mix.cluster, sum(lengths)),
            "node": names(np.concatenate(node)),
            "metric": pa.array(np.repeat(metric, lengths)),
            "event_time": _times(np.concatenate(t)),
            "value": pa.array(np.concatenate(value)),
        }
    )


def _streams(fleet: Fleet, rng: np.random.Generator) -> pa.Table:
    """First and last written time of each attempt's files."""
    made = []
    for a in fleet.attempts:
        n = len(a.nodes)
        first, last = a.start + np.exp(rng.uniform(0, np.log(120), n)), a.end - rng.uniform(0, 300, n)
        zone = np.where(fleet.clocks.fault[a.nodes] == "zone", ZONE_S, 0.0)
        made.append(
            {
                "cluster": _same(fleet.mix.cluster, n),
                "job_id": _same(f"job-{a.job}", n),
                "attempt_hint": pa.array(np.full(n, a.hint, np.int32)),
                "node": names(a.nodes) if a.node_in_path else pa.nulls(n, pa.string()),
                "source": _same(APP, n),
                "first_time": _times(first + fleet.clocks.offset(a.nodes, first) + zone),
                "last_time": _times(last + fleet.clocks.offset(a.nodes, last) + zone),
            }
        )
    return pa.concat_tables([pa.table(m) for m in made])


def _attempts(fleet: Fleet) -> pa.Table:
    """The scheduler's words, in true time."""
    listed = fleet.attempts if fleet.mix.schedule else []
    return pa.table(
        {
            "source_cluster": _same(fleet.mix.cluster, len(listed)),
            "job_id": pa.array([f"job-{a.job}" for a in listed], pa.string()),
            "attempt": pa.array([a.hint for a in listed], pa.int32()),
            "nodes": pa.array([names(a.nodes).to_pylist() for a in listed], pa.list_(pa.string())),
            "start": _times(np.floor([a.start for a in listed])),
            "end": _times(np.floor([a.end for a in listed])),
            "scope_source": _same("scheduler", len(listed)),
        }
    )


def names(node: Ints) -> pa.Array:
    """Names of the nodes."""
    number = pc.utf8_lpad(pc.cast(pa.array(node), pa.string()), 4, "0")
    return pc.binary_join_element_wise(_same("gpu", len(node)), number, "-")


def _same(word: str, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(word, pa.string()), n)


def _times(seconds: Floats) -> pa.Array:
    return pa.array(np.round(np.asarray(seconds, np.float64) * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC"))
