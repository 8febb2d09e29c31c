"""An annotation whose brackets are not closed yet, read as if they were.

The syntax tree has no attribute there. A copy of the text from its line on, closed at the caret, has one.
"""

from __future__ import annotations

import re

from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.text import Span

_OPENING = re.compile(rb"#\[\s*(?:[\w:]+::)?(?:autodiff\w*)\s*\(")
_WINDOW = 1 << 13
_BACK = 1 << 11


def closed_at(analysis: FileAnalysis, offset: int) -> tuple[FileAnalysis, int] | None:
    """An analysis of a part of the text with the annotation closed, and where that part starts.

    None when no unclosed annotation leads up to `offset`.
    """
    data = analysis.source.data
    openings = list(_OPENING.finditer(data, max(0, offset - _BACK), offset))
    if not openings:
        return None
    start = openings[-1].start()
    typed = data[start:offset]
    depth = typed.count(b"(") - typed.count(b")")
    if depth < 1 or b"]" in typed or b"{" in typed or b";" in typed:
        return None
    line_end = analysis.source.line_span(analysis.source.line_of(offset)).end
    rest = data[line_end : line_end + _WINDOW]
    tail = analysis.source.slice(Span(offset, line_end))
    # What follows on the line belongs to the list unless it is the function already.
    kept = tail if "fn " not in tail and not tail.strip().startswith((")", "]")) else ""
    text = typed.decode("utf-8", "replace") + kept + ")" * depth + "]" + rest.decode("utf-8", "replace")
    return analyse(text), start
