"""The grammar of Rust and its parser."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import tree_sitter_rust
from tree_sitter import Language, Parser, Range, Tree


@cache
def language() -> Language:
    return Language(tree_sitter_rust.language())


def parse(data: bytes, parts: Sequence[tuple[int, int]] = ()) -> Tree:
    """The syntax tree of a text, or of parts of it only, as if they followed one another.

    Offsets are those in `data`. In parts the lines and columns that tree-sitter tells are not those of the text.
    """
    parser = Parser(language())
    if len(parts) > 1:
        parser.included_ranges = [Range((0, start), (0, end), start, end) for start, end in parts]
    return parser.parse(data)
