"""Suite of rule_confusion: pairs of words of the vocabulary that met."""

from firstfault.expectations.judging import OF_SCOPE
from firstfault.expectations.model import Suite, between, in_words, promises
from firstfault.transforms.rule_confusion import RULE_CONFUSION

SUITE = Suite(
    RULE_CONFUSION,
    (
        *promises(RULE_CONFUSION),
        *OF_SCOPE,
        in_words("label_category", "category"),
        in_words("said_category", "category"),
        between("n", 1),
    ),
)
