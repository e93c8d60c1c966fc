"""What the JVM says on its standard error: held back while it starts, without the lines no one can act on."""

import os
import re
import threading

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

# What a JVM says at every start and no one can act on.
NOISE = (
    b"WARNING: Using incubator modules",
    b"WARNING: A restricted method",  # Java 24 and newer, four lines
    b"WARNING: java.lang.System::",
    b"WARNING: Use --enable-native-access",
    b"WARNING: Restricted methods will be blocked",
    b"WARNING: A terminally deprecated method",
    b"WARNING: sun.misc.Unsafe",
    b"WARNING: Please consider reporting this to the maintainers",
    b"Picked up JAVA_TOOL_OPTIONS",
    b"Picked up JDK_JAVA_OPTIONS",
    b"NOTE: Picked up JDK_JAVA_OPTIONS",
)
TELLING = re.compile("error|exception", re.IGNORECASE)


class JvmStderr:
    """The JVM's standard error: held back while it starts, then passed on without the noise."""

    def __init__(self) -> None:
        self._held: list[bytes] | None = []
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None

    def launch(self, conf: SparkConf) -> JavaGateway:
        """Start the JVM with both its outputs in our hands: it reports a bad heap size on standard output."""
        read_end, write_end = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(read_end,), daemon=True, name="jvm-stderr")
        self._reader.start()
        try:
            return launch_gateway(conf, popen_kwargs={"stdout": write_end, "stderr": write_end})  # type: ignore[no-untyped-call]
        finally:
            os.close(write_end)

    def release(self) -> None:
        """Pass on what was held and all that follows."""
        with self._lock:
            held, self._held = self._held or [], None
        os.write(2, b"".join(held))

    def reason(self) -> str:
        """The lines that most likely say why the JVM did not start."""
        if self._reader is not None:
            self._reader.join(timeout=2)
        lines = [line.decode(errors="replace").strip() for line in self._held or [] if line.strip()]
        telling = (i for i, line in enumerate(lines) if TELLING.search(line))
        start = next(telling, 0)
        return " ".join(lines[start : start + 2]) or "it said nothing"

    def _read(self, descriptor: int) -> None:
        with open(descriptor, "rb") as stream:
            for line in stream:
                if not line.startswith(NOISE):
                    self._pass_on(line)

    def _pass_on(self, line: bytes) -> None:
        with self._lock:
            if self._held is not None:
                self._held.append(line)
                return
        os.write(2, line)
