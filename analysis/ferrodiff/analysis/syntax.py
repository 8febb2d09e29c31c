"""The grammar of Rust and its parser."""

from __future__ import annotations

from functools import cache

import tree_sitter_rust
from tree_sitter import Language, Parser, Tree


@cache
def language() -> Language:
    return Language(tree_sitter_rust.language())


def parse(data: bytes, old: Tree | None = None) -> Tree:
    """The syntax tree of a whole file; `old` must have been edited to match `data`."""
    parser = Parser(language())
    return parser.parse(data, old) if old is not None else parser.parse(data)
