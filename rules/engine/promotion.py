"""What a candidate rule set must show before it is promoted, from `promotion.yaml`."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from firstfault.rules.engine.yaml_io import Strict, load_model

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class Bar(Strict):
    """The numbers of the gate.

    Attributes:
        version: Raised with the meaning of a key.
        min_labelled: Labelled attempts that must have been compared.
        max_p: Highest p-value of McNemar's exact test.
        clean_gains: Gains that suffice where there is no loss.
        max_newly_surely_wrong: Verdicts that may be wrong at a confidence that is acted on, and were not before.
        stable_min_verdicts: Labelled verdicts that a rule needs to become stable.
        stable_min_precision: Lower end of the interval of its precision.
    """

    version: Literal[1]
    min_labelled: Count
    max_p: Share
    clean_gains: Annotated[int, Field(ge=1)]
    max_newly_surely_wrong: Count
    stable_min_verdicts: Count
    stable_min_precision: Share


def load_bar(path: Path) -> Bar:
    """Reads and checks `promotion.yaml`.

    Raises:
        KnowledgeError: A key is missing, unknown or out of range; with file and line.
    """
    model, _ = load_model(Bar, path)
    return model
