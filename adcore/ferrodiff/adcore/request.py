"""What a marker call asks for: mode, width, and the activity of each byte range of the primal's arguments.

The request is JSON in a constant, the layout an array of `usize` in another; both are read from the module.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import Constant, GlobalRef
from ferrodiff.adcore.ir.instructions import Call
from ferrodiff.adcore.ir.location import SourceLocation
from ferrodiff.adcore.ir.module import Module

FORWARD_MARKER = "__ferrodiff_forward"
REVERSE_MARKER = "__ferrodiff_reverse"
MARKERS = {FORWARD_MARKER: "forward", REVERSE_MARKER: "reverse"}
"""The markers and the mode each one asks for."""


@dataclass(frozen=True)
class ArgumentRange:
    """One primal argument: its bytes [offset, offset + size) of the tuple, its activity as written, its name."""

    offset: int
    size: int
    activity: str
    name: str

    @property
    def is_active(self) -> bool:
        """Whether the shadow tuples hold something in this range."""
        return self.activity != "Const"


@dataclass(frozen=True)
class Request:
    """One derivative asked for. Sizes are bytes; `thunk` is the symbol of the uniform entry to the primal."""

    derivative: str
    function: str
    mode: str
    width: int
    arguments: tuple[ArgumentRange, ...]
    result_activity: str
    args_size: int
    result_size: int
    thunk: str
    file: str
    line: int
    column: int

    @property
    def const_ranges(self) -> tuple[tuple[int, int], ...]:
        """Byte ranges [start, end) of inactive arguments."""
        return tuple((a.offset, a.offset + a.size) for a in self.arguments if not a.is_active and a.size)

    @property
    def location(self) -> SourceLocation:
        """Where the annotation stands."""
        return SourceLocation(self.file, self.line, self.column)


def read_request(module: Module, marker: Call, mode: str) -> Request:
    """The request of a marker call. Raises `CannotDifferentiate` if its constants cannot be read."""
    described = _json(module, marker)
    layout = _layout(module, marker)
    count, args_size, result_size = layout[:3]
    activities = [str(a) for a in described.get("activities", [])]
    names = [str(n) for n in described.get("params", [])]
    ranges = layout[3 : 3 + 2 * count]
    if len(activities) != count or len(ranges) != 2 * count:
        raise CannotDifferentiate("the request and the layout of a derivative do not fit together")
    arguments = tuple(
        ArgumentRange(
            ranges[2 * k], ranges[2 * k + 1], activities[k], names[k] if k < len(names) else f"arg{k}"
        )
        for k in range(count)
    )
    return Request(
        derivative=str(described.get("derivative", "?")),
        function=str(described.get("function", "?")),
        mode=mode,
        width=int(described.get("width", 1)),
        arguments=arguments,
        result_activity=str(described.get("ret", "None")),
        args_size=args_size,
        result_size=result_size,
        thunk=_thunk(marker),
        file=str(described.get("file", "?")),
        line=int(described.get("line", 0)),
        column=int(described.get("column", 0)),
    )


def _json(module: Module, marker: Call) -> dict[str, Any]:
    data = _bytes(module, marker.operands[0], "request")
    try:
        found = json.loads(data.split(b"\0", 1)[0].decode("utf-8"))
    except ValueError as error:
        raise CannotDifferentiate(f"the request of a derivative is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise CannotDifferentiate("the request of a derivative is not a JSON object")
    return found


def _layout(module: Module, marker: Call) -> tuple[int, ...]:
    data = _bytes(module, marker.operands[2], "layout")
    words = len(data) // 8
    found = struct.unpack(f"<{words}Q", data[: 8 * words])
    if words < 3:
        raise CannotDifferentiate("the layout of a derivative is too short")
    return found


def _bytes(module: Module, address: Value, what: str) -> bytes:
    data = module.global_bytes(address) if isinstance(address, Constant) else None
    if data is None:
        raise CannotDifferentiate(
            f"the {what} of a derivative is not a constant in this module",
            help="the marker call must be reached with constant arguments: keep the generated function as it is",
        )
    return data


def _thunk(marker: Call) -> str:
    target = marker.operands[1]
    if isinstance(target, GlobalRef):
        return target.name
    raise CannotDifferentiate("the function to differentiate is not known where its derivative is called")
