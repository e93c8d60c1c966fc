"""Secrets and names to stable pseudonyms, by rules that are data.

One RE2 pass over all lines finds those that may hold something (measured: six times the speed of header parsing);
only these are looked at by the rules. A rule marks its matches in one vectorised pass; each distinct match is hashed
once a batch, not once a line. A pseudonym is `<kind:key id:10 hex digits>`: equal for equal text under one key, so
that joins work, and of another key id after a rotation.
"""

import hmac
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.mask_rules import (
    Ints,
    MaskRule,
    between,
    each_distinct,
    holding,
    prefilter_of,
    put,
    rules_of,
    true_rows,
)

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

SECRET = "secret"  # noqa: S105  the group of a regex that is replaced
PSEUDONYM = "<[a-z]+:[0-9a-z]{1,16}:[0-9a-f]{10}>"
_MARK = "\ufdd0"  # a code point that no text may hold
_DIGITS = 10
_BETWEEN = "\x1f"
_BRANCHES = 4
_COLOUR = r"(?:\x1b|#033|\\+(?:u001[bB]|x1[bB]|033))\[[0-9;]*[A-Za-z]"  # as written, or as syslog and JSON spell it


@dataclass(frozen=True)
class Masker:
    """The rules with a key.

    Attributes:
        rules: In the order they are applied.
        networks: Networks whose addresses stay.
        key: Secret of the pseudonyms.
        key_id: Name of the key, seen in every pseudonym.
    """

    rules: tuple[MaskRule, ...] = field(repr=False)
    networks: tuple[Network, ...] = field(repr=False)
    key: bytes = field(repr=False)
    key_id: str

    def pseudonym(self, kind: str, secret: str) -> str:
        """What stands for the secret."""
        return f"<{kind}:{self.key_id}:{_digest(self.key, f'{kind}{_BETWEEN}{secret}')}>"

    def text(self, text: str, source: str = "") -> str:
        """One text, such as that of an error."""
        masked: str = self.texts(pa.array([text.encode(errors="replace").decode()]), source)[0].as_py()
        return masked

    def candidates(self, texts: pa.Array, source: str) -> Ints:
        """Rows that may hold something to mask; colours do not hide it."""
        prefilter = prefilter_of(rules_of(self.rules, source))
        rows = holding(texts, f"{prefilter}|(?:{_COLOUR})")
        part = texts.take(pa.array(rows))
        coloured = holding(part, _COLOUR)
        if not len(coloured):
            return rows
        quiet = np.ones(len(coloured), bool)
        quiet[holding(pc.replace_substring_regex(part.take(pa.array(coloured)), _COLOUR, ""), prefilter)] = False
        return np.delete(rows, coloured[quiet])

    def texts(self, texts: pa.Array, source: str, rows: Ints | None = None) -> pa.Array:
        """The texts with what the rules find replaced; all others are untouched.

        Args:
            texts: Lines in stream order, or any other texts; nulls stay.
            source: Format of the source.
            rows: The candidates, when they are known.
        """
        rules = rules_of(self.rules, source)
        rows = self.candidates(texts, source) if rows is None else rows
        if not len(rows):
            return texts
        lines = tuple(r for r in rules if not r.begin)
        texts = self._changed(texts, rows, partial(self._by_rules, lines))
        for rule in (r for r in rules if r.begin):
            texts = self._changed(texts, between(texts, rows, rule), partial(self.apply, rule))
        return texts

    def _changed(self, texts: pa.Array, rows: Ints, mask: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """The texts with those of the rows that are masked without their colours; the others as written."""
        part = texts.take(pa.array(rows))
        bare = pc.replace_substring_regex(pc.replace_substring(part, _MARK, "\ufffd"), _COLOUR, "")
        masked = mask(bare)
        changed = true_rows(pc.not_equal(masked, bare))
        return put(texts, rows[changed], masked.take(pa.array(changed))) if len(changed) else texts

    def _by_rules(self, rules: tuple[MaskRule, ...], texts: pa.Array) -> pa.Array:
        """The texts behind all rules; a prefilter of several rules decides before that of each."""
        if not rules or not len(texts):
            return texts
        hit = holding(texts, prefilter_of(rules))
        if not len(hit):
            return texts
        part = before = texts.take(pa.array(hit))
        size = -(-len(rules) // _BRANCHES)
        for at in range(0, len(rules), size):
            few = rules[at : at + size]
            part = self._by_rules(few, part) if len(few) > 1 else self._by_rule(few[0], part)
        return texts if part is before else put(texts, hit, part)

    def _by_rule(self, rule: MaskRule, texts: pa.Array) -> pa.Array:
        hit = holding(texts, prefilter_of((rule,)))
        part = texts.take(pa.array(hit))
        masked = self.apply(rule, part) if len(hit) else part
        return texts if masked is part else put(texts, hit, masked)

    def apply(self, rule: MaskRule, texts: pa.Array) -> pa.Array:
        """The texts with all matches of one rule replaced."""
        marked = pc.replace_substring_regex(texts, rule.regex, rf"{_MARK}\0{_MARK}")
        parts = pc.split_pattern(marked, _MARK)
        offsets, values = parts.offsets.to_numpy(), parts.values
        odd = (np.arange(len(values)) - np.repeat(offsets[:-1], np.diff(offsets))) % 2 == 1
        if not odd.any():
            return texts
        replaced = each_distinct(values.filter(pa.array(odd)), lambda matches: self._resolve(rule, matches))
        values = pc.replace_with_mask(values, pa.array(odd), replaced)
        return pc.binary_join(pa.ListArray.from_arrays(parts.offsets, values), "")

    def _resolve(self, rule: MaskRule, matches: pa.Array) -> pa.Array:
        """Whole matches with their secrets replaced; a match that cannot be taken apart is replaced whole."""
        spans = pc.extract_regex_span(matches, f"(?s)^(?:{rule.regex})$")
        places = pc.struct_field(spans, SECRET).to_pylist()
        parts = []
        for match, place, read in zip(matches.to_pylist(), places, spans.is_valid().to_pylist(), strict=True):
            data = match.encode()
            start, length = (place or (0, 0)) if read else (0, len(data))
            parts.append((data[:start], data[start : start + length], data[start + length :]))
        secrets = self.whole(rule, pa.array([secret.decode(errors="replace") for _, secret, _ in parts], pa.string()))
        pairs = zip(parts, secrets.to_pylist(), strict=True)
        return pa.array([before.decode() + new + after.decode() for (before, _, after), new in pairs], pa.string())

    def whole(self, rule: MaskRule, secrets: pa.Array) -> pa.Array:
        """Pseudonyms of distinct secrets; those that stay are returned as they are."""
        keep = "|".join(p for p in (rule.keep, PSEUDONYM) if p)
        stays = pc.match_substring_regex(secrets, f"(?s)^(?:{keep})?$", ignore_case=True).to_pylist()
        out = []
        for secret, kept in zip(secrets.to_pylist(), stays, strict=True):
            name = self._public(secret) if rule.address else secret.strip()
            out.append(secret if kept or not name else self.pseudonym(rule.kind, name))
        return pa.array(out, pa.string())

    def _public(self, text: str) -> str | None:
        """The address in its one spelling, or None when it stays."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return None
        return None if any(address in network for network in self.networks) else str(address)


@lru_cache(maxsize=1 << 16)
def _digest(key: bytes, text: str) -> str:
    """The first digits of a keyed hash; a line and its body ask for the same ones."""
    return hmac.digest(key, text.encode(errors="replace"), "sha256").hex()[:_DIGITS]
