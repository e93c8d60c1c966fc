"""Data that is broken, missing, slow or unevenly spread."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, peers_closed, raises, watchdog
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

BROKEN = (
    ("zlib.error", "zlib.error: Error -3 while decompressing data: incorrect data check"),
    ("ReadError", "tarfile.ReadError: unexpected end of data while reading {path}.tar"),
    ("UnidentifiedImageError", "PIL.UnidentifiedImageError: cannot identify image file '{path}.jpg'"),
    (
        "ArrowInvalid",
        (
            "pyarrow.lib.ArrowInvalid: Could not open Parquet input source '{path}.parquet': Parquet magic bytes not "
            "found in footer. Either the file is corrupted or this is not a parquet file."
        ),
    ),
)


def _in_worker(rng: Random, kind: str, error: str) -> str:
    return (
        f"{kind}: Caught {kind} in DataLoader worker process {rng.randrange(4)}.\n"
        "Original Traceback (most recent call last):\n"
        '  File "/opt/app/data.py", line 131, in __getitem__\n    return self.decode(self.read(index))\n'
        f"{error}"
    )


@mechanism("corrupt_input")
def corrupt_input(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A file of the data set cannot be decoded: the rank that drew it fails, peers lose it."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    kind, error = rng.choice(BROKEN)
    text = error.format(path=f"/data/raw/part-{rng.randrange(9999):05d}")
    deaths = raises(scene, onset, rank, _in_worker(rng, kind, text), role="origin", frame="_next_data")
    deaths |= peers_closed(scene, rank, deaths[rank.rank][0])
    end = tear_down(scene, deaths)
    return scene.close("corrupt_input", "data_pipeline", "job", [], t0=onset, end=end, affected=attempt.nodes)


@mechanism("missing_data", phase="init")
def missing_data(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The data set's index is not where the job expects it: all ranks fail at start."""
    scene = Scene(rng, topology, attempt)
    path = f"/data/tokens-v{rng.randrange(2, 9)}/{rng.choice(('index.json', 'train.idx', 'manifest.parquet'))}"
    error = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    deaths: Deaths = {}
    for rank in attempt.ranks:
        deaths |= raises(scene, scene.later(onset, 0.0, 2.0), rank, error, role="origin", frame="build_dataset")
    end = tear_down(scene, deaths)
    return scene.close("missing_data", "data_pipeline", "job", [], t0=onset, end=end, affected=attempt.nodes)


@mechanism("loader_timeout")
def loader_timeout(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The loaders of one rank are too slow for their own time limit; it raises, peers lose it."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    limit = rng.choice((30, 60, 120))
    for number in range(rng.randrange(1, 4)):
        waited = f"batch took {rng.uniform(4, 20):.1f} s to load"
        scene.app(after(onset, 6.0 * number), "note.line", "origin", rank, level="WARNING", text=waited)
    error = f"RuntimeError: DataLoader timed out after {limit} seconds"
    deaths = raises(scene, after(onset, 20.0 + limit), rank, error, role="cascade", frame="_next_data")
    deaths |= peers_closed(scene, rank, deaths[rank.rank][0])
    end = tear_down(scene, deaths)
    origin = [f"rank-{rank.rank}"]
    return scene.close("loader_timeout", "data_pipeline", "rank", origin, t0=onset, end=end, affected=attempt.nodes)


@mechanism("uneven_batches")
def uneven_batches(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One rank has fewer batches and ends its epoch: it waits at a barrier, the others in a gradient."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    step, seq = attempt.step_at(onset), attempt.seq_at(onset)
    said = f"rank {rank.rank}: epoch 0 finished after {step} of {step + rng.randrange(1, 9)} batches"
    scene.app(onset, "note.line", "origin", rank, level="INFO", text=said)
    deaths = watchdog(scene, scene.others(rank), after(onset, 0.05), seq=seq)
    deaths |= watchdog(scene, [rank], after(onset, 0.1), seq=seq, op=rng.choice(("ALLREDUCE", "BARRIER")), numel=1)
    end = tear_down(scene, deaths)
    return scene.close(
        "uneven_batches",
        "data_pipeline",
        "rank",
        [f"rank-{rank.rank}"],
        t0=onset,
        end=end,
        outcome="hung",
        affected=attempt.nodes,
        acceptable=("user_code",),
    )
