"""What one GPU of an `nvidia-smi -q` dump says, as the samples that a query of its columns would give."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.nvidia_smi import ERROR_CELL, PREFIX, cell_value, is_error
from firstfault.transforms.formats.pci import normalise_pci_text
from firstfault.transforms.formats.rows import NO_VALUE, Line, Rows, file_moment
from firstfault.transforms.formats.times import parse_layout
from firstfault.transforms.staged import LANDED_SAMPLE

_LABELS = {
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "serial": "serial",
    "serial_number": "serial",
    "product_name": "name",
    "minor_number": "minor_number",
    "performance_state": "pstate",
    "mig_mode.current_mig": "mig.mode.current",
    "mig_mode.current": "mig.mode.current",
}
_CTIME = "%a %b %d %H:%M:%S %Y"
_ECC = [f"ecc.errors.{kind}.{span}" for kind in ("corrected", "uncorrected") for span in ("volatile", "aggregate")]
_POWER, _AVERAGE = f"{PREFIX}power.draw", f"{PREFIX}power.draw.average"
_PARTS = ("dram", "sram", "sram.parity", "sram.secded")


@dataclass
class Gpu:
    """One GPU of a dump.

    Attributes:
        address: PCI address as printed.
        cells: Text of each leaf by dotted path.
        places: Offset and length of each leaf, by the same path.
    """

    address: str
    cells: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def say(self, path: str, text: str, place: tuple[int, int]) -> None:
        """Notes a leaf; the first of a path counts."""
        if path not in self.cells:
            self.cells[path], self.places[path] = text, place


@cache
def metric_names() -> Mapping[str, str]:
    """Column name by dotted path of a dump."""
    names = yaml.safe_load(Path(__file__).with_name("nvidia_names.yaml").read_text(encoding="utf-8"))
    return {path: column for column, paths in names.items() for path in paths}


def dump_moment(stamp: str | None, ctx: StreamContext) -> dict[str, Any]:
    """Time columns of a document: `Sun Nov 29 13:30:00 2026`, local, else the file's time."""
    found = parse_layout(stamp, _CTIME, ctx.zone) if stamp else None
    return {"event_time": found[0], "time_basis": found[1]} if found else file_moment(ctx)


def land_gpu(rows: Rows, at: tuple[Line, int], gpu: Gpu, about: Mapping[str, Any]) -> None:
    """Lands a GPU's samples; each error text once, where it stands first.

    Args:
        rows: Where to.
        at: The GPU's bytes, and the lines of the books it takes.
        gpu: What it says.
        about: Node, time and labels of the document.
    """
    line, units = at
    columns = {path: column for path in gpu.cells if (column := metric_names().get(_spelled(path)))}
    values = {f"{PREFIX}{c}": v for path, c in columns.items() if (v := cell_value(gpu.cells[path])) is not None}
    values |= _totals(values)
    errors = {text: path for path, text in reversed(gpu.cells.items()) if is_error(text)}
    labels = {name: gpu.cells[path] for path, name in _LABELS.items() if gpu.cells.get(path, "N/A") != "N/A"}
    common = dict(about) | {"device": normalise_pci_text(gpu.address)}
    labels = about.get("labels", {}) | labels
    if values:
        rows.samples(line, values, units, **common | {"labels": labels})
    elif not errors:
        rows.drop(line, NO_VALUE, units)
    for order, (text, path) in enumerate(reversed(errors.items())):
        offset, length = gpu.places[path]
        told = labels | {"column": columns.get(path, path), "text": text}
        taken = 0 if order or values else units
        place = Line(offset, length, line.number, text)
        rows.add(LANDED_SAMPLE, place, taken, metric=ERROR_CELL, value=1.0, **common | {"labels": told})


def _spelled(path: str) -> str:
    """Newer drivers say event where older ones said throttle."""
    return path.replace("clocks_throttle_reason", "clocks_event_reason")


def _totals(values: Mapping[str, float]) -> dict[str, float]:
    """Sums of ECC counts and the power drawn, which newer dumps leave out and queries give."""
    totals = {}
    for kind in _ECC:
        total = f"{PREFIX}{kind}.total"
        known = [values[name] for part in _PARTS if (name := f"{PREFIX}{kind}.{part}") in values]
        if known and total not in values:
            totals[total] = sum(known)
    if _AVERAGE in values:  # a query's power.draw is the average since Ampere, and newer dumps name that alone
        totals[_POWER] = values.get(_POWER, values[_AVERAGE])
    return totals
