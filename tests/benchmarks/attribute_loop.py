"""A loop over rules in pandas: the steps of `attribute_peers.query`, over events that are held in memory."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.benchmarks.attribute_peers import BEYOND, COLUMNS, probes_of
from tests.benchmarks.attribute_rules import Compiled

Row = Mapping[str, Any]
PLAIN = ("uid", "event_type", "device", "port", *COLUMNS)
KINDS = {"node": "node", "origin_node": "node", "device": "device", "port": "port"}
"""Relations that the loop knows besides those of the job."""
ENTITIES = {"device": "device", "node": "node", "port": "port", "rank": "rank"}


def knows(rule: Compiled) -> bool:
    """Whether the loop can run the rule: its relations need no topology and no other job."""
    kinds = {probe["kind"] for probe in rule["probes"]}
    return kinds <= {*KINDS, "job", "job_other_nodes"} and not kinds & set(BEYOND)


def load(folder: Path, rules: Iterable[Compiled]) -> pd.DataFrame:
    """The events with the attributes that these rules test as columns of their own."""
    tests = [p for rule in rules for row in rule["selectors"] for p in row["predicates"]]
    fields = sorted({p["field"] for p in tests} - set(COLUMNS))
    frames = []
    for file in sorted(folder.iterdir()):
        table = pq.read_table(file, columns=[*PLAIN, "t_low", "t_high", "attrs"])
        columns = {name: _words(table[name]) for name in PLAIN if name != "count"}
        columns |= {f"attrs.{name}": _words(pc.map_lookup(table["attrs"], name, "first")) for name in fields}
        columns["device"] = _words(pc.binary_join_element_wise(table["node"], table["device"], "/"))
        columns |= {"count": table["count"]}
        columns |= {name: pc.divide(table[f"t_{name}"].cast(pa.int64()), 1e6) for name in ("low", "high")}
        frames.append(pa.table(columns))
    return pa.concat_tables(frames).unify_dictionaries().to_pandas()


def _words(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(pa.string()).dictionary_encode()


def run(rule: Compiled, events: pd.DataFrame) -> int:
    """Anchors of the rule whose clauses hold."""
    (head,), (spec,) = rule["rules"], rule["specs"]
    anchors = _anchors(_selected(rule, spec["selector_id"], events), head, ENTITIES.get(spec["blame"]))
    for clause in rule["clauses"]:
        for probe in probes_of(rule, clause["probe_id"]):
            holds = _holds(anchors, _selected(rule, probe["selector_id"], events), clause, probe)
            if clause["kind"] == "unless" or (clause["kind"] == "absence" and clause["required"]):
                anchors = anchors[~holds]
            elif clause["required"]:
                anchors = anchors[holds]
    return len(anchors)


def _anchors(starts: pd.DataFrame, head: Row, entity: str | None) -> pd.DataFrame:
    who = starts[entity].astype(object) if entity else ""
    if entity in {"device", "port"}:
        who = who.fillna(starts["node"].astype(object))
    said = starts.assign(entity=who).dropna(subset=["entity"]).sort_values("high")
    said = said.assign(uid=said["uid"].astype(object))
    groups = said.groupby(["uid", "entity"], sort=False)
    enough = groups["count"].sum() >= head["min_count"]
    for name, column in (("min_nodes", "node"), ("min_ranks", "rank"), ("min_devices", "device")):
        if head[name] > 1:
            enough &= groups[column].nunique() >= head[name]
    first = groups.head(1).set_index(["uid", "entity"])
    return first[enough.reindex(first.index).to_numpy()].reset_index().assign(number=lambda f: np.arange(len(f)))


def _holds(anchors: pd.DataFrame, events: pd.DataFrame, clause: Row, probe: Row) -> pd.Series:
    on = ["uid", *([KINDS[probe["kind"]]] if probe["kind"] in KINDS else [])]
    side = ["low", "high", *{"node", "uid", *on}]
    found = (
        anchors[["number", *side]]
        .astype({c: object for c in side if c not in {"low", "high"}})
        .merge(
            events[[*side, "count", "rank", *({"device", "port"} - set(side))]].astype(dict.fromkeys(on, object)),
            on=on,
            suffixes=("_a", ""),
        )
    )
    near = (found["high"] - found["low_a"] >= probe["lo_s"]) & (found["low"] - found["high_a"] <= probe["hi_s"])
    if probe["kind"] == "job_other_nodes":
        near &= found["node"].astype(object) != found["node_a"]
    groups = found[near].groupby("number")
    held = groups["count"].sum() >= clause["min_events"]
    if clause["min_distinct"] > 1:
        counted = probe["distinct_by"] if probe["distinct_by"] in {"rank", "device", "port"} else "node"
        held &= groups[counted].nunique() >= clause["min_distinct"]
    return anchors["number"].isin(held.index[held])


def _selected(rule: Compiled, selector_id: int, events: pd.DataFrame) -> pd.DataFrame:
    rows = [row for row in rule["selectors"] if row["selector_id"] == selector_id]
    chosen = events[events["event_type"].isin([row["event_type"] for row in rows])]
    for test in rows[0]["predicates"]:
        chosen = chosen[_passes(chosen, test)]
    return chosen


def _passes(events: pd.DataFrame, test: Row) -> pd.Series:
    name, op, texts = test["field"], test["op"], list(test["texts"])
    value = events[name if name in COLUMNS else f"attrs.{name}"]
    if op in {"gte", "lte"}:
        number = pd.to_numeric(value.astype(object), errors="coerce")
        return number >= test["number"] if op == "gte" else number <= test["number"]
    if op in {"ne", "none_of"}:
        return ~value.isin(texts)
    if op == "exists":
        return value.notna() == (texts[0] == "true")
    if op in {"prefix", "contains"}:
        words = value.astype(object).fillna("").str
        return words.startswith(texts[0]) if op == "prefix" else words.contains(texts[0], regex=False)
    return value.isin(texts)
