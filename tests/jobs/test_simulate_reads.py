"""What a rehearsed fleet writes is what the readers read: no file unmatched, no line in quarantine."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

from firstfault.jobs.fleet import generate
from firstfault.jobs.fleet.knobs import chosen_profile
from firstfault.jobs.sources import load_sources
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.registry import READERS
from firstfault.transforms.staged import QUARANTINED


@pytest.mark.parametrize("name", ["pretrain", "research", "operations"])
def test_every_file_of_a_profile_is_matched_and_read(tmp_path: Path, name: str) -> None:
    profile = chosen_profile(name, seed=4, attempts=6, nodes=8, days=2, lines_per_day=60_000, deliver_labels=True)
    landing = generate(profile, tmp_path).landing
    sources, rows = load_sources(), dict.fromkeys(("kernel", "app", "exposition", "sacct"), 0)
    for file in (f for f in landing.rglob("*") if f.is_file()):
        path = str(file.relative_to(landing))
        owned = sources.own(path)
        assert owned is not None, path
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        header = data.partition(b"\n")[0]
        ctx = StreamContext(owned.format, owned.node, owned.rank, "UTC", written, header=header, file=path)
        read = READERS[owned.format](data, ctx)
        assert QUARANTINED not in read["disposition"].to_pylist(), path
        rows[owned.format] = rows.get(owned.format, 0) + read.num_rows
    assert all(rows.values()), rows
