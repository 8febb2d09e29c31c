"""What runs and checks have found, kept by content so that it is shown only where it still holds."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local import derivatives_called
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp.convert import same_uri

_MAXIMUM = 256
_OTHER_FILES = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*;|\binclude(?:_str|_bytes)?!"
    r"|\bcrate\s*::|^(?:pub(?:\([^)]*\))?\s+)?use\s+super\b|^\S.*\bsuper\s*::",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that compiling or running found, on a 0-based line of the file."""

    line: int
    column: int | None
    """0-based byte column, or None for the whole line."""
    severity: str
    code: str | None
    message: str
    line_text: str = ""
    """The line as it was, so that the finding is dropped when it is edited."""


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of one command on one derivative."""

    kind: str
    """``run`` or ``check``."""
    derivative: str
    ok: bool
    headline: str
    """One sentence: values, or what went wrong."""
    values: tuple[tuple[str, str], ...] = ()
    """Names and printed values, the primal first."""
    details: str = ""
    """Markdown for the hover."""
    findings: tuple[Finding, ...] = ()
    function_text: str = ""
    function_line: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    """The command's own JSON."""


def content_key(kind: str, derivative: str, text: str, options: tuple[str, ...]) -> str | None:
    """A key for a run of this very text, or None when other files take part in it."""
    if _OTHER_FILES.search(text):
        return None
    import hashlib

    state = hashlib.blake2b(digest_size=16)
    for part in (kind, derivative, text, *options):
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


def function_text(source: SourceText, function: Function) -> str:
    """What a result depends on first: the function with its annotations and the comment above it."""
    start = source.line_span(max(source.line_of(function.span.start) - 2, 0)).start
    return source.slice(Span(start, function.span.end))


class ResultStore:
    """The last result of every derivative and kind, and a cache of results by content."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str, str], Record] = {}
        self._by_content: OrderedDict[str, Record] = OrderedDict()

    def put(self, uri: str, record: Record, key: str | None) -> None:
        self._last[(same_uri(uri), record.derivative, record.kind)] = record
        if key is not None:
            self._by_content[key] = record
            self._by_content.move_to_end(key)
            while len(self._by_content) > _MAXIMUM:
                self._by_content.popitem(last=False)

    def cached(self, key: str | None) -> Record | None:
        return self._by_content.get(key) if key is not None else None

    def last(self, uri: str, derivative: str) -> list[Record]:
        """The last run and the last check of a derivative, in this order."""
        found = (self._last.get((same_uri(uri), derivative, kind)) for kind in ("run", "check"))
        return [record for record in found if record is not None]

    def findings(self, uri: str, analysis: FileAnalysis) -> list[Finding]:
        """The findings that still hold, moved to where their lines are now."""
        records = [
            record for key, record in self._last.items() if key[0] == same_uri(uri) and record.findings
        ]
        if not records:
            return []
        result: dict[tuple[int, str], Finding] = {}
        for record in records:
            found = derivative_of(analysis, record.derivative)
            if found is None:
                continue
            line = analysis.source.line_of(found[0].span.start)
            for finding in record.findings:
                placed = _placed(analysis.source, finding, line - record.function_line)
                if placed is not None:
                    result.setdefault((placed.line, placed.message), placed)
        return list(result.values())


def is_fresh(record: Record, source: SourceText, function: Function) -> bool:
    """Whether the function is still what it was when the command ran."""
    return record.function_text == function_text(source, function)


def _placed(source: SourceText, finding: Finding, shift: int) -> Finding | None:
    for line in (finding.line + shift, finding.line):
        if line >= 0 and source.slice(source.line_span(line)) == finding.line_text:
            return Finding(
                line, finding.column, finding.severity, finding.code, finding.message, finding.line_text
            )
    return None


def derivative_of(analysis: FileAnalysis, name: str) -> tuple[Function, Annotation] | None:
    """The function and annotation that make the derivative `name`."""
    return next(iter(derivatives_called(analysis, name)), None)
