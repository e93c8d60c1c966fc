"""The landing zone as a file system: listing, heads, whole lines, decompression."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.fs as pafs
import zstandard

BLOCK_BYTES = 1 << 20
_NAME_TIME = re.compile(r"(\d{8})T?-?(\d{6})Z?")


class LandingError(ValueError):
    """The landing zone cannot be read; the message says what to do."""


@dataclass(frozen=True)
class LandingFile:
    """One file below the landing zone."""

    path: str
    size_bytes: int
    modified: datetime

    @property
    def time(self) -> datetime:
        """UTC time in the file's name (`20261013T050500`), else its modification time."""
        found = _NAME_TIME.search(self.path.rsplit("/", 1)[-1])
        if found:
            try:
                return datetime.strptime("".join(found.groups()), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
            except ValueError:
                return self.modified
        return self.modified


@dataclass(frozen=True)
class Landing:
    """A landing zone at a local path or an object-store URI."""

    uri: str

    def _filesystem(self) -> tuple[Any, str]:
        if "://" in self.uri:
            return pafs.FileSystem.from_uri(self.uri)  # type: ignore[no-any-return]
        return pafs.LocalFileSystem(), str(self.uri)

    def check(self) -> None:
        """Fails early when there is nothing to list.

        Raises:
            LandingError: The place does not exist or is no folder.
        """
        fs, root = self._filesystem()
        if fs.get_file_info(root).type != pafs.FileType.Directory:
            raise LandingError(
                f"{self.uri}: no such folder; give --landing the folder that holds scheduler/, nodes/ and jobs/."
            )

    def list_files(self) -> list[LandingFile]:
        """Every file, sorted by path; hidden ones are left out."""
        fs, root = self._filesystem()
        found = fs.get_file_info(pafs.FileSelector(root, recursive=True))
        start = len(root.rstrip("/")) + 1
        return sorted(
            (
                LandingFile(i.path[start:], i.size, i.mtime.astimezone(UTC))
                for i in found
                if i.type == pafs.FileType.File and not i.base_name.startswith(".")
            ),
            key=lambda f: f.path,
        )

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """Bytes [start, end) of a file as stored."""
        fs, root = self._filesystem()
        with fs.open_input_file(f"{root.rstrip('/')}/{path}") as stream:
            stream.seek(start)
            return bytes(stream.read() if end is None else stream.read(end - start))

    def inflate(self, path: str, compression: str) -> "Inflated":
        """The uncompressed stream of a compressed file."""
        return Inflated(self.read(path), compression)


class Inflated:
    """Blocks of an uncompressed stream; ends early, without error, where the file is cut or damaged.

    Attributes:
        whole: False once the end of the file was reached and the stream was not complete.
    """

    def __init__(self, raw: bytes, compression: str) -> None:
        self.whole = True
        self._raw = raw
        self._compression = compression

    def __iter__(self) -> Iterator[bytes]:
        return self._gunzip() if self._compression == "gzip" else self._unzstd()

    def _gunzip(self) -> Iterator[bytes]:
        machine = zlib.decompressobj(wbits=31)
        waiting = self._raw
        while waiting:
            try:
                block = machine.decompress(waiting, BLOCK_BYTES)
            except zlib.error:
                break
            if block:
                yield block
            waiting = machine.unconsumed_tail
            if machine.eof:  # the next member of a concatenated file
                waiting, machine = machine.unused_data.lstrip(b"\0"), zlib.decompressobj(wbits=31)
                if not waiting:
                    return
        self.whole = False

    def _unzstd(self) -> Iterator[bytes]:
        machine = zstandard.ZstdDecompressor().decompressobj(read_across_frames=False)
        for start in range(0, len(self._raw), BLOCK_BYTES):
            try:
                block = machine.decompress(self._raw[start : start + BLOCK_BYTES])
            except zstandard.ZstdError:
                break
            if block:
                yield block
        self.whole = machine.eof
