"""registry: rule sets as versions of one registered model in MLflow, `challenger` and `champion` as its aliases.

A version is what a trial looked at: the rules as artifacts, both sides in figures, and whether the gate lets it pass.
What the nights judge by lies in the lake (`champion`); the alias is the record of it that people look at.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstfault.jobs.review.tracking import artifacts_of, tracking_uri
from firstfault.jobs.review.trial import Trial
from firstfault.jobs.settings import Settings

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

EXPERIMENT, MODEL = "/firstfault/rule-sets", "firstfault-rules"
CHAMPION, CHALLENGER = "champion", "challenger"
RULES = "rules"
PASSED, OBJECTIONS, RULESET = "gate", "objections", "ruleset_version"
MAX_TAG = 4000
"""MLflow keeps 5,000 characters of a tag."""


class UsageError(ValueError):
    """There is no such version, or it may not be promoted; the message says what to do."""


@dataclass(frozen=True)
class Entry:
    """One version of the model.

    Attributes:
        number: Of the model version.
        ruleset_version: Hash of the rules.
        passed: Whether the gate let it pass.
        objections: Why it did not.
        aliases: Of this version.
    """

    number: str
    ruleset_version: str
    passed: bool
    objections: str
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class Registry:
    """The rule sets that a tracking server knows.

    Attributes:
        uri: Of the tracking server, or of a SQLite file.
        artifacts: Where a new experiment keeps its files; the server's choice when None.
    """

    uri: str
    artifacts: str | None = None

    @cached_property
    def client(self) -> "MlflowClient":
        """MLflow's client; it takes seconds to import."""
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.uri)

    def submit(self, trial: Trial, report: Iterable[Path] = ()) -> Entry:
        """Registers the candidate of a trial as the challenger.

        Args:
            trial: What it did.
            report: Files to keep with it.
        """
        run = self.client.create_run(
            self._experiment(), run_name=f"candidate {trial.candidate_version}", tags={"kind": "candidate"}
        ).info
        for name, value in _params(trial).items():
            self.client.log_param(run.run_id, name, value)
        for name, value in (asdict(trial.score) | {"p_value": trial.score.p_value}).items():
            self.client.log_metric(run.run_id, name, value)
        for file in sorted(trial.candidate.rglob("*.yaml")):
            folder = file.relative_to(trial.candidate).parent.as_posix()
            self.client.log_artifact(run.run_id, str(file), f"{RULES}/{folder}" if folder != "." else RULES)
        for file in report:
            self.client.log_artifact(run.run_id, str(file), "report")
        self.client.set_terminated(run.run_id)
        return self._register(trial, run)

    def _register(self, trial: Trial, run: Any) -> Entry:  # noqa: ANN401
        self._model()
        made = self.client.create_model_version(
            MODEL,
            source=f"{run.artifact_uri}/{RULES}",
            run_id=run.run_id,
            tags={
                RULESET: trial.candidate_version,
                PASSED: "passed" if not trial.objections else "refused",
                OBJECTIONS: " ".join(trial.objections)[:MAX_TAG],
            },
        )
        self.client.set_registered_model_alias(MODEL, CHALLENGER, made.version)
        return self._entry(made, (CHALLENGER,))

    def challenger(self) -> Entry:
        """The newest candidate that was tried and is not the champion.

        Raises:
            UsageError: There is none.
        """
        entry = self._by_alias(CHALLENGER)
        if entry is None:
            raise UsageError("there is no challenger; try a rule set first: firstfault review --candidate DIR.")
        return entry

    def champion(self) -> Entry | None:
        """The version that the alias names; None before the first promotion."""
        return self._by_alias(CHAMPION)

    def crown(self, ruleset_version: str) -> None:
        """Lets the alias `champion` follow the lake; the shipped rule set, which nobody registered, has none.

        Args:
            ruleset_version: Hash of the rules that the nights judge by from now on.
        """
        self._model()
        challenger = self._by_alias(CHALLENGER)
        if challenger and challenger.ruleset_version == ruleset_version:
            self.client.delete_registered_model_alias(MODEL, CHALLENGER)
        known = self.client.search_model_versions(f"name='{MODEL}' and tag.{RULESET}='{ruleset_version}'")
        if known:
            newest = max(known, key=lambda v: int(v.version))
            self.client.set_registered_model_alias(MODEL, CHAMPION, newest.version)
        elif self._by_alias(CHAMPION):
            self.client.delete_registered_model_alias(MODEL, CHAMPION)

    def _by_alias(self, alias: str) -> Entry | None:
        from mlflow.exceptions import MlflowException

        try:
            return self._entry(self.client.get_model_version_by_alias(MODEL, alias), (alias,))
        except MlflowException as error:
            if error.error_code in {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}:
                return None
            raise

    @staticmethod
    def _entry(found: "ModelVersion", aliases: tuple[str, ...]) -> Entry:
        tags = found.tags
        return Entry(
            str(found.version), tags.get(RULESET, ""), tags.get(PASSED) == "passed", tags.get(OBJECTIONS, ""), aliases
        )

    def _experiment(self) -> str:
        known = self.client.get_experiment_by_name(EXPERIMENT)
        return str(known.experiment_id if known else self.client.create_experiment(EXPERIMENT, self.artifacts))

    def _model(self) -> None:
        if not self.client.search_registered_models(f"name='{MODEL}'"):
            self.client.create_registered_model(MODEL, description="Rule sets of firstfault; the nights use champion.")


def _params(trial: Trial) -> dict[str, Any]:
    """What the trial rested on."""
    return {
        "live_version": trial.live_version,
        "candidate_version": trial.candidate_version,
        "days": f"{trial.days[0]} to {trial.days[1]}",
        "untried": ", ".join(trial.untried) or "nothing",
        **{f"delta/{name}": version for name, version in sorted(trial.lake_versions.items())},
    }


def registry_of(settings: Settings) -> Registry:
    """The registry of the settings' tracking server.

    Raises:
        UsageError: There is no place to track in.
    """
    uri = tracking_uri(str(settings.lake), settings.tracking_uri)
    if uri.startswith("sqlite:///"):
        Path(uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    return Registry(uri, artifacts_of(uri))
