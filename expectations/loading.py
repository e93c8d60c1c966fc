"""Loads Great Expectations so that it calls nobody and ends nothing."""

import logging
import os
import sys
from importlib import import_module
from threading import Lock

_LOCK = Lock()


def load_great_expectations() -> None:
    """Imports the package and our bridge to it; two seconds, once a process.

    On its way it tries `pyspark.sql.connect`, which takes a main module without a file (`python -c`, an embedded
    interpreter) for its own doctests and, without grpc, ends the process with code 0 (pyspark 4.2,
    sql/connect/utils.py, check_dependencies). Meanwhile the main module has a file.
    """
    with _LOCK:
        os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read at import; a batch job on a cluster calls nobody
        main = sys.modules["__main__"]
        nameless = not hasattr(main, "__file__")
        if nameless:
            main.__file__ = "<program>"
        try:
            import_module("firstfault.expectations.bridge")
            _quieten("great_expectations")
        finally:
            if nameless:
                del main.__file__


def _quieten(package: str) -> None:
    """Warnings only of the package's loggers, some of which set a level of their own and tell of temporary folders."""
    for name in [package, *logging.root.manager.loggerDict]:
        if name.split(".")[0] == package:
            logging.getLogger(name).setLevel(logging.WARNING)
