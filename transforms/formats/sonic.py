"""SONiC's tables of a switch: `show interfaces counters [errors|fec-stats]`, a row an interface.

The switch is the folder's name. Counts are since the last clear; `U`, `D` and `X` are up, down and disabled.
"""

import re

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.counters import counter_value
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.rows import (
    BANNER,
    BLANK,
    FIELD_COUNT,
    HEADER,
    NO_HEADER,
    Line,
    Rows,
    each_line,
    file_moment,
)

_HEADER = re.compile(r"\s*IFACE\s")
_CACHED = re.compile(r"Last cached time was ")
_RULE = re.compile(r"[\s-]+$")
_GAP = re.compile(r"\s{2,}")
_STATES = {"U": 1.0, "D": 0.0}
_CONTEXT, _NAME = "structure.context", "IFACE"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples `switch.<column>`; `switch.oper_up` is the state of an enabled interface."""
    rows, names = Rows(), list[str]()
    switch = short_host(ctx.node)
    for line in each_line(data, ctx):
        text = line.text.strip()
        if not text:
            rows.drop(line, BLANK)
        elif _HEADER.match(line.text):
            names = text.split()
            rows.drop(line, HEADER)
        elif _RULE.match(line.text):
            rows.drop(line, BANNER)
        elif _CACHED.match(text):
            rows.drop(line, _CONTEXT)
        elif not names:
            rows.quarantine(line, NO_HEADER)
        else:
            _row(rows, line, names, switch, ctx)
    return rows.table()


def _row(rows: Rows, line: Line, names: list[str], switch: str | None, ctx: StreamContext) -> None:
    """Counters of one interface; `1,000` is a thousand, `N/A` no value."""
    words = _GAP.split(line.text.strip())
    if len(words) != len(names):
        rows.quarantine(line, FIELD_COUNT)
        return
    cells = dict(zip(names, words, strict=True))
    name, state = cells.pop(_NAME).lower(), _STATES.get(cells.get("STATE", ""))
    values = {f"switch.{column}": v for column, cell in cells.items() if (v := counter_value(cell)) is not None}
    values |= {} if state is None else {"switch.oper_up": state}
    port = f"{switch}:{name}" if switch else None
    rows.samples(line, values, port=port, labels={"interface": name}, **file_moment(ctx))
