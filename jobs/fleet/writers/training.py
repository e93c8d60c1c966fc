"""What a training process prints: steps, NCCL, PyTorch's watchdog, tracebacks."""

from collections.abc import Callable
from datetime import datetime

from firstfault.jobs.fleet.cascade import NCCL_VERSIONS
from firstfault.jobs.fleet.model import Attempt, Node, Occurrence, Rank
from firstfault.jobs.fleet.writers import said as free
from firstfault.jobs.fleet.writers import trainers
from firstfault.jobs.fleet.writers.said import monotonic_fraction
from firstfault.jobs.fleet.writers.stamps import asctime

TIMEOUT = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, "
    "NumelIn={numel}, "
    "NumelOut={numel}, Timeout(ms)={timeout_ms}) ran for {ran_ms} milliseconds before timing out."
)
STATUS = {
    "2.1": (
        "[Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
        "kernels, subsequent GPU operations might run on corrupted/incomplete data."
    ),
    "2.4": (
        "[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception (either an error or timeout) detected by "
        "watchdog at work: {seq}, last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
    ),
    "2.7": (
        "[PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: "
        "{seq} PG status: last enqueued work: {enqueued}, last completed work: {completed}"
    ),
}
ABORT = "[Rank {rank}] To avoid data inconsistency, we are taking the entire process down."
SOURCE_LINES = {"2.1": (475, 489, 495), "2.4": (607, 1664, 620), "2.7": (632, 2268, 698)}


def text(attempt: Attempt, rank: Rank, node: Node, line: Occurrence, written: datetime) -> str:
    """The record a rank prints for an occurrence.

    Args:
        attempt: Whose log it is.
        rank: Who prints it.
        node: Where it runs; its uptime shows in the fraction of PyTorch's stamps.
        line: What happens.
        written: What the node's clock says.

    Returns:
        One or more physical lines.
    """
    family = line.kind.split(".")[0]
    return _FAMILIES[family](attempt, rank, node, line, written)


def _app(attempt: Attempt, rank: Rank, _node: Node, line: Occurrence, written: datetime) -> str:
    said = {**line.attrs, "rank": rank.rank}
    if attempt.style.steps == "megatron" and line.kind in _MEGATRON:
        return f"{_MEGATRON[line.kind].format_map({**said, 'now': written})}"
    if (told := trainers.record(attempt.style.steps, line.kind, said, written)) is not None:
        return told
    return f"{asctime(written)} {_PLAIN[line.kind].format_map(said)}"


_PLAIN = {
    "app.start": "INFO starting train.py rank {rank} of {world}",
    "app.step": "INFO step {step} loss {loss:.4f} grad_norm {norm:.3f} step_time {ms:.0f} ms",
    "app.ckpt_begin": "INFO saving checkpoint at step {step} to {path}",
    "app.ckpt_end": "INFO saved checkpoint at step {step} in {took} s",
    "app.done": "INFO training finished after {step} steps",
}
_MEGATRON = {
    "app.step": (
        " [{now:%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/{total:8d} | elapsed time per iteration (ms): "
        "{ms:.1f} | "
        "learning rate: 1.500000E-04 | global batch size:  1024 | lm loss: {loss:.6E} | loss scale: 1.0 | "
        "grad norm: {norm:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"
    ),
    "app.ckpt_begin": "  [{now:%Y-%m-%d %H:%M:%S.%f}] saving checkpoint at iteration {step:7d} to {path} "
    "in torch_dist format",
    "app.ckpt_end": (
        "  [{now:%Y-%m-%d %H:%M:%S.%f}] successfully saved checkpoint from iteration {step:7d} to {path} "
        "[ t 1/8, p 1/4 ]"
    ),
    "app.done": "[after training is done] datetime: {now:%Y-%m-%d %H:%M:%S} ",
}


def _nccl(attempt: Attempt, rank: Rank, node: Node, line: Occurrence, written: datetime) -> str:
    version, said = attempt.style.nccl, line.attrs
    if line.kind == "nccl.version":
        return f"NCCL version {NCCL_VERSIONS[version]}+cuda12.2"
    head = f"{node.name}:{rank.pid}:{rank.pid + 211} [{rank.local}]"
    if line.kind == "nccl.init":
        call = "" if version == "2.18" else "ncclCommInitRankConfig "
        return (
            f"{head} NCCL INFO {call}comm {said['comm']} rank {rank.rank} nranks {said['nranks']} cudaDev "
            f"{rank.local} nvmlDev {rank.local} busId {said['bus']} commId {said['comm_id']} - Init COMPLETE"
        )
    if line.kind == "nccl.info":
        return f"{head} NCCL INFO {said['msg']}"
    stamp = "" if version == "2.18" else f"[{written:%Y-%m-%d %H:%M:%S}] "
    return f"\n{stamp}{head} {said['src']} NCCL WARN {said['msg']}"


def _torch(attempt: Attempt, rank: Rank, node: Node, line: Occurrence, written: datetime) -> str:
    version = attempt.style.torch
    which = ("torch.timeout", "torch.status", "torch.abort").index(line.kind)
    said = (TIMEOUT, STATUS[version], ABORT)[which].format_map({**line.attrs, "rank": rank.rank})
    source = f"ProcessGroupNCCL.cpp:{SOURCE_LINES[version][which]}"
    if version == "2.1":
        return f"[E {source}] {said}"
    stamp = f"{written.month}{written.day:02d} {written:%H:%M:%S}.{monotonic_fraction(node, line.t):09d}"
    return f"[rank{rank.rank}]:[E{stamp} {source}] {said}"


def _traceback(attempt: Attempt, rank: Rank, _node: Node, line: Occurrence, _written: datetime) -> str:
    frame, error = str(line.attrs["frame"]), str(line.attrs["error"])
    record = (
        "Traceback (most recent call last):\n"
        '  File "/opt/app/train.py", line 412, in <module>\n    main()\n'
        f'  File "/opt/app/train.py", line 288, in main\n    {frame}(batch)\n'
        f"{error}"
    )
    if attempt.style.torch == "2.1" or line.attrs.get("early"):
        return record
    return "\n".join(f"[rank{rank.rank}]: {part}" for part in record.split("\n"))


_Family = Callable[[Attempt, Rank, Node, Occurrence, datetime], str]
_FAMILIES: dict[str, _Family] = {
    "app": _app,
    "nccl": _nccl,
    "torch": _torch,
    "py": _traceback,
    "note": free.note,
    "raw": free.raw,
    "java": free.java,
    "c10d": free.c10d,
}
