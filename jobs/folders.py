"""Folders that a command may empty: those it wrote itself, known by a marker."""

import shutil
from pathlib import Path


class UsageError(ValueError):
    """The folder given is not the command's to empty."""


def emptied(folder: Path, marker: str, who: str, flag: str) -> None:
    """Makes a folder empty and marks it.

    Args:
        folder: What to empty; made when missing.
        marker: Name of the file that says who wrote it.
        who: The command, for the message.
        flag: The option that takes another folder.

    Raises:
        UsageError: It holds something that this command did not write, or it is no folder.
    """
    if folder.exists():
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder; give {flag} another one.")
        if any(folder.iterdir()) and not (folder / marker).exists():
            raise UsageError(f"{folder} is not empty and no {who} wrote it; give {flag} another folder.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / marker).touch()
