"""Parameters of the verdict, from `scoring.yaml`."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from firstfault.rules.engine.yaml_io import Strict, load_model
from firstfault.transforms.candidates import Doubts
from firstfault.transforms.competition import Scoring
from firstfault.transforms.standing import Weights

Share = Annotated[float, Field(ge=0, le=1)]
Points = Annotated[float, Field(ge=0, le=10)]


class Others(Strict):
    """Points for, or against, a candidate that other attempts give; see `transforms.standing.Weights`."""

    healthy_rule: Points
    healthy_place: Points
    same_place: Points
    same_code: Points
    place_categories: list[str]
    code_categories: list[str]


class Against(Strict):
    """What speaks against a candidate by itself; see `transforms.candidates.Doubts`.

    A rule set that was kept before these could be said goes on to mean what it meant then.
    """

    doubted_cap: Share = 0.65
    overcome_penalty: Points = 3.0
    teardown_penalty: Points = 3.0


class ScoringFile(Strict):
    """What `scoring.yaml` may say.

    Attributes:
        version: Raised with the meaning of a key.
        calibration: [least margin in points, share of verdicts that were right].
        undecidable_cap: Highest confidence when the deciding order is undecidable.
        unknown_below: Below this confidence the category is `unknown`.
        independent_bar: Points from which another finding stands on its own.
        poor_input_factor: Part of the confidence that is left when a source it rests on is poor.
        clock_fault_factor: The same for a clock that is at fault, though corrected.
        others: What other attempts say of a candidate, as `transforms.standing.Weights`.
        doubts: What speaks against a candidate by itself, as `transforms.candidates.Doubts`.
    """

    version: int
    calibration: list[tuple[float, Share]] = Field(min_length=1)
    undecidable_cap: Share
    unknown_below: Share
    independent_bar: float = Field(ge=0)
    poor_input_factor: Share
    clock_fault_factor: Share
    others: Others
    doubts: Against = Against()

    @model_validator(mode="after")
    def _rises(self) -> "ScoringFile":
        margins = [margin for margin, _ in self.calibration]
        shares = [share for _, share in self.calibration]
        if margins != sorted(set(margins)) or shares != sorted(shares):
            raise ValueError("calibration must rise: margins strictly, shares never falling")
        return self


def load_scoring(path: Path) -> Scoring:
    """Reads and checks `scoring.yaml`.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    file, _ = load_model(ScoringFile, path)
    return Scoring(
        calibration=tuple(sorted(file.calibration, reverse=True)),
        undecidable_cap=file.undecidable_cap,
        unknown_below=file.unknown_below,
        independent_bar=file.independent_bar,
        poor_input_factor=file.poor_input_factor,
        clock_fault_factor=file.clock_fault_factor,
        weights=Weights(
            healthy_rule=file.others.healthy_rule,
            healthy_place=file.others.healthy_place,
            same_place=file.others.same_place,
            same_code=file.others.same_code,
            place_categories=tuple(file.others.place_categories),
            code_categories=tuple(file.others.code_categories),
        ),
        doubts=Doubts(**file.doubts.model_dump()),
    )
