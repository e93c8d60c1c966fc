"""What the JVM needs before Spark can start: a Java, and Delta's two jars.

The jars' names follow from the installed packages, so a new pin in pyproject.toml is the only edit an upgrade
takes. They are fetched once, by the Ivy that lies inside the pyspark distribution, and kept beside it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

JAVA_AT_LEAST = 17
FETCH_TIMEOUT_S = 600


class JarsError(RuntimeError):
    """Delta's jars are not here and cannot be had; the message says what to do."""


class JavaError(RuntimeError):
    """No usable Java; the message says what to do."""


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark."""

    path: Path
    major: int


@dataclass(frozen=True)
class Jar:
    """One jar as its repository names it, and a class that a whole copy holds."""

    artifact: str
    revision: str
    main_class: str

    @property
    def name(self) -> str:
        """File name in the cache."""
        return f"{self.artifact}-{self.revision}.jar"


def find_java() -> Java:
    """Find Java the way Spark does: JAVA_HOME first, then PATH.

    Raises:
        JavaError: none there, it does not run, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    if found is None:
        raise JavaError(f"no java on PATH; install Java {JAVA_AT_LEAST} or newer, or set JAVA_HOME to one")
    where = f"{found} (from JAVA_HOME)" if home else found
    try:
        done = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        raise JavaError(f"{where} does not run; point JAVA_HOME at Java {JAVA_AT_LEAST} or newer") from None
    major = java_major(done.stderr + done.stdout)
    if major is None or major < JAVA_AT_LEAST:
        said = f"is Java {major}" if major else "does not say which version it is"
        raise JavaError(f"{where} {said}; Spark needs Java {JAVA_AT_LEAST} or newer, set JAVA_HOME to one")
    return Java(Path(found), major)


def java_major(text: str) -> int | None:
    """Read the major version from what `java -version` prints (`1.8.0_402` is 8)."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def pyspark_jars() -> Path:
    """Folder of the jars inside the installed pyspark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError("the package pyspark is not installed; run make setup")
    return Path(spec.origin).parent / "jars"


def delta_jars() -> tuple[Jar, Jar]:
    """Name the two jars that fit the installed delta-spark, pyspark and its Scala."""
    revision = version("delta-spark")
    spark = ".".join(version("pyspark").split(".")[:2])
    library = next(pyspark_jars().glob("scala-library-*.jar"), None)
    if library is None:
        raise JarsError(f"{pyspark_jars()} holds no scala-library jar; install pyspark again")
    scala = ".".join(library.stem.removeprefix("scala-library-").split(".")[:2])
    return (
        Jar(f"delta-spark_{spark}_{scala}", revision, "io/delta/sql/DeltaSparkSessionExtension.class"),
        Jar("delta-storage", revision, "io/delta/storage/LogStore.class"),
    )


def jars_dir() -> Path:
    """Folder of the cached jars: FIRSTFAULT_JARS_DIR, else the environment's, else the user's cache."""
    named = os.environ.get("FIRSTFAULT_JARS_DIR")
    if named:
        return Path(named)
    shared = Path(sys.prefix) / "share" / "firstfault" / "jars"
    holder = next(folder for folder in (shared, *shared.parents) if folder.exists())
    if os.access(holder, os.W_OK) or all(is_whole(shared / jar.name, jar) for jar in delta_jars()):
        return shared
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firstfault" / "jars"


def is_whole(path: Path, jar: Jar) -> bool:
    """Tell a whole jar from a missing, cut or foreign one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return jar.main_class in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def jar_paths(*, fetch: bool) -> list[Path]:
    """Give the two jars' paths, fetching what is missing or cut if asked.

    Raises:
        JarsError: a jar is not there and was not to be, or could not be, fetched.
    """
    folder = jars_dir()
    jars = delta_jars()
    missing = [jar for jar in jars if not is_whole(folder / jar.name, jar)]
    if missing and not fetch:
        raise JarsError(f"{_names(missing)} not in {folder}; run: python -m firstfault.jobs.jars")
    for jar in missing:
        _fetch(jar, folder)
    return [folder / jar.name for jar in jars]


def _fetch(jar: Jar, folder: Path) -> None:
    """Download into a temporary folder of the same file system, check, then rename into place."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as temporary:
            run_ivy(jar, Path(temporary))
            fetched = Path(temporary) / jar.name
            if not is_whole(fetched, jar):
                raise JarsError(
                    f"could not fetch {jar.name}; run again with network, "
                    f"or put the files {_names(delta_jars())} into {folder}"
                )
            fetched.replace(folder / jar.name)
    except OSError as error:
        raise JarsError(
            f"cannot write {folder} ({error.strerror}); set FIRSTFAULT_JARS_DIR to a folder you can write"
        ) from None


def run_ivy(jar: Jar, folder: Path) -> None:
    """Run Ivy's command line; whether it worked is told by the file, not by its exit code."""
    command = [
        str(find_java().path), f"-Divy.default.ivy.user.dir={folder}", "-cp", f"{pyspark_jars()}/*",
        "org.apache.ivy.Main", "-cache", str(folder / "cache"),
        "-dependency", "io.delta", jar.artifact, jar.revision,
        "-confs", "default", "-m2compatible", "-notransitive",
        "-retrieve", f"{folder}/[artifact]-[revision].[ext]",
    ]  # fmt: skip
    try:
        subprocess.run(command, capture_output=True, timeout=FETCH_TIMEOUT_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return


def _names(jars: tuple[Jar, ...] | list[Jar]) -> str:
    return " and ".join(jar.name for jar in jars)


def main(arguments: list[str]) -> int:
    """Fetch the jars and say where they are; with --java only look for Java."""
    try:
        if arguments == ["--java"]:
            find_java()
            return 0
        paths = jar_paths(fetch=True)
    except (JarsError, JavaError) as error:
        print(f"firstfault: {error}", file=sys.stderr)  # noqa: T201
        return 1
    print(f"Delta jars in {paths[0].parent}: {', '.join(path.name for path in paths)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
