"""sources.yaml: which file of the landing zone is what, and who owns it."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from firstfault.transforms.formats.registry import BINARY_FORMATS, READERS, SNAPSHOT_FORMATS
from firstfault.transforms.keys import HOME_CLUSTER, HOME_NET, HOME_NODE

BUILT_IN = Path(__file__).with_name("sources.yaml")
PLACEHOLDERS = ("cluster", "node", "job", "attempt", "rank", "local_rank")
_HOMES = {"node": HOME_NODE, "net": HOME_NET, "cluster": HOME_CLUSTER}
_SUFFIX = re.compile(r"(?P<rotation>(?:[.-]\d{1,8})?)(?P<compression>\.gz|\.zst)?$")
_NUMERIC = {"attempt", "rank", "local_rank"}


_DOCUMENT = re.compile(r"\.json(\.gz|\.zst)?$")


def is_whole_file(source_format: str, path: str) -> bool:
    """Whether a file is read whole or not at all: a snapshot or a JSON document."""
    return source_format in SNAPSHOT_FORMATS or is_document(source_format, path)


def is_document(source_format: str, path: str) -> bool:
    """Whether a file is one document, whose units are items or samples and not lines."""
    return source_format in BINARY_FORMATS or (source_format != "journal" and _DOCUMENT.search(path) is not None)


class SourcesError(ValueError):
    """sources.yaml cannot be used; the message names the file, the entry and the remedy."""


class Source(BaseModel):
    """One entry: a glob with placeholders, its format, its owner and its time zone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    glob: str
    format: str
    owner: Literal["job", "node", "net", "cluster"]
    zone: str | None = None

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        if value not in READERS:
            raise ValueError(f"unknown format {value!r}; one of {', '.join(sorted(READERS))}")
        return value

    @field_validator("glob")
    @classmethod
    def _known_placeholders(cls, value: str) -> str:
        unknown = set(re.findall(r"\{(\w*)\}", value)) - set(PLACEHOLDERS)
        if unknown:
            raise ValueError(f"unknown placeholder {sorted(unknown)}; one of {list(PLACEHOLDERS)}")
        return value

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The glob as a regular expression over the path without rotation and compression suffix."""
        parts = re.split(r"(\{\w+\}|\*\*/?|\*)", self.glob)
        return re.compile("".join(_piece(p) for p in parts) + r"\Z")


def _piece(part: str) -> str:
    if part.startswith("{"):
        name = part[1:-1]
        return rf"(?P<{name}>\d+)" if name in _NUMERIC else rf"(?P<{name}>[^/]+?)"
    if part.startswith("**"):
        return "(?:.*/)?" if part.endswith("/") else ".*"
    return "[^/]*" if part == "*" else re.escape(part)


@dataclass(frozen=True)
class Owned:
    """What a path says of its stream."""

    format: str
    zone: str
    cluster: str
    job_id: str
    attempt: int | None
    node: str | None
    rank: int | None
    compression: str
    base_name: str

    @property
    def owner(self) -> str:
        """`job:<id>`, `node:<name>`, `net` or `cluster`."""
        if not self.job_id.startswith("_"):
            return f"job:{self.job_id}"
        return f"node:{self.node}" if self.job_id == HOME_NODE else self.job_id[1:]


class Sources(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cluster: str = "main"
    zone: str = "UTC"
    sources: list[Source]

    def own(self, path: str) -> Owned | None:
        """What the first matching entry says of `path` (below the landing zone), or None."""
        for tried in _spellings(path):
            for source in self.sources:
                found = source.pattern.match(tried)
                if found:
                    return self._owned(source, found.groupdict(), path, tried)
        return None

    def _owned(self, source: Source, named: dict[str, str | None], path: str, tried: str) -> Owned:
        node = named.get("node")
        suffix = path.rsplit(".", 1)[-1]
        return Owned(
            format=source.format,
            zone=source.zone or self.zone,
            cluster=named.get("cluster") or self.cluster,
            job_id=_HOMES.get(source.owner) or named.get("job") or "_unknown",
            attempt=_number(named.get("attempt")),
            node=node.split(".")[0].lower() if node else None,
            rank=_number(named.get("rank")),
            compression={"gz": "gzip", "zst": "zstd"}.get(suffix, "none"),
            base_name=tried.rsplit("/", 1)[-1],
        )


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _spellings(path: str) -> list[str]:
    """The path as it is, without compression suffix, and without rotation suffix."""
    plain = re.sub(r"\.(gz|zst)$", "", path)
    rotated = re.sub(r"[.-]\d{1,8}$", "", plain)
    return list(dict.fromkeys([path, plain, rotated]))


def load_sources(path: Path | None = None) -> Sources:
    """The entries of `path`, or the built-in layout.

    Raises:
        SourcesError: One sentence: file, entry, what is wrong and what to do.
    """
    file = path or BUILT_IN
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        return Sources.model_validate(data)
    except OSError as error:
        raise SourcesError(f"{file}: cannot be read ({error.strerror}); give --sources a readable file.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark else str(file)
        raise SourcesError(f"{where}: not valid YAML; mend it or leave --sources out.") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(p) for p in first["loc"]) or "the file"
        raise SourcesError(f"{file}: {key}: {first['msg']}; see jobs/sources.yaml for the built-in one.") from None
