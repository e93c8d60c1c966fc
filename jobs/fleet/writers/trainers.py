"""What other training loops print: the Transformers trainer, without time or step, and DeepSpeed."""

from collections.abc import Mapping
from datetime import datetime

from firstfault.jobs.fleet.model import Scalar
from firstfault.jobs.fleet.writers.stamps import asctime

STEPS_PER_EPOCH = 2000
TRANSFORMERS = {
    "app.step": ("{{'loss': {loss:.4f}, 'grad_norm': {norm:.4f}, 'learning_rate': 4e-05, 'epoch': {epoch:.2f}}}"),
    "app.ckpt_begin": "[INFO|trainer.py:3503] {now} >> Saving model checkpoint to {path}/checkpoint-{step}",
    "app.ckpt_end": (
        "[INFO|modeling_utils.py:2762] {now} >> Model weights saved in {path}/checkpoint-{step}/model.safetensors"
    ),
    "app.done": "Training completed. Do not forget to share your model on huggingface.co/models =)",
}
DEEPSPEED = {
    "app.step": (
        "[{now}] [INFO] [logging.py:107:log_dist] [Rank {rank}] step={step}, skipped=0, lr=[0.00015], "
        "mom=[(0.9, 0.95)]\n"
        "[{now}] [INFO] [timer.py:264:stop] epoch=0/micro_step={micro}/global_step={step}, "
        "RunningAvgSamplesPerSec={rate:.2f}, CurrSamplesPerSec={rate:.2f}, MemAllocated=41.2GB, MaxMemAllocated=63.8GB"
    ),
    "app.ckpt_begin": (
        "[{now}] [INFO] [logging.py:107:log_dist] [Rank {rank}] [Torch] Checkpoint global_step{step} is about to be "
        "saved!"
    ),
    "app.ckpt_end": (
        "[{now}] [INFO] [torch_checkpoint_engine.py:23:save] [Torch] Saved {path}/global_step{step}/"
        "mp_rank_00_model_states.pt."
    ),
}
LOOPS: Mapping[str, Mapping[str, str]] = {"transformers": TRANSFORMERS, "deepspeed": DEEPSPEED}


def record(loop: str, kind: str, said: Mapping[str, Scalar], written: datetime) -> str | None:
    """The record of a training loop.

    Args:
        loop: transformers or deepspeed.
        kind: Kind of line.
        said: What the line says.
        written: What the node's clock says.

    Returns:
        The text; None where the loop prints what any script does.
    """
    template = LOOPS.get(loop, {}).get(kind)
    if template is None:
        return None
    step, step_ms = int(said.get("step") or 0), float(said.get("ms") or 1000.0)
    derived = {"epoch": step / STEPS_PER_EPOCH, "micro": step * 4, "rate": 256e3 / step_ms, "now": asctime(written)}
    return template.format_map({**said, **derived})
