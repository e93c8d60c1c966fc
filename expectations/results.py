"""Suite of results: what light readers see is what diagnoses say."""

from firstfault.expectations.common import WARNING, broken, exists
from firstfault.expectations.diagnoses import ANSWER
from firstfault.expectations.model import Suite, in_words, promises
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.results import RESULTS

SUITE = Suite(
    RESULTS,
    (
        *promises(RESULTS),
        *ANSWER,
        in_words("label_category", "category", WARNING),
        broken(
            "label_is_compared",
            "label_agrees says whether the operator's category is ours.",
            "label_agrees <=> (label_category = category)",
        ),
        broken(
            "label_conflict_is_told",
            "A label that operators agree on has a word on conflicts.",
            "label_category is null or label_conflict is not null",
        ),
        exists("diagnosis_exists", (*ATTEMPT_KEY, "category"), "diagnoses"),
    ),
)
