"""Silencing in the source: ``// ferrodiff: allow(FD021)``, several codes between commas.

* on a line of its own: for the annotations and the header of the next annotated function, and the next line;
* at the end of a line: for what is reported on that line, or about an annotation that ends there;
* among the comments that open a file (but not directly above an annotation): for the whole file;
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

    def covers(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.code not in self.codes:
            return False
        if self.span.touches(diagnostic.span.start):
            return True
        own = self.annotation
        return own is not None and any(own.covers(related.span) for related in diagnostic.related)


def silences(analysis: FileAnalysis) -> list[Silence]:
    data = analysis.source.data
    if b"ferrodiff:" not in data:
        return []
    found, head = [], _head(analysis)
    for match in _ALLOW.finditer(data):
        comment = _comment(analysis, match.start())
        if comment is None:
            continue
        codes = frozenset([code.strip() for code in decode(match[2]).split(",")])
        if match[1] or comment < head:
            found.append(Silence(codes, analysis.source.span))
        else:
            found.append(_local(analysis, comment, codes))
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


def _local(analysis: FileAnalysis, comment: int, codes: frozenset[str]) -> Silence:
    source = analysis.source
    line = source.line_span(source.line_of(comment))
    if source.data[line.start : comment].strip():
        return _behind(analysis, Span(line.start, comment), line, codes)
    end = source.line_span(source.line_of(comment) + 1).end
    following = [f for f in analysis.functions if f.item_text_span.start > comment]
    if following:
        function = min(following, key=lambda f: f.item_text_span.start)
        near = function.span.start - comment <= _FARTHEST
        if near and _only_comments(source.data[comment : function.span.start]):
            body = function.body_span
            end = max(end, body.start if body is not None else function.span.end)
    return Silence(codes, Span(comment, end))


def _only_comments(gap: bytes) -> bool:
    """Whether lines are comments without an empty one between. Nothing at all counts."""
    lines = gap.rstrip(b" \t").removesuffix(b"\n").split(b"\n") if gap else []
    return all(line.lstrip().startswith((b"//", b"/*", b"*")) for line in lines)


def _behind(analysis: FileAnalysis, before: Span, line: Span, codes: frozenset[str]) -> Silence:
    for function in analysis.functions:
        for annotation in function.annotations:
            if before.touches(annotation.span.end) and annotation.span.end > before.start:
                start = min(line.start, annotation.span.start)
                return Silence(codes, Span(start, line.end), annotation.span)
    return Silence(codes, line)


def silenced(analysis: FileAnalysis, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The diagnostics that are not silenced."""
    rules = silences(analysis)
    for diagnostic in diagnostics:
        if not any(rule.covers(diagnostic) for rule in rules):
            yield diagnostic
