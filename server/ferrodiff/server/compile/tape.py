"""What a reverse derivative keeps, by source line: the first thing to read when tuning a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ferrodiff.server.compile.crate import Crate
from ferrodiff.server.compile.refusal import Location
from ferrodiff.server.render import Place, column, line_text


@dataclass(frozen=True, slots=True)
class Kept:
    """One value on the tape: its place, its size, and why it is neither computed nor loaded again."""

    function: str
    value: str
    bytes: int
    depth: int
    reason: str
    storage: str
    place: Place | None


def kept_values(reports: Iterable[Any], crate: Crate) -> list[Kept]:
    """The core's reports with places in the user's files, in file order."""
    found = [
        Kept(
            report.function,
            item.value,
            item.bytes,
            item.depth,
            item.reason,
            item.place,
            _place(item.location, crate),
        )
        for report in reports
        for item in report.kept
    ]
    return sorted(found, key=_order)


def as_json(derivative: str, kept: list[Kept]) -> dict[str, Any]:
    """The report as plain data; `bytes` are for one iteration of the loops around the value."""
    return {
        "derivative": derivative,
        "bytesPerIteration": sum(item.bytes for item in kept),
        "kept": [
            {
                "file": item.place.name if item.place else None,
                "line": column(item.place)[0] if item.place else None,
                "value": item.value,
                "bytes": item.bytes,
                "loopDepth": item.depth,
                "storage": item.storage,
                "reason": item.reason,
            }
            for item in kept
        ],
    }


def as_text(derivative: str, kept: list[Kept]) -> str:
    """The report for people: a heading, then each source line with what is kept of it."""
    if not kept:
        return f"{derivative} keeps nothing: every value is computed or loaded again"
    total = sum(item.bytes for item in kept)
    lines = [f"{derivative} keeps {total} bytes in one iteration of every loop"]
    last = None
    for item in kept:
        heading = _heading(item.place)
        if heading != last:
            lines += ["", heading]
            last = heading
        loops = "outside loops" if item.depth == 0 else f"at loop depth {item.depth}"
        lines.append(f"  {item.bytes:>4} bytes on the {item.storage}, {loops}: {item.reason}")
        lines.append(f"             {item.value.strip()}")
    return "\n".join(lines)


def _place(location: Location | None, crate: Crate) -> Place | None:
    """The innermost place that is in the user's files."""
    here = location
    while here is not None:
        place = crate.place(here.file, here.line, here.column)
        if place is not None:
            return place
        here = here.inlined_at
    return None


def _order(item: Kept) -> tuple[str, int]:
    return (item.place.name, item.place.span.start) if item.place else ("~", 0)


def _heading(place: Place | None) -> str:
    if place is None:
        return "generated or library code"
    line, _ = column(place)
    return f"{place.name}:{line}: {line_text(place.source, line - 1).strip()}"
