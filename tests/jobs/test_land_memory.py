"""Landing holds a bounded part of its input, whatever the size of that."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import resource, sys
from functools import partial
import pyarrow as pa
from dataclasses import asdict
from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.land import Lander
from firstfault.jobs.landing import Landing
from firstfault.jobs.raw_files import ParquetSink
from tests.jobs.test_land import planned

root, lake, copies, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
knowledge = load_knowledge()
lander = Lander(
    Landing(root), tuple(knowledge.patterns.compiled), knowledge.vocabulary.folding,
    knowledge.masking.masker(b"a key of the tests", "t"), knowledge.retention.retention(),
    knowledge.clock_marks,
    partial(ParquetSink, lake, 16 << 20),
)
ranges = [asdict(planned("app.log", b"", "app", to_byte=size, stream_id=str(n), job_id="1")) for n in range(copies)]
rows = sum(batch.num_rows for batch in lander.run([pa.RecordBatch.from_pylist(ranges)]))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
LINES = 40_000


def landed(root: Path, lake: Path, copies: int, size: int) -> tuple[int, int]:
    """Rows that went on, and the peak of the memory in MiB."""
    command = [sys.executable, "-c", PROGRAM, str(root), str(lake), str(copies), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    rows, peak_mib = done.stdout.split()
    return int(rows), int(peak_mib)


@pytest.mark.slow
def test_five_times_the_input_takes_no_more_memory(tmp_path):
    log = tmp_path / "app.log"
    texts = (
        f"2026-11-20 03:{n // 1000:02d}:{n % 60:02d},{n % 1000:03d} - INFO - chunk {n} {n * 7919:x}"
        for n in range(LINES)
    )
    log.write_text("\n".join(texts) + "\n")
    size = log.stat().st_size
    few, little = landed(tmp_path, tmp_path / "few", 10, size)
    many, much = landed(tmp_path, tmp_path / "many", 50, size)
    assert many > few
    assert much < little * 1.3, (little, much)
