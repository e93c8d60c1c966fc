"""Entries of catalogues: a code, who says what of it, what we chose; and the states of schedulers."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from firstfault.rules.engine.yaml_io import Strict

Key = Annotated[str, BeforeValidator(lambda key: str(key) if isinstance(key, int) else key), Field(min_length=1)]
StateWord = Annotated[str, Field(pattern=r"^[A-Z][A-Z_]*$")]
Branch = Annotated[str, Field(pattern=r"^R?\d+(\.\d+)*$")]
"""Branch of a driver (`R575`) or version of a library (`2.30`)."""
STANCES = {
    **dict.fromkeys(("ignore", "not_fatal", "restart_app", "update"), "mild"),
    **dict.fromkeys(("reset", "restart_vm", "reboot", "inspect", "drain", "replace", "fatal"), "severe"),
    **dict.fromkeys(("describes", "depends", "support", "unused"), "none"),
}
"""What a source can say of a code, and whether that is mild, severe or neither: mild against severe is a dispute."""
FAMILIES = ("volta", "turing", "ampere", "ada", "hopper", "blackwell", "grace_blackwell")
"""GPU architectures, oldest first."""


class Opinion(Strict):
    """What one source says of a code.

    Attributes:
        name: The source.
        says: Its opinion in one word of `STANCES`.
        opinion: The same in words.
        since: First version for which it says so; None if it names none.
        until: First version for which it says so no more.
    """

    name: Annotated[str, Field(min_length=1)]
    says: str = "describes"
    opinion: Annotated[str, Field(min_length=1)]
    since: Branch | None = None
    until: Branch | None = None


class Entry(Strict):
    """One code.

    Attributes:
        key: The code as events carry it.
        also: Other spellings of the same thing.
        meaning: In words.
        families: GPU architectures that have it; empty for all.
        since: First version whose code has this meaning; None if it is older than our sources.
        until: First version whose code has it no more.
        class_: Short word that rules test.
        role: Part that an event with this code plays.
        category: What it would mean as an origin.
        action: What its vendor advises.
        sources: Who says what.
        choice: Why role and category were chosen.
    """

    key: Key
    also: list[str] = Field(default_factory=list)
    meaning: str
    families: list[str] = Field(default_factory=list)
    since: Branch | None = None
    until: Branch | None = None
    class_: str = Field(alias="class", pattern=r"^[a-z][a-z0-9_]*$")
    role: str
    category: str
    action: str = ""
    sources: list[Opinion] = Field(min_length=1)
    choice: Annotated[str, Field(min_length=1)]

    @property
    def disputed(self) -> bool:
        """One source calls it mild, another severe."""
        return {"mild", "severe"} <= {STANCES.get(source.says) for source in self.sources}


class State(Strict):
    """One word of a scheduler.

    Attributes:
        state: The word in upper case.
        outcome: Outcome that it claims; None for an attempt that goes on or went well.
        is_terminal: The attempt is over.
        is_failure: It did not succeed.
        source: Whose word it is.
        meaning: In words.
    """

    state: StateWord
    outcome: str | None
    is_terminal: bool
    is_failure: bool
    source: str
    meaning: str
