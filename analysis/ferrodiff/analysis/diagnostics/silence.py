"""Silencing in the source: ``// ferrodiff: allow(FD021)``, several codes between commas.

* on a line of its own: for the annotations and the header of the next annotated function, and the next line;
* at the end of a line: for what is reported on that line, or about an annotation that ends there;
* among the comments that open a file (but not directly above an annotation): for the whole file;
* ``// ferrodiff: allow-file(FD021, FD036)`` anywhere: for the whole file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from ferrodiff.analysis.diagnostics.core import Diagnostic
from ferrodiff.analysis.model import Function
from ferrodiff.analysis.text import Span, decode

if TYPE_CHECKING:
    from ferrodiff.analysis.document import FileAnalysis

_ALLOW = re.compile(rb"\bferrodiff:\s*allow(-file)?\(([\w\s,]*)\)")
_WORD = re.compile(rb"\w+")
_FARTHEST = 10_000
"""Bytes of comments between a silencing one and its annotation."""


@dataclass(frozen=True, slots=True)
class Silence:
    codes: frozenset[str]
    span: Span
    annotation: Span | None = None
    """The annotation that the comment stands behind: what is about it may be reported elsewhere."""


class _Spans:
    """Answers whether one of many spans covers another, however many there are."""

    def __init__(self, spans: Iterable[Span]) -> None:
        listed = sorted(spans)
        self._starts = [span.start for span in listed]
        self._ends = list(accumulate([span.end for span in listed], max))

    def cover(self, start: int, end: int) -> bool:
        index = bisect_right(self._starts, start) - 1
        return index >= 0 and self._ends[index] >= end


class _Rules:
    """The silences of one code."""

    def __init__(self, silences: Sequence[Silence]) -> None:
        self._places = _Spans([silence.span for silence in silences])
        self._annotations = _Spans([s.annotation for s in silences if s.annotation is not None])

    def cover(self, diagnostic: Diagnostic) -> bool:
        start = diagnostic.span.start
        if self._places.cover(start, start):
            return True
        return any(self._annotations.cover(r.span.start, r.span.end) for r in diagnostic.related)


def silences(analysis: FileAnalysis) -> list[Silence]:
    data = analysis.source.data
    if b"ferrodiff:" not in data:
        return []
    found, head = [], _head(analysis)
    functions = _Functions(analysis)
    for match in _ALLOW.finditer(data):
        comment = _comment(analysis, match.start())
        if comment is None:
            continue
        codes = frozenset([code.strip() for code in decode(match[2]).split(",")])
        if match[1] or comment < head:
            found.append(Silence(codes, analysis.source.span))
        else:
            found.append(_local(analysis, functions, comment, codes))
    return found


def named_codes(analysis: FileAnalysis) -> Iterator[tuple[Span, str]]:
    """Every code that a silencing comment names, with its place."""
    data = analysis.source.data
    if b"ferrodiff:" not in data:
        return
    for match in _ALLOW.finditer(data):
        if _comment(analysis, match.start()) is not None:
            for word in _WORD.finditer(match[2]):
                start = match.start(2) + word.start()
                yield Span(start, start + len(word[0])), decode(word[0])


def _comment(analysis: FileAnalysis, offset: int) -> int | None:
    """Where the comment around a place starts; None when it is no comment."""
    comment = analysis.comment_at(offset)
    return comment.start if comment is not None else None


def _head(analysis: FileAnalysis) -> int:
    """Where the comments that open the file end."""
    opening = analysis.chunks[0].chunk.opening
    if opening.attribute is not None:
        return _start_of_comments(analysis, opening.attribute)
    return opening.end


def _start_of_comments(analysis: FileAnalysis, offset: int) -> int:
    """The start of the lines of comments directly above the line of `offset`."""
    source = analysis.source
    line = source.line_of(offset)
    while line > 0:
        above = source.line_span(line - 1)
        if not source.data[above.start : above.end].lstrip().startswith(b"//"):
            break
        line -= 1
    return source.line_span(line).start


class _Functions:
    """The annotated functions by where their items start, and their annotations by where they end."""

    def __init__(self, analysis: FileAnalysis) -> None:
        self._functions = sorted(analysis.functions, key=lambda f: f.item_text_span.start)
        spans = [annotation.span for function in analysis.functions for annotation in function.annotations]
        self._annotations = sorted(spans, key=lambda span: span.end)

    def after(self, offset: int) -> Function | None:
        index = bisect_right(self._functions, offset, key=lambda f: f.item_text_span.start)
        return self._functions[index] if index < len(self._functions) else None

    def annotation_ending(self, before: Span) -> Span | None:
        """The first annotation that ends in `before`, but not at its start."""
        index = bisect_right(self._annotations, before.start, key=lambda span: span.end)
        if index < len(self._annotations) and self._annotations[index].end <= before.end:
            return self._annotations[index]
        return None


def _local(analysis: FileAnalysis, functions: _Functions, comment: int, codes: frozenset[str]) -> Silence:
    source = analysis.source
    line = source.line_span(source.line_of(comment))
    if source.data[line.start : comment].strip():
        annotation = functions.annotation_ending(Span(line.start, comment))
        start = line.start if annotation is None else min(line.start, annotation.start)
        return Silence(codes, Span(start, line.end), annotation)
    end = source.line_span(source.line_of(comment) + 1).end
    function = functions.after(comment)
    if function is not None:
        near = function.span.start - comment <= _FARTHEST
        if near and _only_comments(source.data[comment : function.span.start]):
            body = function.body_span
            end = max(end, body.start if body is not None else function.span.end)
    return Silence(codes, Span(comment, end))


def _only_comments(gap: bytes) -> bool:
    """Whether lines are comments without an empty one between. Nothing at all counts."""
    lines = gap.rstrip(b" \t").removesuffix(b"\n").split(b"\n") if gap else []
    return all(line.lstrip().startswith((b"//", b"/*", b"*")) for line in lines)


def silenced(analysis: FileAnalysis, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The diagnostics that are not silenced."""
    by_code: dict[str, list[Silence]] = {}
    for silence in silences(analysis):
        for code in silence.codes:
            by_code.setdefault(code, []).append(silence)
    rules = {code: _Rules(listed) for code, listed in by_code.items()}
    for diagnostic in diagnostics:
        known = rules.get(diagnostic.code)
        if known is None or not known.cover(diagnostic):
            yield diagnostic
