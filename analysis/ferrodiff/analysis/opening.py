"""How a file, or a piece of it, begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from ferrodiff.analysis.printing import COMMENTS

_HEAD = COMMENTS | {"inner_attribute_item", "shebang"}
_BEFORE_ITEMS = COMMENTS | {"attribute_item"}


@dataclass(frozen=True, slots=True)
class Opening:
    end: int
    """Where the comments and inner attributes at the beginning end."""
    attribute: int | None
    """Where an outer attribute directly after them starts."""
    item: int | None
    """Where the first item starts: a ``use`` itself, any other with its comments and attributes."""


def opening(nodes: Sequence[Node]) -> Opening:
    """`nodes` are those at the root."""
    end, attribute = 0, None
    for node in nodes:
        kind = node.type
        if kind not in _HEAD:
            attribute = node.start_byte if kind == "attribute_item" else None
            break
        end = node.end_byte
    return Opening(end, attribute, _first_item(nodes))


def _first_item(nodes: Sequence[Node]) -> int | None:
    start: int | None = None
    for node in nodes:
        kind = node.type
        if kind in ("inner_attribute_item", "shebang"):
            start = None
            continue
        if start is None:
            start = node.start_byte
        if kind not in _BEFORE_ITEMS:
            return node.start_byte if kind == "use_declaration" else start
    return start
