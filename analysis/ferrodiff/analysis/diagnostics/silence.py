"""Silencing in the source: ``// ferrodiff: allow(FD021)``.

* at the end of a line: for what is reported on that line;
* on a line of its own: for the annotations and the header of the next annotated function, and the next line;
* ``// ferrodiff: allow-file(FD021, FD036)`` anywhere: for the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ferrodiff.analysis.diagnostics.core import Diagnostic
from ferrodiff.analysis.text import Span, decode

if TYPE_CHECKING:
    from ferrodiff.analysis.document import FileAnalysis

_ALLOW = re.compile(rb"//[^\n]*?\bferrodiff:\s*allow(-file)?\(([\w\s,]*)\)")


@dataclass(frozen=True, slots=True)
class Silence:
    codes: frozenset[str]
    span: Span


def silences(analysis: FileAnalysis) -> list[Silence]:
    data = analysis.source.data
    if b"ferrodiff:" not in data:
        return []
    found = []
    for match in _ALLOW.finditer(data):
        codes = frozenset([code.strip() for code in decode(match[2]).split(",")])
        found.append(Silence(codes, analysis.source.span if match[1] else _reach(analysis, match.start())))
    return found


def _reach(analysis: FileAnalysis, comment: int) -> Span:
    source = analysis.source
    line = source.line_of(comment)
    own = source.line_span(line)
    if source.data[own.start : comment].strip():
        return own
    end = source.line_span(line + 1).end
    following = [f for f in analysis.functions if f.item_text_span.start > comment]
    if following:
        function = min(following, key=lambda f: f.item_text_span.start)
        gap = source.data[comment : min(function.span.start, function.item_text_span.start)]
        if not gap or b"\n\n" not in gap.replace(b"\r", b"") or function.span.start <= comment:
            body = function.body_span
            end = max(end, body.start if body is not None else function.span.end)
    return Span(comment, end)


def silenced(analysis: FileAnalysis, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The diagnostics that are not silenced."""
    rules = silences(analysis)
    for diagnostic in diagnostics:
        if not any(diagnostic.code in r.codes and r.span.touches(diagnostic.span.start) for r in rules):
            yield diagnostic
