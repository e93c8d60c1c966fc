"""Suite of rule_calibration: bins that hold what they say."""

from firstfault.expectations.common import broken
from firstfault.expectations.judging import OF_SCOPE
from firstfault.expectations.model import Suite, between, promises
from firstfault.transforms.rule_calibration import RULE_CALIBRATION

SUITE = Suite(
    RULE_CALIBRATION,
    (
        *promises(RULE_CALIBRATION),
        *OF_SCOPE,
        between("n", 1),
        broken("right_is_a_part", "Those that were right are a part.", "right between 0 and n"),
        broken(
            "bin_has_width",
            "A bin has a width within 0 and 1.",
            "0 <= bin_low and bin_low < bin_high and bin_high <= 1",
        ),
        broken("confidence_in_bin", "Confidences lie in their bin.", "mean_confidence between bin_low and bin_high"),
        broken("share_in_interval", "The share right lies in its interval.", "share_right between low and high"),
    ),
)
