"""champion: the rule set that the nights of a lake judge by, and those that were it before.

The rule sets lie in the lake, each below the hash that its verdicts carry, and one small file says which of them is the
champion: a night needs neither a tracking server nor the folder that somebody promoted from. Without that file the
night judges by the rule set that ships with the package.
"""

import json
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.fs as pafs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.places import put, read_text
from firstfault.jobs.raw_files import lake_filesystem
from firstfault.rules.engine.load import VERSION_DIGITS, ruleset_version

FOLDER, FILE = "_rules", "champion.json"
CODE = "engine"
"""What lies among the rules and is no knowledge."""
SHIPPED = "shipped with the package"


class UsageError(ValueError):
    """What the champion file says cannot be used, or there is nothing to go back to."""


class Reign(BaseModel):
    """One rule set's time as champion."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = Field(pattern=rf"^[0-9a-f]{{{VERSION_DIGITS}}}$")
    since: datetime
    by: str
    why: str


class Succession(BaseModel):
    """All champions of a lake, the present one last."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reigns: tuple[Reign, ...] = Field(min_length=1)

    @property
    def champion(self) -> Reign:
        """The present one."""
        return self.reigns[-1]

    @property
    def former(self) -> Reign | None:
        """The newest other one, which a roll-back returns to."""
        return next((r for r in reversed(self.reigns) if r.version != self.champion.version), None)


@dataclass(frozen=True)
class RuleSets:
    """The rule sets of a lake.

    Attributes:
        lake: Root of the lake.
    """

    lake: str

    def succession(self) -> Succession | None:
        """Who is and was champion; None where the lake has only ever used the shipped rules.

        Raises:
            UsageError: The file is not what was written.
        """
        text = read_text(self._place(FILE))
        if text is None:
            return None
        try:
            return Succession.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            raise UsageError(
                f"{self._place(FILE)}: {'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}; "
                "restore it, or remove it to judge by the shipped rules."
            ) from error

    def champion_root(self) -> Path:
        """The folder of the champion's rules; of the shipped ones where there is no champion.

        Raises:
            UsageError: The champion's rules are not in the lake.
        """
        succession = self.succession()
        return self.root_of(succession.champion.version) if succession else RULES_ROOT

    def root_of(self, version: str) -> Path:
        """The folder of one rule set; brought to this machine where the lake is in an object store.

        Raises:
            UsageError: It is not in the lake, or not as it was promoted.
        """
        fs, path = lake_filesystem(self._place(version))
        here = isinstance(fs, pafs.LocalFileSystem)
        root = Path(path) if here else Path(tempfile.mkdtemp(prefix="firstfault-rules-"))
        if not here and fs.get_file_info(path).type == pafs.FileType.Directory:
            pafs.copy_files(path, str(root), source_filesystem=fs, destination_filesystem=pafs.LocalFileSystem())
        if not root.is_dir() or ruleset_version(root) != version:
            raise UsageError(
                f"{self._place(version)} is not that rule set as it was promoted; promote it again from its folder."
            )
        return root

    def keep(self, root: Path) -> str:
        """Copies a rule set into the lake, unless it is there; its version.

        Args:
            root: A rules folder that loads.
        """
        version = ruleset_version(root)
        for file in sorted(root.rglob("*.yaml")):
            name = file.relative_to(root).as_posix()
            if name.split("/")[0] != CODE:
                put(self._place(f"{version}/{name}"), file.read_text("utf-8"))
        return version

    def crown(self, version: str, *, by: str, why: str) -> Succession:
        """Makes a rule set of the lake the champion; the first time, the shipped one becomes the one to go back to.

        Args:
            version: Of a rule set that `keep` copied.
            by: Who.
            why: In a sentence.
        """
        now = datetime.now(UTC)
        before = self.succession()
        reigns = (
            before.reigns if before else (Reign(version=self.keep(RULES_ROOT), since=now, by=SHIPPED, why=SHIPPED),)
        )
        after = Succession(reigns=(*reigns, Reign(version=version, since=now, by=by, why=why)))
        put(self._place(FILE), json.dumps(after.model_dump(mode="json"), indent=1) + "\n")
        return after

    def roll_back(self, *, by: str, why: str) -> Succession:
        """Makes the former champion the champion again.

        Raises:
            UsageError: There is no former one.
        """
        succession = self.succession()
        former = succession.former if succession else None
        if former is None:
            raise UsageError(f"{self.lake}: no rule set was champion before this one, there is nothing to go back to.")
        self.root_of(former.version)
        return self.crown(former.version, by=by, why=why)

    def _place(self, name: str) -> str:
        return f"{self.lake.rstrip('/')}/{FOLDER}/{name}"
