"""The command line: one clear line per error, and its exit code."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firstfault.jobs import cli
from firstfault.jobs.lock import LakeBusyError

runner = CliRunner()


def run(*args: str):
    result = runner.invoke(cli.app, list(args))
    return result.exit_code, result.output + (result.stderr if result.stderr_bytes else "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nightly"], "--landing is missing"),
        (["nightly", "--landing", "{tmp}"], "--lake is missing"),
        (["nightly", "--landing", "{tmp}/none", "--lake", "{tmp}/lake"], "no such folder"),
        (["nightly", "--landing", "{tmp}", "--lake", "{tmp}/lake", "--sources", "{tmp}/bad.yaml"], "not valid YAML"),
        (["nightly", "--landing", "{tmp}", "--lake", "{tmp}/lake", "--sources", "{tmp}/no.yaml"], "cannot be read"),
        (
            ["nightly", "--landing", "{tmp}", "--lake", "{tmp}/l", "--day", "2026-11-01", "--from", "2026-11-01"],
            "--day",
        ),
        (
            ["nightly", "--landing", "{tmp}", "--lake", "{tmp}/l", "--from", "2026-11-02", "--to", "2026-11-01"],
            "--from",
        ),
        (["show", "84213", "--lake", "{tmp}/none"], "no such lake"),
        (["show", "84213"], "--lake is missing"),
        (["demo", "--lake", "{tmp}"], "is not empty"),
        (["simulate", "--out", "{tmp}"], "is not empty and no fleet wrote it; give --out another folder"),
        (["simulate", "--out", "{tmp}/bad.yaml"], "is no folder"),
        (["simulate", "--out", "{tmp}/f", "--profile", "nowhere"], "shipped ones are demo, operations, pretrain"),
        (["simulate", "--out", "{tmp}/f", "--loss", "1.5"], "--loss 1.5: input should be less than or equal to 0.9"),
        (["simulate", "--out", "{tmp}/f", "--missing", "kern"], "--missing kern: input should be 'application'"),
        (["simulate", "--out", "{tmp}/f", "--attempts", "0"], "--attempts 0"),
        (["simulate", "--out", "{tmp}/f", "--attempts", "9000", "--days", "1"], "do not fit into 1 days of 64 nodes"),
        (["rules", "explain", "no_such_rule"], "no rule no_such_rule"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(tmp_path: Path, monkeypatch, args, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("sources: [")
    code, text = run(*(a.format(tmp=tmp_path) for a in args))
    assert code == cli.USAGE
    assert says in " ".join(text.split())
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LakeBusyError("held"), cli.BUSY),
        (RuntimeError("boom\nmore"), cli.FAILED),
        (KeyError("x"), cli.FAILED),
        (SystemExit(0), cli.FAILED),
    ],
)
def test_an_error_of_a_night_has_its_exit_code_and_no_trace(tmp_path, monkeypatch, error, code):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr("firstfault.jobs.summary.watched_night", fail)
    got, text = run("nightly", "--landing", str(tmp_path), "--lake", str(tmp_path / "lake"))
    assert got == code
    assert "Traceback" not in text


def test_help_tells_every_command():
    code, text = run("--help")
    assert code == 0
    for command in ("demo", "nightly", "show", "rules", "doctor", "simulate"):
        assert command in text


def test_show_json_is_the_published_form(tmp_path, monkeypatch):
    from firstfault.jobs.answer import Answer

    answer = Answer(
        cluster="c", job_id="1", attempt=0, outcome="failed", category="unknown", origin_scope=None, origin=[],
        also=[], affected_nodes=[], symptoms={}, t0=None, confidence=0.1, order_certain=True, state="final",
        scheduler_state="FAILED", agrees_with_scheduler=True, alternatives=[], missing=["kernel_log"], conclusion="x",
        action="y", rule_id=None, device_serials=[], gpu_hours_lost=None, ruleset_version="v",
    )  # fmt: skip
    monkeypatch.setattr("firstfault.jobs.answer.read_answer", lambda *_: answer)
    code, text = run("show", "1", "--lake", str(tmp_path), "--json")
    assert code == 0
    assert json.loads(text)["schema_version"] == "1.0"
