"""An annotation that swallows what follows it because its brackets are not closed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tree_sitter import Node

from ferrodiff.analysis.diagnostics.core import Diagnostic
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.diagnostics.list_syntax import RULE, WHAT
from ferrodiff.analysis.model import ProblemKind
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


def check(file: File) -> Iterator[Diagnostic]:
    """Only where the syntax tree has an error; a closed annotation is found in the tree."""
    root, source = file.analysis.tree.root_node, file.analysis.source
    if not root.has_error:
        return
    known: set[int] | None = None
    for match in islice(_OPENING.finditer(source.data), _MOST):
        if known is None:
            known = {a.span.start for f in file.analysis.functions for a in f.annotations}
            known |= {m.annotation.span.start for m in file.analysis.misplaced}
        if match.start() in known or not _is_code(root, match.start()):
            continue
        end = source.line_span(source.line_of(match.end())).end
        yield RULE.at(Span(match.start(), end), {"what": WHAT[ProblemKind.UNCLOSED]})


def _is_code(root: Node, offset: int) -> bool:
    node = root.descendant_for_byte_range(offset, offset + 1)
    while node is not None:
        if node.type in _TEXT:
            return False
        node = node.parent
    return True
