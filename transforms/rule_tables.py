"""The compiled rule set as small tables, joined with all attempts at once; no rule is ever looped over."""

from pyspark.sql.types import ArrayType, StructType

from firstfault.transforms.contract import column
from firstfault.transforms.types import BOOL, DOUBLE, INT, TEXT, TEXTS, struct_of

PREDICATE = struct_of(field=TEXT, op=TEXT, texts=TEXTS, number=DOUBLE)

SELECTORS = StructType(
    [
        column("selector_id", INT, "distinct (event, where) of anchors and clauses"),
        column("event_type", TEXT, "one row per event type that the selector's glob names"),
        column("predicates", ArrayType(PREDICATE), "tests on attributes; all must hold"),
    ]
)
SPECS = StructType(
    [
        column("spec_id", INT, "distinct (selector, blame) of anchors"),
        column("selector_id", INT, "events it starts from"),
        column(
            "blame", TEXT, "device, node, port, rank, filesystem, attr, silent, behind, stopped, ..., scheduler, job"
        ),
        column("blame_arg", TEXT, "attribute of `attr`, level of `common`"),
        column("scope", TEXT, "origin scope"),
        column("by_s", DOUBLE, "by how much a reporter must stand apart in time, for blames that compare times"),
    ]
)
SUPPRESSIONS = StructType(
    [
        column("spec_id", INT, "anchor"),
        column("suppression_no", INT, "position in the rule"),
        column("selector_id", INT, "later events that take an anchor event back"),
        column("kind", TEXT, "what both have in common"),
        column("kind_arg", TEXT, "attribute of attr:<name>"),
        column("within_s", DOUBLE, "seconds after the anchor event"),
    ]
)
RULES = StructType(
    [
        column("rule_id", TEXT, "file name"),
        column("rule_version", INT, "version of its text by the lock; 0 without one"),
        column("title", TEXT, "what it finds"),
        column("status", TEXT, "experimental, test, stable or deprecated"),
        column("category", TEXT, "root-cause category"),
        column("outcome", TEXT, "how the attempt ended, where the rule knows better than the scheduler"),
        column("spec_id", INT, "anchor and blame"),
        column("min_count", INT, "records that the anchor needs"),
        column("min_nodes", INT, "nodes that the anchor needs"),
        column("min_ranks", INT, "ranks that the anchor needs"),
        column("min_devices", INT, "devices that the anchor needs"),
        column("role", TEXT, "part that its anchor plays, where the rule knows better than the event"),
        column("base", DOUBLE, "points before any clause"),
        column("cap", DOUBLE, "highest confidence it may reach"),
        column("specificity", INT, "how much it asks for"),
        column("settle", TEXT, "what would settle it when it is not sure"),
        column("conclusion_en", TEXT, "template"),
        column("conclusion_zh", TEXT, "template"),
        column("action_en", TEXT, "template"),
        column("action_zh", TEXT, "template"),
    ]
)
PROBES = StructType(
    [
        column("probe_id", INT, "distinct (selector, relation, window) of clauses"),
        column("selector_id", INT, "events looked for"),
        column(
            "kind",
            TEXT,
            "what the key names: device, node, port, switch, rack, power_domain, filesystem, job, ...",
        ),
        column("kind_arg", TEXT, "attribute of attr:<name>"),
        column("lo_s", DOUBLE, "window from, relative to the anchor"),
        column("hi_s", DOUBLE, "window to"),
        column("bucket_s", INT, "width of the time buckets it is joined by"),
        column("distinct_by", TEXT, "what is counted distinctly: node, rank, device, port or job"),
        column("is_ordered", BOOL, "a sequence needs its single times"),
    ]
)
COMPOSITES = StructType(
    [
        column("probe_id", INT, "probes judged together, as one of their own; below zero"),
        column("composite", TEXT, "sequence (each after the one before) or silence (before, not after, others after)"),
        column("step_no", INT, "place"),
        column("step_probe_id", INT, "probe of the step; null for the anchor itself"),
    ]
)
CLAUSES = StructType(
    [
        column("rule_id", TEXT, "rule"),
        column("clause_no", INT, "position in the rule"),
        column("kind", TEXT, "support (also of a sequence), unless, doubt, absence or silence"),
        column("probe_id", INT, "what is looked for"),
        column("min_events", INT, "records needed"),
        column("min_distinct", INT, "distinct things needed"),
        column("required", BOOL, "the rule fails without it"),
        column("weight", DOUBLE, "points when it holds for certain; half when it possibly holds"),
        column("needs_coverage", TEXT, "source that must have been delivered for an absence to count"),
    ]
)
SPEC_PROBES = StructType([column("spec_id", INT, "anchor"), column("probe_id", INT, "looked for around it")])
EXPLAINS = StructType(
    [
        column("rule_id", TEXT, "rule"),
        column("event_type", TEXT, "symptom that it explains"),
        column("is_local", BOOL, "where the symptom is initiating, a fault on other nodes does not cause it"),
    ]
)
TABLES = {
    "selectors": SELECTORS,
    "specs": SPECS,
    "suppressions": SUPPRESSIONS,
    "rules": RULES,
    "probes": PROBES,
    "composites": COMPOSITES,
    "clauses": CLAUSES,
    "spec_probes": SPEC_PROBES,
    "explains": EXPLAINS,
}
