"""promote: the challenger becomes what the nights judge by, or the former champion does again.

The lake is changed first and the alias follows: what the nights do is true even where the tracking server is away.
"""

from firstfault.jobs.champion import RuleSets, Succession
from firstfault.jobs.lock import holding
from firstfault.jobs.review.registry import Entry, Registry, UsageError
from firstfault.jobs.settings import Settings


def promote(settings: Settings, registry: Registry, *, by: str, why: str, force: bool = False) -> Succession:
    """Makes the challenger the champion of the lake.

    Args:
        settings: With `lake`.
        registry: Where the challenger is registered.
        by: Who promotes.
        why: In a sentence.
        force: Against the gate; `why` is then all that explains it.

    Raises:
        UsageError: There is no challenger, its rules are not in the lake, or the gate refused it.
        LakeBusyError: Another run holds the lake.
    """
    challenger = registry.challenger()
    if not (challenger.passed or force):
        raise UsageError(_refusal(challenger))
    sets = RuleSets(str(settings.lake))
    sets.root_of(challenger.ruleset_version)
    told = why if challenger.passed else f"{why} (against the gate: {challenger.objections})"
    with holding(str(settings.lake), stale_s=settings.lock_stale_s, heartbeat_s=settings.heartbeat_s):
        after = sets.crown(challenger.ruleset_version, by=by, why=told)
    registry.crown(challenger.ruleset_version)
    return after


def roll_back(settings: Settings, registry: Registry, *, by: str, why: str) -> Succession:
    """Makes the former champion the champion again.

    Raises:
        UsageError: There is no former one.
        LakeBusyError: Another run holds the lake.
    """
    with holding(str(settings.lake), stale_s=settings.lock_stale_s, heartbeat_s=settings.heartbeat_s):
        after = RuleSets(str(settings.lake)).roll_back(by=by, why=why)
    registry.crown(after.champion.version)
    return after


def _refusal(challenger: Entry) -> str:
    return (
        f"rule set {challenger.ruleset_version} is refused: {challenger.objections} "
        "To promote it all the same, give --force and say --why."
    )
