"""`firstfault show` in a terminal: the verdict first, then the chain, who only suffered, and what was not seen."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from firstfault.jobs.answer import Answer, Source, Step

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
_PART_STYLE = {"origin": "bold red", "support": "yellow", "cascade": "cyan", "earlier": "dim", "end": "dim"}
SURE, DOUBTFUL = 0.8, 0.5
MAX_LISTED = 12


def render(answer: Answer, console: Console) -> None:
    """Prints the answer."""
    console.print(_verdict(answer))
    if answer.evidence:
        console.print(_timeline(answer))
    for part in (_cascade(answer), _alternatives(answer), _coverage(answer)):
        if part is not None:
            console.print(part)


def safe(text: object) -> Text:
    """Text of a log as plain text: no control or direction characters, no markup."""
    return Text(_CONTROLS.sub(" ", str(text)))


def _verdict(answer: Answer) -> Panel:
    style = "green" if answer.confidence >= SURE else "yellow" if answer.confidence >= DOUBTFUL else "magenta"
    head = Text.assemble((answer.category, f"bold {style}"), "  ", safe(_origin(answer)))
    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(answer):
        facts.add_row(Text(name, style="dim"), safe(value))
    body: list[RenderableType] = [head, Text(""), safe(answer.conclusion)]
    if answer.action:
        body += [Text.assemble(("Do: ", "bold"), safe(answer.action))]
    for other in answer.also:
        where = ", ".join(other.origin) or "the job"
        body.append(Text.assemble(("Also: ", "bold"), safe(f"{other.category} at {where} ({other.confidence:.2f})")))
    title = f"job {answer.job_id} attempt {answer.attempt} on {answer.cluster}"
    return Panel(Group(*body, Text(""), facts), title=safe(title), border_style=style, expand=True)


def _origin(answer: Answer) -> str:
    if not answer.origin:
        return f"({answer.origin_scope})" if answer.origin_scope else "(not located)"
    shown = ", ".join(answer.origin[:MAX_LISTED])
    more = len(answer.origin) - MAX_LISTED
    return f"{answer.origin_scope} {shown}" + (f" and {more} more" if more > 0 else "")


def _facts(answer: Answer) -> Iterable[tuple[str, object]]:
    yield "outcome", answer.outcome
    yield "confidence", f"{answer.confidence:.2f}" + ("" if answer.order_certain else ", order undecidable")
    scheduler = answer.scheduler_state or "no record"
    agrees = {True: "agrees", False: "does not agree", None: "no word on it"}[answer.agrees_with_scheduler]
    yield "scheduler", f"{scheduler} ({agrees})"
    if answer.scheduler_note and answer.agrees_with_scheduler is not True:
        yield "", answer.scheduler_note
    yield "T0", _clock(answer.t0)
    inferred = ", inferred from its own logs: no scheduler record" if answer.scope_source == "inferred" else ""
    yield "window", f"{_clock(answer.start)} to {_clock(answer.end)}, {len(answer.nodes)} nodes{inferred}"
    if answer.gpu_hours_lost:
        yield "GPU hours lost", f"{answer.gpu_hours_lost:.1f}"
    if answer.missing:
        yield "missing", ", ".join(answer.missing)
    if answer.poor_inputs:
        yield "poor sources", "; ".join(answer.poor_inputs)
    yield from _labels(answer)
    version = f" v{answer.rule_version}" if answer.rule_version else ""
    catalogues = f", catalogues {answer.catalogue_version}" if answer.catalogue_version else ""
    yield "rule", f"{answer.rule_id or '-'}{version} of rule set {answer.ruleset_version}{catalogues}, {answer.state}"


def _labels(answer: Answer) -> Iterable[tuple[str, object]]:
    """What operators found: the category they agree on, or each with what it says."""
    if not answer.label_conflict:
        if answer.label_category:
            origin = f" at {', '.join(answer.label_origin[:MAX_LISTED])}" if answer.label_origin else ""
            yield "operator", f"{answer.label_category}{origin}"
        return
    yield "operators", "differ: `firstfault label JOB --show` has the history"
    for said in answer.labels[:MAX_LISTED]:
        origin = f" at {', '.join(said.origin[:MAX_LISTED])}" if said.origin else ""
        yield "", f"{said.who or said.source}: {said.category}{origin} ({_clock(said.labelled_at)})"


def _timeline(answer: Answer) -> Table:
    table = Table(title="Timeline, corrected time", title_justify="left", expand=True, show_edge=False)
    table.add_column("when", justify="right", no_wrap=True)
    table.add_column("part", no_wrap=True)
    table.add_column("where", no_wrap=True, max_width=28)
    table.add_column("event", no_wrap=True)
    table.add_column("line", ratio=1, overflow="ellipsis", no_wrap=True)
    for step in answer.evidence:
        count = f" x{step.count}" if step.count > 1 else ""
        style = _PART_STYLE.get(step.part, "")
        table.add_row(
            Text(_offset(step)), Text(step.part, style=style), safe(_where(step)), Text(step.event_type + count),
            safe(step.text or ""),
        )  # fmt: skip
    return table


def _offset(step: Step) -> str:
    if step.offset_s is None:
        return "?"
    sign = "" if step.order_certain else "~"
    if abs(step.offset_s) < 0.0005:
        return f"{sign}T0"
    return f"{sign}T0{step.offset_s:+.1f}s" if abs(step.offset_s) < 600 else f"{sign}T0{step.offset_s / 60:+.1f}min"


def _where(step: Step) -> str:
    place = step.node or "-"
    if step.device:
        place = f"{place}/{step.device}"
    return f"{place} rank {step.rank}" if step.rank is not None else place


def _cascade(answer: Answer) -> Text | None:
    if not answer.affected_nodes:
        return None
    listed = ", ".join(answer.affected_nodes[:MAX_LISTED])
    more = len(answer.affected_nodes) - MAX_LISTED
    tail = f" and {more} more" if more > 0 else ""
    return Text.assemble(("Only suffered: ", "bold"), safe(listed), tail)


def _alternatives(answer: Answer) -> Table | None:
    if not answer.alternatives:
        return None
    table = Table(title="Alternatives", title_justify="left", show_edge=False)
    for name in ("category", "origin", "confidence", "why it lost", "rule"):
        table.add_column(name)
    for other in answer.alternatives:
        where = ", ".join(other.origin[:3]) or "-"
        table.add_row(other.category, safe(where), f"{other.confidence:.2f}", other.why_lost, other.rule_id)
    return table


def _coverage(answer: Answer) -> Table | None:
    if not answer.coverage:
        return None
    table = Table(title="Coverage", title_justify="left", show_edge=False)
    for name in ("source", "nodes", "lines", "lost", "from", "to", "to the end", "clocks"):
        table.add_column(name)
    for kind in sorted({s.kind for s in answer.coverage}):
        rows = [s for s in answer.coverage if s.kind == kind]
        table.add_row(*_coverage_row(kind, rows))
    return table


def _coverage_row(kind: str, rows: list[Source]) -> list[str]:
    firsts = [s.first for s in rows if s.first]
    lasts = [s.last for s in rows if s.last]
    whole = sum(s.delivered_throughout for s in rows)
    return [
        kind,
        str(len({s.node for s in rows if s.node}) or "-"),
        str(sum(s.lines or 0 for s in rows)),
        _lost(rows),
        _clock(min(firsts) if firsts else None),
        _clock(max(lasts) if lasts else None),
        f"{whole} of {len(rows)}",
        _clocks(rows),
    ]


def _lost(rows: list[Source]) -> str:
    """Lines that the sources say they lost; of some notices nobody says how many."""
    gaps = [s for s in rows if s.gaps]
    if not gaps:
        return "-"
    notices, lines = sum(s.gaps or 0 for s in gaps), sum(s.lost_lines or 0 for s in gaps)
    return f"{lines} in {notices} gaps" if lines else f"{notices} gaps"


def _clocks(rows: list[Source]) -> str:
    """The clock that is off most, how well that is known, and what is wrong with any; each node once."""
    clocks = {s.node: s for s in rows if s.clock_offset_s is not None}
    parts = []
    if clocks:
        worst = max(clocks.values(), key=lambda s: (abs(s.clock_offset_s or 0), s.node or ""))
        label = "worst " if len(clocks) > 1 else ""
        parts.append(f"{label}{worst.clock_offset_s:+.3f}±{worst.clock_error_s or 0:.3f} s")
    faults = Counter(fault for s in {s.node: s for s in rows}.values() for fault in s.clock_faults or [])
    parts += [f"{fault} x{count}" if count > 1 else fault for fault, count in sorted(faults.items())]
    return ", ".join(parts) or "-"


def _clock(time: datetime | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC") if time else "-"
