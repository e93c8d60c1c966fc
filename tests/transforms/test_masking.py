"""Planted secrets of every kind in every format never come out; what peers and faults are found by does."""

import ipaddress
import json
import pickle
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firstfault.jobs.knowledge import load_knowledge
from firstfault.transforms.bursts import fold_hits
from firstfault.transforms.formats.registry import READERS
from firstfault.transforms.in_flight import staged_rows
from firstfault.transforms.masked_rows import mask_cells, mask_rows
from firstfault.transforms.masking import PSEUDONYM, Masker
from firstfault.transforms.matching import CompiledPattern, match
from firstfault.transforms.staged import MARK_TYPE
from tests.transforms.formats.reading import FILE_TIME, read_table

KNOWLEDGE = load_knowledge()
PATTERNS = list(KNOWLEDGE.patterns.compiled)
ANYTHING = CompiledPattern(
    id="t.any", event_type="app.error", formats=("app",), literals=("attrs ",), regex=r"attrs (?P<message>.*)",
    conversions=(("message", "text"),), order=0,
)  # fmt: skip
MASKER = KNOWLEDGE.masking.masker(b"a key of the tests", "k1")
OTHER = KNOWLEDGE.masking.masker(b"another key of the tests", "k2")

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlMDE"
PEM = ["MIIEowIBAAKCAQEA0Z3VS5JJcds3xfnMIIEowIBAAKCAQEA", "Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OWFiY2RlZg", "c2hvcnQ="]
LINES = {
    # secret -> a line of free text that holds it
    "velvetfox": "open /home/velvetfox/ckpt/step_1.pt: permission denied",
    "amberlynx": "cwd=/mnt/users/amberlynx/run",
    "coralhawk": "session opened for user coralhawk by root(uid=0)",
    "dustyheron": "Accepted publickey for dustyheron from 10.7.3.9 port 22 ssh2",
    "emberotter": "uid=1001(emberotter) gid=100",
    "frostwren": "USER=frostwren LOGNAME=frostwren",
    "goldenibis": "wandb: Currently logged in as: goldenibis (team)",
    "hazelfinch": "hazelfinch@login01:~/run$ sbatch train.sh",
    "indigocrow": "sudo: indigocrow : TTY=pts/0 ; PWD=/ ; COMMAND=/bin/sh",
    "jadeviper": "(jadeviper) CMD (run-parts)",
    "kilnmoth": "UserId=kilnmoth(1002) GroupId=100(x)",
    "lilacstag": "rm: cannot remove '~lilacstag/tmp'",
    "mossplover": 'json {"username": "mossplover"}',
    "nylonkite": "\x1b[32muser=\x1b[1mnylonkite\x1b[0m",
    "Olive Sparrow": "Author: Olive Sparrow <x>",
    "plumgecko@corp.example.com": "mail plumgecko@corp.example.com now",
    "quartz.teal%40lab.example.org": "GET /u?m=quartz.teal%40lab.example.org HTTP/1.1",
    "54.182.33.7": "connect to 54.182.33.7:443 failed",
    "203.0.113.77": "peer 203.0.113.77<39138> closed",
    "198.51.100.23": "from ::ffff:198.51.100.23 port 22",
    "2606:4700:4700::1111": "dial [2606:4700:4700::1111]:443: timeout",
    "2a00:1450:4001:81b::200e": "route 2a00:1450:4001:81b::200e unreachable",
    "AKIAIOSFODNN7EXAMPLE": "InvalidAccessKeyId AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345": "remote: ghp_0123456789abcdefghijABCDEFGHIJ012345 denied",
    "github_pat_11ABCDEFG0abcdefghij_KLMNOPqrst": "with github_pat_11ABCDEFG0abcdefghij_KLMNOPqrst",
    "xoxb-123456789012-abcdefGHIJKL": "slack xoxb-123456789012-abcdefGHIJKL",
    "T00AA/B00BB/ccDDeeFF": "POST https://hooks.slack.com/services/T00AA/B00BB/ccDDeeFF 404",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345": "huggingface hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345 is gated",
    "sk-proj-AbCdEfGhIjKlMnOp0123456789": "openai sk-proj-AbCdEfGhIjKlMnOp0123456789",
    "sk-ant-api03-AbCdEfGhIjKlMnOp-0123": "key sk-ant-api03-AbCdEfGhIjKlMnOp-0123",
    "nvapi-AbCdEfGhIjKlMnOp0123": "ngc nvapi-AbCdEfGhIjKlMnOp0123",
    "glpat-AbCdEfGhIjKlMnOp0123": "git glpat-AbCdEfGhIjKlMnOp0123",
    JWT: f"jwt {JWT}",
    "ab.CD-12_34ef": "Authorization: Bearer ab.CD-12_34ef",
    "YWxpY2U6aHVudGVyMg==": "authorization=Basic YWxpY2U6aHVudGVyMg==",
    "sid-0a1b2c": "Cookie: session=sid-0a1b2c; theme=dark",
    "hunter2!x": "retry with password=hunter2!x",
    "two words pw": "conf {'db_password': 'two words pw'}",
    "escaped-pw": '"{\\"password\\": \\"escaped-pw\\"}"',
    "0123abcd4567ef": "export WANDB_API_KEY=0123abcd4567ef",
    "flagged-tok": "launch --hf-token flagged-tok --lr 1",
    "curlpw": "curl -s -u bob:curlpw https://host/x",
    "xmlpw": "<password>xmlpw</password>",
    "urlpw": "redis://default:urlpw@cache:6379/0",
    "AzSig%2Babc%3D": "PUT https://acct.blob/x?sv=1&sig=AzSig%2Babc%3D",
    "0aFF11bb22cc": "GET https://b.s3/k?X-Amz-Signature=0aFF11bb22cc&x=1",
    "AAAAC3NzaC1lZDI1NTE5AAAAIHk2QmZ3bm": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHk2QmZ3bm me",
    "tokval9z": "token: tokval9z",
}
KEPT = [
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.",
    "Lustre: scr-OST0005-osc: Connection to scr-OST0005 (at 10.7.20.9@o2ib) was lost",
    "NET/Socket : Using [0]eth0:10.7.3.21<0> gid fe80:0000:0000:0000:248a:0703:00b3:7a32 guid 248a:0703:00b3:7a32",
    "node-0421.cluster.local driver 550.90.12 NCCL version 2.26.2.1+cuda12.4 libcudnn.so.9.1.0.70 470.82.01",
    "GPU-8f6c9f2e-1d4b-4a53-9c1e-7b2a6d5e4f30 mac b8:ce:f6:aa:bb:cc fc00::1 127.0.0.1 172.16.9.8 169.254.1.1",
    "VBIOS 96.00.74.00.01 mlx5_core 0000:5e:00.0: Link down 0xdeadbeef max_tokens=4096 pad_token=<pad> step 7",
]
STAMP = "2026-11-20T03:00:00.000000+00:00 n1 "


def staged(source: str, data: str, masker: Masker = MASKER) -> pa.Table:
    planned = dict.fromkeys(("batch_id", "cluster", "job_id", "attempt_hint", "stream_id"))
    planned |= {"format": source, "zone": "UTC", "from_byte": 0, "file": "f", "file_time": FILE_TIME}
    rows = mask_rows(read_table(source, data.encode()), source, masker)
    hits = match(rows["text"], rows["rank"], source, [ANYTHING, *PATTERNS])
    table = staged_rows(rows, fold_hits(hits, rows, {}), pa.nulls(rows.num_rows, pa.list_(MARK_TYPE)), planned)
    table.validate(full=True)
    return table


def seen(table: pa.Table) -> str:
    """Everything that the table holds, as text."""
    return "\n".join(str(column.to_pylist()) for column in table.columns)


def leaked(table: pa.Table, secrets: Any) -> list[str]:
    """The secrets that the table shows."""
    text = seen(table)
    return [secret for secret in secrets if secret in text or repr(secret)[1:-1] in text]


def text_lines(prefix: str) -> str:
    block = ["-----BEGIN RSA PRIVATE KEY-----", *PEM, "-----END RSA PRIVATE KEY-----"]
    return "".join(f"{prefix}{line}\n" for line in [*LINES.values(), *block, *KEPT])


PREFIXES = {
    "app": "2026-11-20 03:00:00,000 - INFO - attrs ",
    "kernel": f"{STAMP}python[7]: ",
    "slurmctld": "[2026-11-20T03:00:00.250] ",
    "kubelet": "I1120 03:00:00.000000    7 kubelet.go:1] ",
    "fabricmanager": "[Nov 20 2026 03:00:00] [INFO] [tid 7] ",
    "readiness": "",
}


@pytest.mark.parametrize("source", sorted(PREFIXES))
def test_text_logs(source: str) -> None:
    table = staged(source, text_lines(PREFIXES[source]))
    assert leaked(table, [*LINES, *PEM]) == []
    messages = table["message"].to_pylist()
    assert [m.removeprefix(PREFIXES[source]) for m in messages[-len(KEPT) :]] == KEPT


def test_attributes_of_events_are_those_of_masked_text() -> None:
    table = staged("app", "2026-11-20 03:00:00,000 - INFO - attrs user=velvetfox of 203.0.113.77\n")
    ((hit,),) = table["hits"].to_pylist()
    user, address = MASKER.pseudonym("user", "velvetfox"), MASKER.pseudonym("ip", "203.0.113.77")
    assert dict(hit["attrs"])["message"] == f"user={user} of {address}"


def test_what_is_masked_keeps_its_place_in_the_file() -> None:
    data = "user=velvetfox\nstep 1\n"
    table = staged("readiness", data)
    assert table["byte_offset"].to_pylist() == [0, len("user=velvetfox\n")]
    assert table["length"].to_pylist() == [len("user=velvetfox\n"), len("step 1\n")]


def test_one_user_is_one_pseudonym_wherever_the_name_stands() -> None:
    sacct = "JobID|State|User|Account|StdOut|Start|End\n7|FAILED|velvetfox|physics|/home/velvetfox/o.txt|x|y\n"
    fields = dict(staged("sacct", sacct)["fields"].to_pylist()[1])
    user = MASKER.pseudonym("user", "velvetfox")
    assert (fields["User"], fields["StdOut"]) == (user, f"/home/{user}/o.txt")
    assert fields["Account"] == MASKER.pseudonym("account", "physics")
    assert staged("app", "in /home/velvetfox/x user=velvetfox\n")["message"].to_pylist() == [
        f"in /home/{user}/x user={user}"
    ]


def test_accounting_rows_are_masked_by_column_and_cell() -> None:
    data = (
        "JobID|JobName|State|User|Account|Partition|NodeList|Comment\n"
        "7|physics|CANCELLED by coralhawk|velvetfox|physics|physics|node-0421|x\n"
        "8|a|FAILED|amberlynx|x|train|node-[0103,0118]|password=hunter2!x\n"
        "alpha|9|FAILED|jadeviper\n"
    )
    table = staged("sacct", data)
    assert leaked(table, ["coralhawk", "velvetfox", "amberlynx", "jadeviper", "hunter2!x"]) == []
    user, account = MASKER.pseudonym("user", "velvetfox"), MASKER.pseudonym("account", "physics")
    by = MASKER.pseudonym("user", "coralhawk")
    assert table["message"].to_pylist()[1] == f"7|physics|CANCELLED by {by}|{user}|{account}|physics|node-0421|x"
    assert "node-[0103,0118]" in seen(table)


def test_a_table_without_header_shows_no_name() -> None:
    table = staged("sacct", "7|7|train|velvetfox|physics|FAILED|2026-11-20T03:00:00|cpu=96,gres/gpu=8\n")
    assert table["disposition"].to_pylist() == ["quarantined"]
    assert leaked(table, ["velvetfox", "physics"]) == []
    assert table["message"].to_pylist()[0].endswith("|FAILED|2026-11-20T03:00:00|cpu=96,gres/gpu=8")


def test_accounting_as_json() -> None:
    job = {
        "job_id": 7, "name": "train", "user": "velvetfox", "account": "physics", "nodes": "node-0421",
        "association": {"user": "velvetfox", "account": "physics"}, "kill_request_user": "coralhawk",
        "state": {"current": ["CANCELLED"]}, "stdout_expanded": "/home/amberlynx/o.txt",
    }  # fmt: skip
    whole = json.dumps({"jobs": [job]})
    for data in (whole, whole[:-30]):
        table = staged("sacct_json", data)
        assert leaked(table, ["velvetfox", "physics", "amberlynx", "coralhawk"]) == []
        assert "node-0421" in seen(table)


def test_kubernetes_objects_stay_json() -> None:
    env = [{"name": "WANDB_API_KEY", "value": "0123abcd4567ef"}, {"name": "NCCL_DEBUG", "value": "INFO"}]
    pod = {
        "kind": "Pod",
        "metadata": {"name": "train-0", "labels": {"owner": "velvetfox", "job-name": "train"}},
        "spec": {"nodeName": "node-0421", "containers": [{"env": env}], "volumes": [{"secret": {"secretName": "tls"}}]},
        "status": {"phase": "Failed", "message": "; ".join(LINES.values())},
    }
    event = {"kind": "Event", "message": "mail plumgecko@corp.example.com", "involvedObject": {"kind": "Pod"}}
    table = staged("kube", json.dumps({"items": [pod, event]}))
    assert leaked(table, LINES) == []
    first = json.loads(table["message"].to_pylist()[0])
    assert first["spec"]["nodeName"] == "node-0421"
    fields = dict(table["fields"].to_pylist()[0])
    assert fields["spec.containers.0.env.1.value"] == "INFO"
    assert fields["spec.containers.0.env.0.value"] == MASKER.pseudonym("secret", "0123abcd4567ef")
    assert fields["metadata.labels.owner"] == MASKER.pseudonym("user", "velvetfox")


def test_broken_json_is_quarantined_masked() -> None:
    for source in ("kube", "journal", "sacct_json"):
        table = staged(source, '{"items": [{"user": "velvetfox", "token": "0a1B2c3D", "x": "/home/amberlynx", ')
        assert table["disposition"].to_pylist()[-1] == "quarantined"
        assert leaked(table, ["velvetfox", "0a1B2c3D", "amberlynx"]) == []


def test_journal_records_and_their_arrays_of_bytes() -> None:
    lines = [*LINES.values(), *KEPT]
    plain = [json.dumps({"MESSAGE": line, "_HOSTNAME": "n1"}) for line in lines]
    spelled = [json.dumps({"MESSAGE": list(line.encode()), "_HOSTNAME": "n1"}) for line in lines]
    table = staged("journal", "\n".join([*plain, *spelled]) + "\n")
    assert leaked(table, LINES) == []
    assert str(list(b"hunter2!x"))[1:-1] not in seen(table)
    texts = table["text" if "text" in table.column_names else "message"].to_pylist()
    assert [json.loads(t)["MESSAGE"] for t in texts[len(LINES) : len(lines)]] == KEPT
    assert [bytes(json.loads(t)["MESSAGE"]).decode() for t in texts[-len(KEPT) :]] == KEPT


def test_labels_of_samples() -> None:
    labels = {
        "user": "velvetfox", "account": "physics", "token": "0a1B2c3D", "contact": "plumgecko@corp.example.com",
        "UUID": "GPU-8f6c9f2e-1d4b-4a53-9c1e-7b2a6d5e4f30", "instance": "10.7.3.21:9400", "pci_bus_id": "0000:3B:00.0",
        "client": "203.0.113.77", "Hostname": "node-0421", "path": "/home/amberlynx/x",
    }  # fmt: skip
    metric = json.dumps({"__name__": "DCGM_FI_DEV_GPU_TEMP", **labels})
    data = f'{{"data":{{"result":[{{"metric":{metric},"values":[[1795140000,"61"],[1795140060,"nonsense"]]}}]}}}}'
    pairs = ",".join(f'{k}="{v}"' for k, v in labels.items())
    for table in (staged("prometheus", data), staged("exposition", f"DCGM_FI_DEV_GPU_TEMP{{{pairs}}} 61\n")):
        assert leaked(table, ["velvetfox", "physics", "0a1B2c3D", "plumgecko", "203.0.113.77", "amberlynx"]) == []
        found = dict(table["labels"].to_pylist()[0])
        assert {k: found[k] for k in ("UUID", "instance", "pci_bus_id", "Hostname")} == {
            k: labels[k] for k in ("UUID", "instance", "pci_bus_id", "Hostname")
        }


def test_a_bad_sample_line_is_quarantined_masked() -> None:
    table = staged("exposition", 'up{user="velvetfox",ip="203.0.113.77" 1 1 1\n')
    assert table["disposition"].to_pylist() == ["quarantined"]
    assert leaked(table, ["velvetfox", "203.0.113.77"]) == []


@pytest.mark.parametrize("source", sorted(READERS))
def test_every_format_takes_the_planted_lines(source: str) -> None:
    assert leaked(staged(source, text_lines("")), [*LINES, *PEM]) == []


def test_pseudonyms_are_stable_under_one_key_and_differ_between_keys() -> None:
    line = "user=velvetfox at 203.0.113.77"
    assert MASKER.text(line) == pickle.loads(pickle.dumps(MASKER)).text(line)  # noqa: S301
    assert "k1" in MASKER.text(line)
    assert OTHER.pseudonym("user", "x")[-11:] != MASKER.pseudonym("user", "x")[-11:]
    assert MASKER.pseudonym("user", "x") != MASKER.pseudonym("account", "x")
    assert "a key of the tests" not in repr(MASKER)


def test_listed_networks_stay() -> None:
    listed = (ipaddress.ip_network("203.0.113.0/24"),)
    masker = KNOWLEDGE.masking.masker(b"k", "k1", listed)
    assert masker.text("203.0.113.9 and 203.0.114.9").startswith("203.0.113.9 and <ip:k1:")


def test_an_open_key_block_ends() -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", *["MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn"] * 130]
    masked = MASKER.texts(pa.array(lines), "app").to_pylist()
    assert [line.startswith("MII") for line in masked[1:]] == [False] * 120 + [True] * 10
    tail = MASKER.texts(pa.array(["MIIEowIBAAKCAQEA0Z3VS5", "c2hvcnQ", "-----END PRIVATE KEY-----"]), "app").to_pylist()
    assert "MII" not in str(tail)
    assert "c2hvcnQ" not in str(tail)


def test_cells_are_found_in_turn_else_by_word() -> None:
    old, new = ["x", "x", "q"], ["x", "<u>", "q"]
    assert mask_cells("x|x|q", old, new) == "x|<u>|q"
    assert mask_cells("x xx q, nothing in turn", [*old, "gone"], [*new, "gone"]) == ("<u> xx q, nothing in turn")


PIECES = st.sampled_from([
    *LINES.values(), *KEPT, "-----BEGIN X KEY-----", "-----END X KEY-----", "user", "=", ":", '"', "\\", "password",
    "@", "8.8.8.8", ".", "://", "/home/", "<", ">", "<user:k1:3fa9c01b22>", "\x1b[1m", "\ufdd0", "token", " ", "\n",
    "'", "{",
])  # fmt: skip
TEXT = st.lists(PIECES | st.text(max_size=8), max_size=8).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.none() | TEXT, max_size=4))
@example(["user=<user:k1:3fa9c01b22>"])
def test_masking_never_fails_is_bounded_and_settles(lines: list[str | None]) -> None:
    texts = pa.array([None if x is None else x.encode(errors="replace").decode() for x in lines], pa.string())
    once = MASKER.texts(texts, "app")
    again = MASKER.texts(once, "app")
    assert once.is_valid().equals(texts.is_valid())
    assert again.to_pylist() == once.to_pylist()
    longest = len(MASKER.pseudonym("credential", "x"))
    for before, after in zip(texts.to_pylist(), once.to_pylist(), strict=True):
        assert after is None or len(after) <= longest * (len(before) + 1)


def test_a_pseudonym_says_kind_key_and_nothing_else() -> None:
    assert re.fullmatch(PSEUDONYM, MASKER.pseudonym("user", "velvetfox"))
