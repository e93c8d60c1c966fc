"""Which lines of a stream are chatter: found in one pass, never near an event, counted by template.

One RE2 pass with the alternation of all rules, each of which must account for a whole line. (Decision 2026-11-29: no
literals before it, unlike patterns. Anchored at the start it leaves most lines at once: 570 MB/s and 1,140 MB/s over
application and kernel logs without chatter, a scan for the literals alone 500 and 570; Hyperscan calls back into Python
for every match, and chatter is dense.)

Distances are in lines of one segment. A segment's first and last lines stay, at least as many as the largest distance,
so that wherever a stream is cut no neighbour of an event is lost: a cut can only keep more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.mask_rules import Ints, true_rows
from firstfault.transforms.matching import FAMILIES
from firstfault.transforms.staged import DROPPED, READ_SCHEMA

CHATTER = "chatter."
"""How the ids of these rules begin; structure that readers drop goes by other names."""
TEMPLATE_CHARS = 200
_HEAD_BYTES = 512  # of a line that its template is made from
_BLOCK_ROWS = 65_536
_SLICE_ROWS = 4096  # their bytes stay in the processor's cache
_BEYOND, _REDRAW = ord("~"), ord("\n")

Bools = npt.NDArray[np.bool_]
Kept = tuple[int, int]
"""Lines before and after an event."""


@dataclass(frozen=True)
class ChatterRule:
    """What the mechanism knows of one rule.

    Attributes:
        id: Name of the rule.
        formats: Formats of patterns whose lines it is tried on.
        regex: RE2 of the whole line.
    """

    id: str
    formats: frozenset[str]
    regex: str


@dataclass(frozen=True)
class Dropped:
    """Lines that are not landed.

    Attributes:
        rows: Their places, ascending.
        rules: The rule that drops each.
        templates: The line with its variable parts replaced.
    """

    rows: Ints
    rules: pa.Array
    templates: pa.Array

    def kept(self, count: int) -> pa.Array:
        """Places of all other lines of `count`."""
        stays = np.ones(count, bool)
        stays[self.rows] = False
        return pa.array(np.flatnonzero(stays))


NOTHING = Dropped(np.zeros(0, np.int64), pa.array([], pa.string()), pa.array([], pa.string()))


@dataclass(frozen=True)
class Retention:
    """The rules that drop and what protects from them; travels to the tasks.

    Attributes:
        rules: In order; of two that fit a line the first is named.
        around: Event type -> lines kept before and after it.
        unknown: The same for a type that is not listed.
        first_lines: Kept at the start of a segment.
        last_lines: Kept at its end.
        max_line_bytes: A longer line is kept.
        variable: (RE2, replacement) of what varies in a template.
    """

    rules: tuple[ChatterRule, ...] = field(repr=False)
    around: dict[str, Kept] = field(repr=False)
    unknown: Kept
    first_lines: int
    last_lines: int
    max_line_bytes: int
    variable: tuple[tuple[str, str], ...] = field(repr=False)

    def dropped(self, texts: pa.Array, hits: pa.ListArray, source: str) -> Dropped:
        """The lines of one segment that a rule drops.

        Args:
            texts: Bodies of the lines in stream order; a null is kept.
            hits: Events of each line (`staged.HIT_TYPE`); null where there is none.
            source: Format of the source.
        """
        rules = rules_of(self.rules, source)
        inner = len(texts) - self.first_lines - self.last_lines
        if not rules or inner <= 0:
            return NOTHING
        rows = _matching(texts.slice(self.first_lines, inner), whole_of(rules), self.max_line_bytes) + self.first_lines
        if len(rows):
            rows = rows[~self._protected(hits)[rows]]
        return self._named(texts, rows, rules) if len(rows) else NOTHING

    def _named(self, texts: pa.Array, rows: Ints, rules: tuple[ChatterRule, ...]) -> Dropped:
        """The rows with rule and template; both are found once a form, so lines that differ in figures share them."""
        forms = _forms(texts, rows)
        codes = forms.indices.to_numpy()
        first = np.zeros(len(forms.dictionary), np.int64)
        first[codes[::-1]] = rows[::-1]
        owners = _owners(texts.take(pa.array(first)), rules)
        names = pa.array([rule.id for rule in rules]).take(pa.array(owners[codes]))
        return Dropped(rows, names, self._worded(forms.dictionary).take(forms.indices))

    def _protected(self, hits: pa.ListArray) -> Bools:
        """Lines that hold an event or lie near one."""
        places = pc.list_parent_indices(hits).to_numpy().astype(np.int64)
        if not len(places):
            return np.zeros(len(hits), bool)
        types = pc.struct_field(pc.list_flatten(hits), "event_type").dictionary_encode()
        known = np.array([self.around.get(t, self.unknown) for t in types.dictionary.to_pylist()] + [self.unknown])
        reach = known[pc.fill_null(types.indices, len(known) - 1).to_numpy()]
        edges = np.zeros(len(hits) + 1, np.int64)
        np.add.at(edges, np.maximum(places - reach[:, 0], 0), 1)
        np.add.at(edges, np.minimum(places + reach[:, 1] + 1, len(hits)), -1)
        return np.cumsum(edges[:-1]) > 0

    def templates(self, lines: pa.Array) -> pa.Array:
        """The lines, none of them null or empty, with what varies replaced."""
        forms = _forms(lines, np.arange(len(lines)))
        return self._worded(forms.dictionary).take(forms.indices)

    def _worded(self, forms: pa.Array) -> pa.Array:
        for regex, put in self.variable:
            forms = pc.replace_substring_regex(forms, regex, put)
        return pc.utf8_slice_codeunits(pc.replace_substring(forms, "0", "#"), 0, TEMPLATE_CHARS)


@lru_cache(maxsize=256)
def rules_of(rules: tuple[ChatterRule, ...], source: str) -> tuple[ChatterRule, ...]:
    """Rules of a source."""
    wanted = FAMILIES.get(source, frozenset({source}))
    return tuple(rule for rule in rules if rule.formats & wanted)


@lru_cache(maxsize=256)
def whole_of(rules: tuple[ChatterRule, ...]) -> str:
    """One expression of the lines that any of the rules accounts for."""
    return _whole("|".join(f"(?:{rule.regex})" for rule in rules))


def _whole(regex: str) -> str:
    return rf"^(?:{regex})\z"


def _matching(texts: pa.Array, regex: str, max_bytes: int) -> Ints:
    """Rows of no more bytes that the expression matches."""
    found = []
    for at in range(0, len(texts), _BLOCK_ROWS):
        block = texts.slice(at, _BLOCK_ROWS)
        hit = pc.fill_null(pc.match_substring_regex(block, regex), fill_value=False)
        if hit.true_count:
            short = pc.less_equal(pc.binary_length(block), max_bytes)
            found.append(true_rows(pc.and_(hit, short)) + at)
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _owners(lines: pa.Array, rules: Sequence[ChatterRule]) -> Ints:
    """Place of the first rule that accounts for the whole of each line."""
    owners = np.full(len(lines), len(rules), np.int64)
    for place in range(len(rules) - 1, -1, -1):
        owners[true_rows(pc.match_substring_regex(lines, _whole(rules[place].regex)))] = place
    return owners


def _classes() -> npt.NDArray[np.uint8]:
    """What each byte becomes in a form; all of it is ASCII."""
    table = np.arange(256, dtype=np.uint8)
    table[:32] = table[127:] = table[ord("#")] = _BEYOND
    table[ord("0") : ord("9") + 1] = ord("0")
    table[ord("\t")] = ord(" ")
    table[ord("\r")] = table[ord("\n")] = _REDRAW
    return table


_CLASSES = _classes().tobytes()
_RUNS = bytes(code if code in (ord("0"), ord(" "), _BEYOND, _REDRAW) else 0 for code in _CLASSES)


def _forms(texts: pa.Array, rows: Ints) -> pa.DictionaryArray:
    """What is left of the rows without their figures, with the distinct ones as dictionary."""
    slices = [rows[at : at + _SLICE_ROWS] for at in range(0, len(rows), _SLICE_ROWS)]
    return pa.concat_arrays([_collapsed(texts.take(pa.array(part))) for part in slices]).dictionary_encode()


def _collapsed(lines: pa.Array) -> pa.Array:
    """The heads of the lines with every run of digits, blanks, redraws or characters beyond ASCII as one."""
    heads = pc.binary_slice(lines.cast(pa.binary()), 0, _HEAD_BYTES)
    offsets = np.frombuffer(heads.buffers()[1], np.int32)[heads.offset : heads.offset + len(heads) + 1]
    data = heads.buffers()[2].to_pybytes()[offsets[0] : offsets[-1]]
    starts = (offsets - offsets[0])[:-1]
    runs = np.frombuffer(data.translate(_RUNS), np.uint8)
    stays = np.ones(len(runs), bool)
    np.not_equal(runs[1:], runs[:-1], out=stays[1:])
    stays |= runs == 0
    stays[starts] = True  # a line never begins inside a run
    ends = np.zeros(len(lines) + 1, np.int32)
    ends[1:] = np.cumsum(np.add.reduceat(stays, starts, dtype=np.int32))
    form = np.compress(stays, np.frombuffer(data.translate(_CLASSES), np.uint8))
    return pa.StringArray.from_buffers(len(lines), pa.py_buffer(ends.tobytes()), pa.py_buffer(form.tobytes()))


def counted(rows: pa.Table, dropped: Dropped) -> pa.Table:
    """Rows that stand for dropped ones: one an hour, rule and template, with their units and bytes.

    Args:
        rows: Rows of a reader (`staged.READ_SCHEMA`), all of them.
        dropped: Which of them are dropped.
    """
    lost = rows.take(pa.array(dropped.rows))
    hours = {n: pc.floor_temporal(lost[n], unit="hour") for n in ("event_time", "collected_at")}
    numbers = {n: lost[n] for n in ("units", "length", "byte_offset")}
    keys = {**hours, "reason": dropped.rules, "message": dropped.templates}
    sums = (
        pa.table({**keys, **numbers})
        .group_by(list(keys), use_threads=False)
        .aggregate([("units", "sum"), ("length", "sum"), ("byte_offset", "min")])
        .rename_columns([*keys, "units", "length", "byte_offset"])
    )
    columns = {n: sums[n] for n in sums.column_names} | {"disposition": pa.repeat(DROPPED, sums.num_rows)}
    made = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(sums.num_rows, f.type) for f in READ_SCHEMA]
    return pa.table(made, schema=READ_SCHEMA)
