"""Annotations that swallow what follows them because their brackets are not closed."""

from __future__ import annotations

import re
from itertools import islice

from tree_sitter import Node

from ferrodiff.analysis.items import Found
from ferrodiff.analysis.text import Span

_OPENING = re.compile(rb"#\[\s*(?:\w+\s*::\s*)*autodiff(?:_forward|_reverse)?\s*\(")
_MOST = 1000
"""More openings are not looked at: each costs a walk through a tree that may be as deep as the text is long."""
_TEXT = frozenset(
    {
        "line_comment",
        "block_comment",
        "string_literal",
        "raw_string_literal",
        "macro_definition",
        "token_tree",
    }
)


def unclosed(text: bytes, root: Node, found: Found) -> tuple[Span, ...]:
    """From the ``#`` to the end of the line. An annotation that is closed has been `found` in the tree."""
    known = {a.span.start for f in found.functions for a in f.annotations}
    known |= {m.annotation.span.start for m in found.misplaced}
    spans = []
    for match in islice(_OPENING.finditer(text), _MOST):
        if match.start() not in known and _is_code(root, match.start()):
            line = text.find(b"\n", match.end())
            end = line if line >= 0 else len(text)
            if end > match.end() and text[end - 1 : end] == b"\r":
                end -= 1
            spans.append(Span(match.start(), end))
    return tuple(spans)


def _is_code(root: Node, offset: int) -> bool:
    node = root.descendant_for_byte_range(offset, offset + 1)
    while node is not None:
        if node.type in _TEXT:
            return False
        node = node.parent
    return True
