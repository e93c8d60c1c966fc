"""Suite of rules: the rules of a rule set, each once, with the file that it came from."""

from firstfault.expectations.common import broken
from firstfault.expectations.model import Suite, between, in_set, in_words, matches, promises
from firstfault.transforms.rules import RULES

STATUSES = ("experimental", "test", "stable", "deprecated")
VERSION_FORM = "[0-9a-f]{12}"

SUITE = Suite(
    RULES,
    (
        *promises(RULES),
        matches("ruleset_version", VERSION_FORM),
        matches("catalogue_version", VERSION_FORM),
        matches("sha256", "[0-9a-f]{64}"),
        between("version", 0),
        in_set("status", STATUSES),
        in_words("category", "category"),
        broken("text_is_of_the_rule", "The text is the file of the rule.", "contains(text, concat('id: ', rule_id))"),
    ),
)
