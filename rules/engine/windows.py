"""Windows and the comparison with peers, from `windows.yaml`."""

from pathlib import Path

from pydantic import Field, model_validator

from firstfault.rules.engine.yaml_io import Strict, load_model
from firstfault.transforms.event_windows import Shapes
from firstfault.transforms.peers import Peers

MAX_OVERLAP = 12
"""A sample has a row in each window that holds it."""
DAY_S = 86_400


class ShapeFile(Strict):
    """One shape of windows: how long they are, and how far apart they start."""

    window_s: int = Field(gt=0, le=DAY_S)
    slide_s: int = Field(gt=0, le=DAY_S)

    @model_validator(mode="after")
    def _is_whole(self) -> "ShapeFile":
        if self.window_s % self.slide_s:
            raise ValueError("window_s must be a multiple of slide_s, or windows hold unequal numbers of slides")
        if self.window_s > MAX_OVERLAP * self.slide_s:
            raise ValueError(f"more than {MAX_OVERLAP} windows overlap, take a longer slide_s")
        return self


class PeersFile(Strict):
    """How a node is compared with the attempt's others.

    Attributes:
        least: Fewer other nodes give no distance.
        share: Part of the other nodes that must have risen too.
        comparable: Part of the own rise that counts as risen too.
        far: Distance from which a node stands out.
        floor: Least spread in units of the figure.
        floor_share: Least spread as a part of the median.
    """

    least: int = Field(ge=3)
    share: float = Field(gt=0, le=1)
    comparable: float = Field(gt=0, le=1)
    far: float = Field(gt=0)
    floor: float = Field(gt=0)
    floor_share: float = Field(ge=0, le=1)


class WindowsFile(Strict):
    """What `windows.yaml` may say.

    Attributes:
        version: Raised with the meaning of a key.
        shapes: Shapes of windows, each once.
        peers: How a node is compared with the others.
    """

    version: int
    shapes: list[ShapeFile] = Field(min_length=1)
    peers: PeersFile

    @model_validator(mode="after")
    def _one_tumbles(self) -> "WindowsFile":
        shapes = [(s.window_s, s.slide_s) for s in self.shapes]
        if len(set(shapes)) < len(shapes):
            raise ValueError("shapes holds a shape twice, remove one")
        if sum(window == slide for window, slide in shapes) != 1:
            raise ValueError("shapes needs exactly one with window_s = slide_s: scoped events are held against it")
        return self


def load_windows(path: Path) -> Shapes:
    """Reads and checks `windows.yaml`.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    file, _ = load_model(WindowsFile, path)
    windows = tuple((s.window_s, s.slide_s) for s in file.shapes)
    return Shapes(windows=windows, peers=Peers(**file.peers.model_dump()))
