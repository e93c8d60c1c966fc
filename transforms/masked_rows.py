"""What a reader returns, masked: lines, bodies, named fields and labels, before anything leaves the task."""

import json
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.formats import loglines
from firstfault.transforms.formats.registry import READERS
from firstfault.transforms.mask_rules import Ints, MaskRule, each_distinct, put
from firstfault.transforms.masking import Masker

TABLES = frozenset({"sacct", "labels", "topology", "changes", "repairs"})
"""Sources whose `fields` are the cells of the line, in its order: what a field masks is masked in its cell."""
_SIGNED = {"labels": "who"}
"""Source -> the field in which somebody signs on purpose: masked as text is, but not as a user's name."""
_JOURNAL = "journal"
_NAMES = ("node", "port", "metric")
_BYTES = re.compile(r"\[\s*\d{1,3}(?:\s*,\s*\d{1,3})+\s*\]")

_ENTRIES = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))

Cells = Sequence[str | None]


def mask_rows(rows: pa.Table, source: str, masker: Masker) -> pa.Table:
    """The rows with every text column masked; what is neither name nor secret is untouched.

    Args:
        rows: What the reader of the source returned (`staged.READ_SCHEMA`).
        source: Format of the source.
        masker: Rules and key.
    """
    rows = _with(rows, **{name: _mask_names(rows[name].combine_chunks(), source, masker) for name in _NAMES})
    message, text = (rows[name].combine_chunks() for name in ("message", "text"))
    plain = READERS.get(source) is loglines.read
    found = masker.candidates(message, source)
    if plain:  # the body is a part of the line: where the line holds nothing, it holds nothing
        return _with(rows, message=masker.texts(message, source, found), text=masker.texts(text, source, found))
    fields, labels = (rows[name].combine_chunks() for name in ("fields", "labels"))
    new_fields = mask_map(fields, source, masker)
    if source in TABLES:
        message = _mask_cells(message, fields, new_fields)
    message = _mask_bytes(message, source, masker) if source == _JOURNAL else message
    message = masker.texts(message, source)
    message = _mask_refused(message, rows["reason"].combine_chunks(), source, masker)
    text = masker.texts(text, source)
    return _with(rows, message=message, text=text, fields=new_fields, labels=mask_map(labels, source, masker))


def _mask_names(names: pa.Array, source: str, masker: Masker) -> pa.Array:
    """A column of few distinct words: a host may go by its public address, a counter by anything."""
    return names if names.null_count == len(names) else each_distinct(names, lambda d: masker.texts(d, source))


def _with(rows: pa.Table, **columns: pa.Array) -> pa.Table:
    for name, column in columns.items():
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), column)
    return rows


def mask_map(maps: pa.MapArray, source: str, masker: Masker) -> pa.MapArray:
    """Values of named fields or labels, masked as text, or whole where their name says so."""
    if maps.null_count == len(maps):
        return maps
    flat = maps.cast(_ENTRIES).flatten()
    names, values = flat.field("key"), flat.field("value")
    masked = each_distinct(values, lambda distinct: masker.texts(distinct, source))
    spoken = _spoken(names, values)
    if signed := _SIGNED.get(source):
        spoken = pc.if_else(pc.equal(spoken, signed), None, spoken)
    for rule in (r for r in masker.rules if r.fields):
        masked = _mask_named(masked, spoken, rule, masker)
    if masked.equals(values):
        return maps
    offsets = np.concatenate(([0], np.cumsum(_sizes(maps)))).astype(np.int32)
    rebuilt = pa.MapArray.from_arrays(pa.array(offsets), names, masked)
    return pc.if_else(maps.is_valid(), rebuilt, pa.nulls(len(maps), rebuilt.type)) if maps.null_count else rebuilt


def _sizes(maps: pa.MapArray) -> Ints:
    """Entries of each map; a null has none."""
    sizes = pc.fill_null(pc.list_value_length(maps.cast(_ENTRIES)), 0)
    return np.asarray(sizes.to_numpy(zero_copy_only=False), np.int64)


def _values(maps: pa.MapArray) -> list[str | None]:
    values: list[str | None] = maps.cast(_ENTRIES).flatten().field("value").to_pylist()
    return values


def _mask_named(values: pa.Array, names: pa.Array, rule: MaskRule, masker: Masker) -> pa.Array:
    """The values with those replaced whose name the rule lists."""
    listed = each_distinct(
        names, lambda distinct: pc.match_substring_regex(distinct, f"^(?:{rule.fields})$", ignore_case=True)
    )
    hit = np.flatnonzero(pc.and_(pc.fill_null(listed, fill_value=False), values.is_valid()))
    if not len(hit):
        return values
    chosen = values.take(pa.array(hit))
    return put(values, hit, each_distinct(chosen, lambda distinct: masker.whole(rule, distinct)))


def _spoken(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Last word of dotted names; of `env.3.value` it is what `env.3.name` before it says."""
    names = each_distinct(keys, lambda distinct: pc.replace_substring_regex(distinct, r"^.*[./]([^./])", r"\1"))
    at = np.flatnonzero(pc.fill_null(pc.match_substring_regex(keys, r"\.value$"), fill_value=False))
    at = at[at > 0]
    if not len(at):
        return names
    before, own = keys.take(pa.array(at - 1)), keys.take(pa.array(at))
    paired = pc.equal(pc.replace_substring_regex(own, r"\.value$", ".name"), before)
    at = at[paired.to_numpy(zero_copy_only=False)]
    return put(names, at, values.take(pa.array(at - 1)))


def _mask_cells(messages: pa.Array, old: pa.MapArray, new: pa.MapArray) -> pa.Array:
    """Lines of tables with the cells of masked fields replaced."""
    if new is old:
        return messages
    before, after = _values(old), _values(new)
    offsets = np.concatenate(([0], np.cumsum(_sizes(old)))).tolist()
    out = []
    for row, message in enumerate(messages.to_pylist()):
        cells, masked = (values[offsets[row] : offsets[row + 1]] for values in (before, after))
        out.append(message if message is None or cells == masked else mask_cells(message, cells, masked))
    return pa.array(out, pa.string())


def mask_cells(message: str, old: Cells, new: Cells) -> str:
    """The line with each cell replaced in turn; where cells cannot be found, every word that is masked."""
    parts, at = [], 0
    for cell, masked in zip(old, new, strict=True):
        place = message.find(cell or "", at)
        if place < 0:
            return _mask_words(message, old, new)
        parts += [message[at:place], masked or ""]
        at = place + len(cell or "")
    return "".join([*parts, message[at:]])


def _mask_words(message: str, old: Cells, new: Cells) -> str:
    words = {a: b for a, b in zip(old, new, strict=True) if a and b and a != b}
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    words_regex = "|".join(re.escape(word) for word in longest_first)
    return re.sub(rf"(?<!\w)(?:{words_regex})(?!\w)", lambda m: words[m[0]], message)


def _mask_bytes(messages: pa.Array, source: str, masker: Masker) -> pa.Array:
    """Journal lines whose arrays of bytes hold something to mask, with that text in the array's place."""
    spelled = pc.match_substring_regex(messages, _BYTES.pattern.replace(r"\d", "[0-9]"))
    at = np.flatnonzero(pc.fill_null(spelled, fill_value=False))
    if not len(at):
        return messages
    read = pa.array([_BYTES.sub(_as_text, line) for line in messages.take(pa.array(at)).to_pylist()], pa.string())
    masked = masker.texts(read, source)
    changed = np.flatnonzero(pc.not_equal(masked, read))
    return put(messages, at[changed], masked.take(pa.array(changed)))


def _as_text(found: re.Match[str]) -> str:
    codes = [int(code) for code in re.findall(r"\d+", found[0])]
    return json.dumps(bytes(codes).decode(errors="replace"), ensure_ascii=False) if max(codes) < 256 else found[0]


def _mask_refused(messages: pa.Array, reasons: pa.Array, source: str, masker: Masker) -> pa.Array:
    """Refused rows of tables, whose cells nobody can name."""
    for rule in masker.rules:
        if rule.reasons and (not rule.formats or source in rule.formats):
            refused = pc.is_in(reasons, pa.array(sorted(rule.reasons)))
            at: Ints = np.flatnonzero(pc.and_(refused, messages.is_valid()))
            if len(at):
                messages = put(messages, at, masker.apply(rule, messages.take(pa.array(at))))
    return messages
