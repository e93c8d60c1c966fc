"""Suite of verdict_changes: what differs really differs, and its effect follows from the label."""

from firstfault.expectations.common import broken
from firstfault.expectations.model import Suite, between, in_set, promises
from firstfault.transforms.verdict_changes import CANDIDATE, GAIN, LIVE, LOSS, NO_LABEL, NO_MATTER, VERDICT_CHANGES

_SAME = " and ".join(
    f"coalesce(cast({LIVE}_{c} as string), '{none}') = coalesce(cast({CANDIDATE}_{c} as string), '{none}')"
    for c, none in (("category", "unknown"), ("origin", "[]"))
)
SUITE = Suite(
    VERDICT_CHANGES,
    (
        *promises(VERDICT_CHANGES),
        in_set("effect", (GAIN, LOSS, NO_MATTER, NO_LABEL)),
        between("live_confidence", 0, 1),
        between("candidate_confidence", 0, 1),
        broken("rule_sets_differ", "A rule set is compared with another one.", "live_version != candidate_version"),
        broken("verdicts_differ", "Category or origin differ.", f"not ({_SAME})"),
        broken(
            "effect_has_a_label", "Only a label makes a gain or a loss.",
            f"(label_category is null) = (effect = '{NO_LABEL}')",
        ),
    ),
)  # fmt: skip
