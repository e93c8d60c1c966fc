"""Faults of the workload itself: exceptions, GPU memory, mismatched collectives, broken data."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, peers_closed, raises, watchdog
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

USER_ERRORS = (
    ("KeyError: 'position_ids'", "collate"),
    (
        (
            "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4097) at "
            "non-singleton dimension 1"
        ),
        "forward",
    ),
    ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2048x5120 and 4096x4096)", "forward"),
    ("AssertionError: vocabulary size 50304 is smaller than token id 50310", "embed"),
)


@mechanism("user_exception")
def user_exception(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One rank raises; the others lose it."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    error, frame = rng.choice(USER_ERRORS)
    deaths = raises(scene, onset, rank, error, role="origin", frame=frame)
    deaths |= peers_closed(scene, rank, deaths[rank.rank][0])
    end = tear_down(scene, deaths)
    return scene.close(
        "user_exception",
        "user_code",
        "rank",
        [f"rank-{rank.rank}"],
        t0=onset,
        end=end,
        affected=attempt.nodes,
    )


@mechanism("cuda_oom")
def cuda_oom(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One rank asks for more GPU memory than there is."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    old = attempt.style.torch == "2.1"
    kind = "torch.cuda.OutOfMemoryError" if old else "torch.OutOfMemoryError"
    want, free = rng.randrange(2, 9), rng.uniform(0.1, 1.9)
    error = (
        f"{kind}: CUDA out of memory. Tried to allocate {want}.{rng.randrange(10, 99)} GiB. GPU "
        f"{rank.local} has a "
        f"total {'capacty' if old else 'capacity'} of 79.15 GiB of which {free:.2f} GiB is free. "
        "Including non-PyTorch "
        "memory, this process has 77.41 GiB memory in use. Of the allocated memory 70.12 GiB is "
        "allocated by PyTorch, "
        "and 4.87 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
        "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    )
    deaths = raises(scene, onset, rank, error, role="origin", frame="forward")
    deaths |= peers_closed(scene, rank, deaths[rank.rank][0])
    end = tear_down(scene, deaths)
    return scene.close(
        "cuda_oom", "user_code", "rank", [f"rank-{rank.rank}"], t0=onset, end=end, affected=attempt.nodes
    )


@mechanism("collective_mismatch")
def collective_mismatch(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One rank skips a collective: all time out, and their sequence numbers differ."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    seq = attempt.seq_at(onset)
    deaths: Deaths = watchdog(scene, scene.others(rank), onset, seq=seq + 2, numel=25165824)
    deaths |= watchdog(scene, [rank], onset, op="BROADCAST", numel=1, seq=seq)
    end = tear_down(scene, deaths)
    return scene.close(
        "collective_mismatch",
        "user_code",
        "rank",
        [f"rank-{rank.rank}"],
        t0=onset,
        end=end,
        outcome="hung",
        affected=attempt.nodes,
    )


@mechanism("dataloader_error")
def dataloader_error(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A shard of the data set is missing or damaged: the loaders of several ranks fail."""
    scene = Scene(rng, topology, attempt)
    shard = f"/data/tokens/shard-{rng.randrange(2048):05d}.bin"
    missing = rng.random() < 0.5
    name = "FileNotFoundError" if missing else "ValueError"
    last = (
        f"FileNotFoundError: [Errno 2] No such file or directory: '{shard}'"
        if missing
        else (f"ValueError: cannot reshape buffer of size 8190 into shape (4096,) while decoding {shard}")
    )
    deaths: Deaths = {}
    for rank in rng.sample(attempt.ranks, max(2, len(attempt.ranks) // 4)):
        error = (
            f"{name}: Caught {name} in DataLoader worker process {rng.randrange(4)}.\n"
            "Original Traceback (most recent call last):\n"
            '  File "/opt/app/data.py", line 131, in __getitem__\n    return self.read(index)\n'
            f"{last}"
        )
        t = scene.later(onset, 0.0, 1.2)
        deaths |= raises(scene, t, rank, error, role="origin", frame="_next_data")
    end = tear_down(scene, deaths)
    return scene.close("dataloader_error", "data_pipeline", "job", [], t0=onset, end=end, affected=attempt.nodes)
