"""The table `rules`: written once for each rule set that verdicts were given by."""

from typing import Any

import pyarrow.compute as pc

from firstfault.jobs.frames import local_frame
from firstfault.jobs.knowledge import Knowledge
from firstfault.jobs.light import in_lake
from firstfault.jobs.night import Night
from firstfault.rules.engine.lock import rule_sha256
from firstfault.transforms.rules import RULES


def publish_rules(night: Night) -> bool:
    """Whether the rules of the night's rule set had to be added; those of a set that is there stay as they are.

    Raises:
        CriticalExpectationError: The rows break a promise of ours.
    """
    there = in_lake(night.lake.root, RULES).dataset()
    if there is not None and there.count_rows(filter=pc.field("ruleset_version") == night.knowledge.version):
        return False
    rows = local_frame(night.spark, rule_rows(night.knowledge), RULES.schema)
    night.gates.check(RULES, rows)
    night.lake.append(RULES, rows)
    return True


def rule_rows(knowledge: Knowledge) -> list[dict[str, Any]]:
    """One row of `rules` per rule."""
    return [
        {
            "rule_id": rule.id,
            "ruleset_version": knowledge.version,
            "version": knowledge.rule_versions.get(rule.id, 0),
            "status": rule.status,
            "category": rule.category,
            "title": rule.title,
            "sha256": rule_sha256(rule),
            "text": knowledge.rule_texts[rule.id],
            "catalogue_version": knowledge.catalogue_version,
        }
        for rule in knowledge.rules
    ]
