"""Runs all checks on a file's facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.analysis.diagnostics import unknown_code
from ferrodiff.analysis.diagnostics.core import Diagnostic
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.diagnostics.registry import BY_CODE, check_annotations, check_file
from ferrodiff.analysis.diagnostics.silence import named_codes, silenced
from ferrodiff.analysis.model import shifted

if TYPE_CHECKING:
    from ferrodiff.analysis.document import Chunk, FileAnalysis


def diagnose(analysis: FileAnalysis, crate_root: bool | None = None) -> tuple[Diagnostic, ...]:
    """Every diagnostic of a file in order of place, those silenced in its comments left out."""
    found: list[Diagnostic] = []
    for placed in analysis.notable:
        if placed.chunk.found.functions:
            found += [shifted(diagnostic, placed.start) for diagnostic in _of_item(placed.chunk)]
    concerned = any(p.chunk.found.functions or p.chunk.found.misplaced for p in analysis.notable)
    if concerned or analysis.broken:
        found += check_file(File(analysis, crate_root))
    found += unknown_code.check(named_codes(analysis), frozenset(BY_CODE))
    found.sort(key=lambda d: (d.span.start, d.span.end, d.code))
    return tuple(silenced(analysis, found))


def _of_item(chunk: Chunk) -> tuple[Diagnostic, ...]:
    """Kept with the item: they depend on nothing else."""
    known: tuple[Diagnostic, ...] | None = chunk.kept.get("checks")
    if known is None:
        known = chunk.kept["checks"] = tuple(
            [d for function in chunk.found.functions for d in check_annotations(function, chunk.text)]
        )
    return known
