"""Small files of a lake, on a local disk or in an object store."""

import uuid
from pathlib import Path

import pyarrow.fs as pafs

from firstfault.jobs.raw_files import lake_filesystem


def is_there(place: str) -> bool:
    """Whether there is such a file."""
    fs, path = lake_filesystem(place)
    return bool(fs.get_file_info(path).type == pafs.FileType.File)


def read_text(place: str) -> str | None:
    """What the file says; None where there is none."""
    if not is_there(place):
        return None
    fs, path = lake_filesystem(place)
    with fs.open_input_stream(path) as source:
        return bytes(source.read()).decode("utf-8")


def put(place: str, text: str) -> None:
    """Whole or not at all: a reader may open it at any moment."""
    fs, path = lake_filesystem(place)
    fs.create_dir(path.rsplit("/", 1)[0], recursive=True)
    is_local = isinstance(fs, pafs.LocalFileSystem)
    made = f"{path}.{uuid.uuid4().hex[:8]}" if is_local else path
    try:
        with fs.open_output_stream(made) as out:
            out.write(text.encode())
        if is_local:
            fs.move(made, path)
    except OSError:
        if is_local:
            Path(made).unlink(missing_ok=True)
        raise
