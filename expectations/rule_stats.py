"""Suite of rule_stats: counts add up, and no ratio is of nothing."""

from firstfault.expectations.common import broken
from firstfault.expectations.judging import OF_SCOPE
from firstfault.expectations.model import Suite, between, in_set, promises
from firstfault.transforms.rule_stats import LEVELS, RULE_STATS

_SHARES = ("precision", "recall", "f1", "origin_precision", "origin_recall", "brier", "mean_confidence")

SUITE = Suite(
    RULE_STATS,
    (
        *promises(RULE_STATS),
        *OF_SCOPE,
        in_set("level", LEVELS),
        *(between(name, 0, 1) for name in _SHARES),
        between("gpu_hours_lost", 0),
        broken("counts_not_negative", "No count is negative.", "least(tp, fp, fn, verdicts, conflicts) >= 0"),
        broken("support_adds_up", "support is tp + fn.", "support = tp + fn"),
        broken("abstained_is_missed", "What was abstained from was missed.", "abstained between 0 and fn"),
        broken(
            "precision_has_verdicts",
            "precision is null where nothing was judged.",
            "(precision is null) = (tp + fp = 0)",
        ),
        broken("recall_has_support", "recall is null without support.", "(recall is null) = (support = 0)"),
        broken(
            "ratio_in_its_interval",
            "A ratio lies within its interval.",
            "precision between precision_low and precision_high and recall between recall_low and recall_high",
        ),
        broken(
            "right_origins_are_named", "An origin that is right was named.", "origin_right between 0 and origin_named"
        ),
    ),
)
