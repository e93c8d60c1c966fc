"""Faults of the training code: NaN, settings, checkpoints of another model, a crash, a rank that stands still."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, peers_closed, raises, watchdog
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Rank, Topology, after
from firstfault.jobs.fleet.scene import COMM, Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

SEGV = -11
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong setting as it ends a process: final line, exit code, and whether a traceback leads to it."""

    error: str
    code: int = 1
    traced: bool = True


SETTINGS = (
    Wrong("ModuleNotFoundError: No module named 'flash_attn'"),
    Wrong("KeyError: 'tensor_model_parallel_size'"),
    Wrong("ValueError: hidden size 5120 is not divisible by the number of attention heads 48"),
    Wrong(
        "usage: train.py [-h] [--config CONFIG] [--lr LR]\ntrain.py: error: unrecognized arguments: --lr-warmup 2000",
        code=2,
        traced=False,
    ),
)
NOT_FINITE = (
    "FloatingPointError: loss is nan at step {step}, stopping",
    "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped.",
    "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
)


def _nan_steps(scene: Scene, onset: datetime) -> datetime:
    """A few steps whose loss is not a number, from all that print; returns when the last is over."""
    attempt = scene.attempt
    speakers = attempt.ranks if attempt.style.steps == "step" else attempt.ranks[-1:]
    t, step = onset, attempt.step_at(onset)
    for number in range(scene.rng.randrange(2, 6)):
        t = after(onset, number * attempt.step_s)
        said: Attrs = {"step": step + number, "ms": attempt.step_s * 1e3, "loss": NAN, "norm": NAN, "total": 500000}
        for rank in speakers:
            scene.app(scene.later(t, 0.0, 0.02), "app.step", "origin", rank, **said)
    return after(t, 0.2)


@mechanism("nan_loss")
def nan_loss(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The loss becomes NaN: all ranks print it and stop, or a check names the rank where it was first seen."""
    scene = Scene(rng, topology, attempt)
    step = attempt.step_at(onset)
    if attempt.style.steps == "megatron":
        rank = scene.pick_rank()
        text = (
            f"Rank {rank.rank}, node {rank.node}, device {rank.local}, iteration {step}: Unexpected result nan "
            "(message='found NaN in local forward loss calculation')"
        )
        deaths = raises(scene, onset, rank, f"RuntimeError: {text}", role="origin", frame="validate_result")
        deaths |= peers_closed(scene, rank, deaths[rank.rank][0])
        end = tear_down(scene, deaths)
        origin = [f"rank-{rank.rank}"]
        return scene.close("nan_loss", "user_code", "rank", origin, t0=onset, end=end, affected=attempt.nodes)
    stop = _nan_steps(scene, onset)
    error = rng.choice(NOT_FINITE).format(step=step)
    deaths = {}
    for rank in attempt.ranks:
        deaths |= raises(scene, scene.later(stop, 0.0, 0.4), rank, error, role="cascade", frame="clip_and_step")
    end = tear_down(scene, deaths)
    return scene.close("nan_loss", "user_code", "job", [], t0=onset, end=end, affected=attempt.nodes)


@mechanism("config_error", phase="init")
def config_error(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A setting or a module is wrong: all ranks end seconds after the start."""
    scene = Scene(rng, topology, attempt)
    wrong = rng.choice(SETTINGS)
    deaths: Deaths = {}
    for rank in attempt.ranks:
        t = scene.later(onset, 0.0, 1.5)
        if wrong.traced:
            deaths |= raises(
                scene, t, rank, wrong.error, role="origin", frame="build_model", code=wrong.code, early=True
            )
        else:
            scene.app(t, "raw.text", "origin", rank, text=wrong.error)
            deaths[rank.rank] = (after(t, 0.2), wrong.code)
    end = tear_down(scene, deaths)
    return scene.close("config_error", "user_code", "job", [], t0=onset, end=end, affected=attempt.nodes)


@mechanism("checkpoint_shape", phase="init")
def checkpoint_shape(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The checkpoint belongs to a model of another shape: all ranks fail to load it."""
    scene = Scene(rng, topology, attempt)
    old, new = rng.choice(((50257, 50304), (32000, 32064), (4096, 5120)))
    error = (
        "RuntimeError: Error(s) in loading state_dict for Transformer:\n"
        f"\tsize mismatch for embed.weight: copying a param with shape torch.Size([{old}, 4096]) from checkpoint, "
        f"the shape in current model is torch.Size([{new}, 4096])."
    )
    deaths: Deaths = {}
    for rank in attempt.ranks:
        deaths |= raises(scene, scene.later(onset, 0.0, 2.0), rank, error, role="origin", frame="load_checkpoint")
    end = tear_down(scene, deaths)
    return scene.close("checkpoint_shape", "user_code", "job", [], t0=onset, end=end, affected=attempt.nodes)


@mechanism("rank_segfault")
def rank_segfault(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A native extension crashes one rank; peers lose it."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    ip, sp = 0x7F3A5B0C0000 + rng.getrandbits(16), 0x7FFD00000000 + rng.getrandbits(28)
    said: Attrs = {
        "at": f"{rng.getrandbits(12):x}",
        "ip": f"{ip:016x}",
        "sp": f"{sp:016x}",
        "comm": COMM,
        "pid": rank.pid,
    }
    scene.host(onset, "kern.segfault", "origin", rank.node, **said)
    if rng.random() < 0.5:
        text = (
            "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f3a5c1fe740 (most recent call first):\n"
            '  File "/opt/app/ops/fused.py", line 88 in forward\n  File "/opt/app/train.py", line 288 in main'
        )
        scene.app(after(onset, 0.01), "raw.text", "cascade", rank, text=text)
    deaths: Deaths = {rank.rank: (after(onset, 0.1), SEGV)}
    deaths |= peers_closed(scene, rank, after(onset, 0.12))
    end = tear_down(scene, deaths)
    origin = [f"rank-{rank.rank}"]
    return scene.close(
        "rank_segfault",
        "user_code",
        "rank",
        origin,
        t0=onset,
        end=end,
        affected=attempt.nodes,
        acceptable=("driver_software",),
    )


def _recorders(scene: Scene, onset: datetime, stuck: Rank, at: datetime) -> None:
    """All ranks dump what they know when the first watchdog fires; the stuck one has enqueued less."""
    seq = scene.attempt.seq_at(onset)
    ahead = {line.rank: line.attrs["enqueued"] for line in scene.lines if line.kind == "torch.timeout"}
    for rank in scene.attempt.ranks:
        said: Attrs = {"enqueued": ahead.get(rank.rank, seq - 1), "completed": seq - 1, "began": onset.isoformat()}
        scene.app(scene.later(at, 0.1, 0.9), "fr.dump", "cascade", rank, **said)
    text = (
        f"[PG ID 0 PG GUID 0(default_pg) Rank {stuck.rank}] Received a dump signal due to a collective timeout from  "
        f"rank {0 if stuck.rank else 1} and we will try our best to dump the debug info. Last enqueued NCCL work: "
        f"{seq - 1}, last completed NCCL work: {seq - 1}.This is most likely caused by incorrect usages of "
        "collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or "
        "the scheduled collective, for some reason, didn't run."
    )
    source = "ProcessGroupNCCL.cpp:1743"
    scene.app(after(at, 0.3), "c10d.line", "cascade", stuck, level="E", source=source, ranked=1, text=text)


@mechanism("silent_rank", min_nodes=2)
def silent_rank(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One rank stands still in Python and says nothing; only the recorders show that it never joined."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    deaths = watchdog(scene, scene.others(rank), after(onset, 0.05), seq=attempt.seq_at(onset))
    if attempt.style.torch != "2.1":
        _recorders(scene, onset, rank, min(t for t, _ in deaths.values()))
    end = tear_down(scene, deaths)
    return scene.close(
        "silent_rank",
        "user_code",
        "rank",
        [f"rank-{rank.rank}"],
        t0=onset,
        end=end,
        outcome="hung",
        affected=attempt.nodes,
        acceptable=("unknown", "data_pipeline"),
    )
