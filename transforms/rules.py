"""rules: what each rule said under a rule set, so that a verdict can be read years after the rule has changed."""

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import INT, TEXT

RULES = Table(
    name="rules",
    row="a rule as it was in a rule set",
    fields=(
        column("rule_id", TEXT, "id of the rule and name of its file", required=True),
        column("ruleset_version", TEXT, "hash of all that a verdict of that night depends on", required=True),
        column("version", INT, "counts changes of the content, from 1; 0 where rules are not locked", required=True),
        column("status", TEXT, "experimental, test, stable or deprecated", required=True),
        column("category", TEXT, "root-cause category that it concludes", required=True),
        column("title", TEXT, "the rule in a few words", required=True),
        column("sha256", TEXT, "hash of the content, its template filled in and its status left out", required=True),
        column("text", TEXT, "the rule's file, verbatim", required=True),
        column("catalogue_version", TEXT, "hash of the catalogues of codes that it was read with"),
    ),
    keys=("ruleset_version", "rule_id"),
)
