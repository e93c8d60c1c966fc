"""The lock file: what is told of one that somebody edited by hand."""

import pytest

from firstfault.rules.engine.load import LOCK_FILE
from firstfault.rules.engine.lock import load_lock
from firstfault.rules.engine.yaml_io import KnowledgeError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a: {version: 0, sha256: "' + "0" * 64 + '", status: test}\n', ":1: a.version: "),
        ("a: {version: 1, sha256: x, status: test}\n", ":1: a.sha256: "),
        ('a: {version: 1, sha256: "' + "0" * 64 + '", status: old}\n', ":1: a.status: "),
        ("- a\n", ":1: document: "),
        ("a: {\n", ":2: document: "),
        ("a: 1\na: 2\n", ":2: a: given twice"),
    ],
)
def test_a_lock_that_is_none_is_told_with_its_place(tmp_path, text, said):
    (tmp_path / LOCK_FILE).write_text(text)
    with pytest.raises(KnowledgeError) as error:
        load_lock(tmp_path)
    assert error.value.problems[0].startswith(f"{tmp_path / LOCK_FILE}{said}")
