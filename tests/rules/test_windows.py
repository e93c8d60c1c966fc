"""Windows: what the file says, and where a wrong one is told."""

from pathlib import Path

import pytest
import yaml

import firstfault.rules
from firstfault.rules.engine.load import ruleset_version
from firstfault.rules.engine.windows import load_windows
from firstfault.rules.engine.yaml_io import KnowledgeError

ROOT = Path(next(iter(firstfault.rules.__path__)))
SHIPPED = yaml.safe_load((ROOT / "windows.yaml").read_text(encoding="utf-8"))
TUMBLING = {"window_s": 300, "slide_s": 300}


def shapes(*given: tuple[int, int]) -> dict:
    return {"shapes": [{"window_s": window, "slide_s": slide} for window, slide in given]}


def peers(**given: float) -> dict:
    return {"peers": SHIPPED["peers"] | given}


def test_the_shipped_windows_tumble_and_slide():
    windows = load_windows(ROOT / "windows.yaml")
    assert windows.windows == ((300, 300), (900, 300))
    assert windows.peers.least == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shapes((300, 300), (700, 300)), "shapes.1: window_s must be a multiple of slide_s"),
        (shapes((300, 300), (3900, 300)), "shapes.1: more than 12 windows overlap"),
        (shapes((300, 300), (900, 0)), "shapes.1.slide_s: "),
        (shapes((900, 300)), "shapes needs exactly one with window_s = slide_s"),
        (shapes((300, 300), (600, 600)), "shapes needs exactly one with window_s = slide_s"),
        (shapes((300, 300), (900, 300), (900, 300)), "shapes holds a shape twice"),
        ({"shapes": []}, "shapes: "),
        ({"shapes": [TUMBLING | {"hop_s": 3}]}, "shapes.0.hop_s: unknown key"),
        (peers(least=2), "peers.least: "),
        (peers(share=0), "peers.share: "),
        (peers(floor=0), "peers.floor: "),
        ({"peers": {}}, "peers.far: missing, add it"),
    ],
)
def test_wrong_windows_are_told_with_their_place(tmp_path, change, said):
    file = tmp_path / "windows.yaml"
    file.write_text(yaml.safe_dump(SHIPPED | change), encoding="utf-8")
    with pytest.raises(KnowledgeError) as error:
        load_windows(file)
    assert any(said in p and p.startswith(f"{file}:") for p in error.value.problems), error.value.problems


def test_windows_are_part_of_the_rule_set(tmp_path):
    (tmp_path / "windows.yaml").write_text("version: 1\n")
    before = ruleset_version(tmp_path)
    (tmp_path / "windows.yaml").write_text("version: 2\n")
    assert ruleset_version(tmp_path) != before
