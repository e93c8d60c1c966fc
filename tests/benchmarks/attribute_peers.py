"""One query per rule over the same events: in DuckDB, and by the same steps in pandas.

A query selects the rule's anchors, joins the events of each of its clauses by relation and window, and keeps what has
enough of them. It resolves no origin, gives no points, keeps no evidence and tells possible from certain nowhere: less
than our plan does. What Parquet files need beside the events (switch, rack, workload) is joined beforehand.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from tests.benchmarks.attribute_rules import Compiled
from tests.benchmarks.conftest import CORES

Row = Mapping[str, Any]
COLUMNS = ("class", "role", "category", "node", "rank", "source", "relation", "code", "count")
KEYS = {
    "device": "device_key",
    "node": "node",
    "origin_node": "node",
    "port": "port_key",
    "switch": "switch",
    "rack": "rack",
    "power_domain": "power_domain",
    "filesystem": "coalesce(attrs['mount'], attrs['server'], attrs['fs'])",
    "cluster": "cluster",
    "workload": "workload_key",
    "user": "user_name",
    "other_jobs_node": "node",
    "other_jobs_device": "device_key",
}
BEYOND = ("cluster", "workload", "user", "other_jobs_node", "other_jobs_device")
ENTITIES = {
    "device": "coalesce(device_key, node)",
    "node": "node",
    "port": "coalesce(port_key, node)",
    "rank": "coalesce(rank::varchar, '')",
    "filesystem": f"coalesce({KEYS['filesystem']}, '')",
}
COUNTED = {"rank": "e.rank", "device": "e.device_key", "port": "e.port_key", "job": "e.uid"}
VIEW = """
create view events as
select e.*, epoch(t_low) as low, epoch(t_high) as high, a.workload_key, a.user_name, p.switch, p.rack, p.power_domain,
  e.node || '/' || e.device as device_key, coalesce(e.port, p.leaf_port) as port_key
from read_parquet('{events}') e join attempts a using (uid) left join topology p using (node)
"""


def connect(folder: Path, events: Path, memory_mb: int) -> duckdb.DuckDBPyConnection:
    """The events as the queries see them.

    Args:
        folder: Where attempts.parquet and topology.parquet lie.
        events: Folder of the scoped events.
        memory_mb: What our driver may use.
    """
    database = duckdb.connect()
    database.execute(f"set threads = {CORES}")
    database.execute(f"set memory_limit = '{memory_mb}MB'")
    for name, columns in (("attempts", "uid, workload_key, user as user_name"), ("topology", "* exclude (cluster)")):
        source = f"read_parquet('{folder / name}/*.parquet')"
        database.execute(f"create table {name} as select {columns} from {source}")  # noqa: S608
    database.execute(VIEW.format(events=f"{events}/*.parquet"))
    return database


def query(rule: Compiled) -> str:
    """The SQL of a rule that was compiled alone."""
    (head,), (spec,) = rule["rules"], rule["specs"]
    entity = ENTITIES.get(spec["blame"], "''")
    if spec["blame"] == "attr":
        entity = f"attrs['{spec['blame_arg']}']"
    asked = [(clause, probe) for clause in rule["clauses"] for probe in probes_of(rule, clause["probe_id"])]
    parts = [f"c{n} as ({_clause(rule, clause, probe)})" for n, (clause, probe) in enumerate(asked)]
    joins = [f"left join c{n} using (uid, entity)" for n in range(len(asked))]
    tests = [test for n, (clause, _) in enumerate(asked) if (test := _test(n, clause))]
    return f"""
        with anchor as (
          select uid, {entity} as entity, {_first()}, sum(count) as n
          from events where {_selected(rule, spec["selector_id"])} and {entity} is not null
          group by 1, 2
          having sum(count) >= {head["min_count"]} and {_least(head["min_nodes"], 1, "node")}
            and {_least(head["min_ranks"], 0, "rank")} and {_least(head["min_devices"], 0, "device_key")}
        ){"".join(f", {part}" for part in parts)}
        select count(*) from anchor {" ".join(joins)} where {" and ".join(tests) or "true"}
    """  # noqa: S608


def probes_of(rule: Compiled, probe_id: int) -> list[Row]:
    """The probe of a clause, or those that it is put together from."""
    steps = [row["step_probe_id"] for row in rule["composites"] if row["probe_id"] == probe_id]
    wanted = [step for step in steps if step is not None] if probe_id < 0 else [probe_id]
    return [row for row in rule["probes"] if row["probe_id"] in wanted]


def _first() -> str:
    places = ["low", "high", "node", "device_key", "port_key", "switch", "rack", "power_domain", "attrs"]
    places += ["cluster", "workload_key", "user_name"]
    return ", ".join(f"arg_min({name}, high) as {name}" for name in places)


def _least(n: int, plain: int, name: str) -> str:
    return "true" if n <= plain else f"count(distinct {name}) >= {n}"


def _clause(rule: Compiled, clause: Row, probe: Row) -> str:
    kind = probe["kind"]
    same = ["e.uid <> a.uid" if kind in BEYOND else "e.uid = a.uid"]
    if kind == "job_other_nodes":
        same.append("e.node is distinct from a.node")
    elif kind == "attr":
        same.append(f"e.attrs['{probe['kind_arg']}'] = a.attrs['{probe['kind_arg']}']")
    elif kind != "job":
        same.append(" = ".join(_of(side, KEYS[kind]) for side in "ea"))
    counted = COUNTED.get(probe["distinct_by"], "e.node")
    distinct = f", count(distinct {counted}) as names" if clause["min_distinct"] > 1 else ", 1 as names"
    return f"""
        select a.uid, a.entity, sum(e.count) as found{distinct}
        from anchor a join (select * from events where {_selected(rule, probe["selector_id"])}) e
          on {" and ".join(same)} and e.high - a.low >= {probe["lo_s"]} and e.low - a.high <= {probe["hi_s"]}
        group by 1, 2
    """  # noqa: S608


def _of(side: str, key: str) -> str:
    return key.replace("attrs", f"{side}.attrs") if "(" in key else f"{side}.{key}"


def _test(n: int, clause: Row) -> str | None:
    held = f"coalesce(c{n}.found, 0) >= {clause['min_events']}"
    if clause["min_distinct"] > 1:
        held += f" and coalesce(c{n}.names, 0) >= {clause['min_distinct']}"
    if clause["kind"] == "unless" or (clause["kind"] == "absence" and clause["required"]):
        return f"not ({held})"
    return f"({held})" if clause["required"] else None


def _selected(rule: Compiled, selector_id: int) -> str:
    rows = [row for row in rule["selectors"] if row["selector_id"] == selector_id]
    types = ", ".join(f"'{row['event_type']}'" for row in rows)
    return " and ".join([f"event_type in ({types})", *(_predicate(p) for p in rows[0]["predicates"])])


def _predicate(test: Row) -> str:
    name, texts = test["field"], test["texts"]
    value = f"attrs['{name}']"
    if name in COLUMNS:
        value = f'coalesce({value}, "{name}"::varchar)'
    quoted = [f"'{text}'" for text in texts]
    op: Sequence[str] = test["op"]
    if op in {"gte", "lte"}:
        return f"try_cast({value} as double) {'>=' if op == 'gte' else '<='} {test['number']}"
    if op in {"ne", "none_of"}:
        return f"coalesce({value} not in ({', '.join(quoted)}), true)"
    if op == "exists":
        return f"{value} is {'not ' if texts[0] == 'true' else ''}null"
    if op == "prefix":
        return f"starts_with({value}, {quoted[0]})"
    if op == "contains":
        return f"contains({value}, {quoted[0]})"
    return f"{value} in ({', '.join(quoted)})"
