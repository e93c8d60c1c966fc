"""What the monthly review holds rules to, from `review.yaml`."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from firstfault.rules.engine.load import REVIEW_FILE
from firstfault.rules.engine.yaml_io import Strict, load_model
from firstfault.transforms.line_templates import Looking
from firstfault.transforms.review_findings import Bars, Drift, Firing

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Months = Annotated[int, Field(ge=1, le=12)]


class _Drift(Strict):
    months: Months
    min_n: Count
    min_before: Count
    false_discovery_rate: Share
    least_fall: Share


class _Bars(Strict):
    months: Months
    min_n: Count
    rule_precision: dict[Literal["stable", "test", "experimental"], Share] = Field(min_length=3)
    category_precision: Share
    category_recall: Share


class _Firing(Strict):
    months: Months
    min_attempts: Count
    overlap_min: Count
    overlap_share: Share
    noisy_min: Count
    noisy_won: Share
    excused: list[str]


class _Unknown(Strict):
    max_attempts: Count
    healthy_attempts: Count
    before_end_s: Count
    after_end_s: Annotated[int, Field(ge=0)]
    line_chars: Annotated[int, Field(ge=40, le=2000)]
    min_attempts: Count
    least_log_odds: float
    max_proposals: Count
    alarm: str


class _Mask(Strict):
    regex: str
    word: str = Field(alias="as")


class ReviewFile(Strict):
    """What `review.yaml` may say.

    Attributes:
        version: Raised with the meaning of a key.
        calibration_bins: Edges of the bins of confidence.
        drift: As `transforms.review_findings.Drift`.
        bars: As `transforms.review_findings.Bars`.
        firing: As `transforms.review_findings.Firing`.
        unknown: As `transforms.line_templates.Looking`.
        masks: What differs between two lines of one statement, in order.
    """

    version: int
    calibration_bins: list[Share] = Field(min_length=2)
    drift: _Drift
    bars: _Bars
    firing: _Firing
    unknown: _Unknown
    masks: list[_Mask] = Field(min_length=1)

    @field_validator("calibration_bins")
    @classmethod
    def _cover(cls, edges: list[float]) -> list[float]:
        if edges != sorted(set(edges)) or (edges[0], edges[-1]) != (0.0, 1.0):
            raise ValueError("calibration_bins must rise from 0.0 to 1.0, or verdicts fall beside all bins")
        return edges

    @field_validator("masks")
    @classmethod
    def _compile(cls, masks: list[_Mask]) -> list[_Mask]:
        for mask in masks:
            try:
                re.compile(mask.regex)
            except re.error as error:
                raise ValueError(f"{mask.regex!r} is no regular expression ({error}), correct it") from error
        return masks


@dataclass(frozen=True)
class Review:
    """What the review holds rules to.

    Attributes:
        bins: Edges of the bins of confidence.
        drift: When a figure fell.
        bars: What figures are held to.
        firing: When rules stand for nothing, together, or in the way.
        looking: How unknown attempts are looked at.
    """

    bins: tuple[float, ...]
    drift: Drift
    bars: Bars
    firing: Firing
    looking: Looking

    @property
    def months(self) -> int:
        """Months that must be read, the one under review included."""
        return max(self.drift.months + 1, self.bars.months, self.firing.months)


def load_review(root: Path) -> Review:
    """Reads and checks `review.yaml` of a rules folder.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    file, _ = load_model(ReviewFile, root / REVIEW_FILE)
    firing = file.firing.model_dump() | {"excused": tuple(file.firing.excused)}
    masks = tuple((mask.regex, mask.word) for mask in file.masks)
    return Review(
        bins=tuple(file.calibration_bins),
        drift=Drift(**file.drift.model_dump()),
        bars=Bars(**file.bars.model_dump()),
        firing=Firing(**firing),
        looking=Looking(**file.unknown.model_dump(), masks=masks),
    )
