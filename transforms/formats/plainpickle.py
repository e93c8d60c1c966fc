"""Reads a pickle as data: only lists, maps, texts, bytes, numbers and constants; nothing is imported or called.

A pickle is a program for a small machine. This one knows the steps that build plain values and refuses all others,
so a dump can neither run code nor, by its size, its depth or its memo, take more memory than its bytes call for.
"""

import pickletools
from collections.abc import Callable
from typing import Any, TypeAlias

Value: TypeAlias = Any
Step: TypeAlias = Callable[[Any], object]

MAX_BYTES = 64 << 20
_MAX_STACK = 1 << 20
_MARK = object()
_PLAIN = frozenset(
    f"{width}{kind}"
    for kind, widths in {
        "INT": ("", "BIN"),
        "INT1": ("BIN",),
        "INT2": ("BIN",),
        "LONG": ("",),
        "LONG1": ("",),
        "LONG4": ("",),
        "FLOAT": ("", "BIN"),
        "STRING": ("", "BIN", "SHORT_BIN"),
        "BYTES": ("BIN", "SHORT_BIN"),
        "BYTES8": ("BIN",),
        "UNICODE": ("", "BIN", "SHORT_BIN"),
        "UNICODE8": ("BIN",),
    }.items()
    for width in widths
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = frozenset({"PROTO", "FRAME"})
_KEYS = (str, int, bytes, float, type(None))


class PickleError(ValueError):
    """The bytes are no pickle of plain data."""


class HostilePickle(PickleError):  # noqa: N818
    """The pickle asks for more than plain data."""


class _Machine:
    """The stack and the memo of one pickle; tuples become lists, and maps keep where they began."""

    def __init__(self) -> None:
        self.stack: list[Value] = []
        self.places: dict[int, int] = {}
        self._memo: dict[int, Value] = {}
        self._steps: dict[str, Step] = {
            "MARK": lambda _: self.stack.append(_MARK),
            "EMPTY_LIST": lambda _: self.stack.append([]),
            "EMPTY_TUPLE": lambda _: self.stack.append([]),
            "LIST": lambda _: self.stack.append(self._to_mark()),
            "TUPLE": lambda _: self.stack.append(self._to_mark()),
            "APPEND": lambda _: self._extend([self.stack.pop()]),
            "APPENDS": lambda _: self._extend(self._to_mark()),
            "SETITEM": lambda _: self._update([self.stack.pop(-2), self.stack.pop()]),
            "SETITEMS": lambda _: self._update(self._to_mark()),
            "MEMOIZE": lambda _: self._put(len(self._memo)),
            "POP": lambda _: self.stack.pop(),
            "POP_MARK": lambda _: self._to_mark(),
        }
        self._steps |= dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), self._put)
        self._steps |= dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), self._get)

    def run(self, name: str, argument: Value, place: int) -> None:
        """One step of the program."""
        if name in _PLAIN:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            self._group(_TUPLES[name])
        elif name in ("EMPTY_DICT", "DICT"):
            self._map(self._to_mark() if name == "DICT" else [], place)
        elif name in self._steps:
            self._steps[name](argument)
        elif name not in _IGNORED:
            raise HostilePickle(name)
        if len(self.stack) > _MAX_STACK:
            raise HostilePickle("stack")

    def _to_mark(self) -> list[Value]:
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise PickleError("mark")
        taken = self.stack[at + 1 :]
        del self.stack[at:]
        return taken

    def _group(self, size: int) -> None:
        if len(self.stack) < size:
            raise PickleError("stack")
        self.stack[-size:] = [self.stack[-size:]]

    def _map(self, pairs: list[Value], place: int) -> None:
        made: dict[Value, Value] = {}
        self.places[id(made)] = place
        self.stack.append(made)
        self._update(pairs)

    def _extend(self, values: list[Value]) -> None:
        if not isinstance(self.stack[-1], list):
            raise PickleError("list")
        self.stack[-1].extend(values)

    def _update(self, pairs: list[Value]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict) or len(pairs) % 2 or not all(isinstance(key, _KEYS) for key in pairs[::2]):
            raise PickleError("dict")
        target.update(zip(pairs[::2], pairs[1::2], strict=True))

    def _put(self, at: int) -> None:
        self._memo[int(at)] = self.stack[-1]

    def _get(self, at: int) -> None:
        self.stack.append(self._memo[int(at)])


def load(data: bytes) -> tuple[Value, dict[int, int]]:
    """The value, and by the identity of each map the byte at which it begins.

    Raises:
        HostilePickle: It asks for a class, a call or too much.
        PickleError: It is no pickle, or cut.
    """
    if len(data) > MAX_BYTES:
        raise HostilePickle("size")
    machine = _Machine()
    try:
        for code, argument, place in pickletools.genops(data):
            if code.name == "STOP":
                return machine.stack[-1], machine.places
            machine.run(code.name, argument, place or 0)
    except PickleError:
        raise
    except (ValueError, LookupError, TypeError, OverflowError, MemoryError, AttributeError) as error:
        raise PickleError(str(error)) from None
    raise PickleError("no end")
