"""Anchors and clauses of rules as phrases, whatever their kind: read from the rule's own keys."""

from collections.abc import Iterator, Mapping

from firstfault.rules.engine.model import Rule

RELATIONS = {
    "same_device": "on the same device",
    "same_node": "on the same node",
    "same_port": "at the same port",
    "same_switch": "at the same switch",
    "same_rack": "in the same rack",
    "same_power_domain": "in the same power domain",
    "filesystem": "of the same file system",
    "origin_node": "on the blamed node",
    "job_other_nodes": "on other nodes of the job",
    "job": "in the job",
    "cluster": "in the cluster",
    "other_jobs_same_node": "on the same node under other jobs",
    "other_jobs_same_device": "on the same device under other jobs",
    "same_workload": "in other attempts of the workload",
    "same_user": "in other jobs of the user",
}
TESTS = {
    "eq": "=", "ne": "is not", "gte": ">=", "lte": "<=", "in": "is one of", "not_in": "is none of",
    "prefix": "starts with", "contains": "contains", "exists": "is given:",
}  # fmt: skip
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def anchor_words(rule: Rule) -> str:
    """What a rule starts from."""
    given = rule.anchor.model_dump(exclude_defaults=True)
    least = [f"at least {n} {k.removeprefix('min_')}" for k, n in given.items() if k.startswith("min_")]
    taken_back = [f"unless {s['event']} follows within {_span(s['within_s'])}" for s in given.get("suppress", [])]
    return ", ".join([_selector(rule.anchor.model_dump(by_alias=True, exclude_defaults=True)), *least, *taken_back])


def clause_words(rule: Rule) -> Iterator[tuple[str, str]]:
    """A name and a sentence per clause, whatever its kind."""
    data = rule.model_dump(by_alias=True, exclude_none=True)
    for kind in ("support", "sequence", "unless", "doubt", "absence", "silence"):
        for clause in data.get(kind, []):
            least = [
                f"at least {n} {k.removeprefix('min_')}" for k, n in clause.items() if k.startswith("min_") and n > 1
            ]
            where = RELATIONS.get(clause["relation"], f"of equal {clause['relation'].removeprefix('attr:')}")
            source = f"{clause['needs_coverage']} delivered" if "needs_coverage" in clause else ""
            needed = "required" if clause.get("required") else ""
            weight = f"weight {clause['weight']:g}" if "weight" in clause else ""
            parts = [_what(clause), where, _window(*clause["window_s"]), *least, source, needed, weight]
            yield kind, ", ".join(part for part in parts if part)


def _what(clause: Mapping[str, object]) -> str:
    steps = clause.get("steps")
    if isinstance(steps, list):
        return ", then ".join("the anchor" if step.get("anchor") else _selector(step) for step in steps)
    return _selector(clause)


def _selector(selector: Mapping[str, object]) -> str:
    where = selector.get("where") or {}
    assert isinstance(where, Mapping)  # noqa: S101  the model says so
    tests = [_test(name, test) for name, test in where.items()]
    return str(selector["event"]) + (f" where {' and '.join(tests)}" if tests else "")


def _test(name: str, test: object) -> str:
    if not isinstance(test, Mapping):
        return f"{name} = {test}"
    given = {k: ", ".join(map(str, v)) if isinstance(v, list) else v for k, v in test.items() if v is not None}
    return " and ".join(f"{name} {TESTS.get(k, k)} {v}" for k, v in given.items())


def _window(low: float, high: float) -> str:
    if low < 0 <= high:
        return f"from {_span(-low)} before to {_span(high)} after"
    side = "before" if low < 0 else "after"
    return f"from {_span(abs(low))} to {_span(abs(high))} {side}"


def _span(seconds: float) -> str:
    """A time in the largest unit that holds it whole."""
    unit = next(((n, name) for n, name in _UNITS if seconds and seconds % n == 0), (1, "s"))
    return f"{seconds / unit[0]:g} {unit[1]}"
