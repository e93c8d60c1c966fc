"""Suite of data_quality: what the gates themselves say."""

from firstfault.expectations.model import Suite, between, in_set, not_null, promises
from firstfault.transforms.data_quality import DATA_QUALITY

SUITE = Suite(
    DATA_QUALITY,
    (
        *promises(DATA_QUALITY),
        in_set("severity", ("warning",)),
        between("failed", 1),
        not_null("text"),
    ),
)
