"""What a function's body does with its parameters, read from its syntax tree.

A mention is a use of the parameter's name as a value. Comments, strings, fields and nested functions do not
mention it; names in macro calls and in format strings do. A local variable of the same name is not told
apart from the parameter, so a parameter may be called used when it is not, never the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from ferrodiff.analysis.model import Function, Parameter
from ferrodiff.analysis.text import SourceText, Span, decode, encode

_NAMES = frozenset({"identifier", "self"})
_STRINGS = frozenset({"string_literal", "raw_string_literal"})
_NESTED = frozenset({"function_item", "function_signature_item", "impl_item", "trait_item"})
_PLACES = frozenset({"index_expression", "unary_expression", "parenthesized_expression", "field_expression"})
_FILLS = frozenset({"fill", "copy_from_slice", "clone_from_slice", "len", "is_empty"})
"""Methods that do not read a slice's floats."""
_CAPTURED = re.compile(r"\{(?:r#)?([^\W\d]\w*)\s*(?::[^{}]*)?\}|[\w.:<>^]*?([^\W\d]\w*)\$")
_HEAD = b"fn f() "


@dataclass(frozen=True, slots=True)
class Mention:
    name: str
    span: Span
    """Bytes of the body's text; empty for a name captured by a format string."""
    reads: bool
    """False for the target of a plain assignment and for methods that only fill."""
    in_macro: bool
    is_field: bool = False
    """Whether it is a field's name too, as in ``P { x }``."""


@lru_cache(maxsize=256)
def mentions(body: str) -> tuple[Mention, ...]:
    """The names used as values in a body (with its braces), in no particular order."""
    from ferrodiff.analysis.syntax import parse

    data = _HEAD + encode(body)
    return tuple(_walk(parse(data).root_node, data))


def _walk(root: Node, data: bytes) -> Iterator[Mention]:
    outer = root.children[0] if root.child_count else root
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, in_macro = waiting.pop()
        kind = node.type
        if kind in _NAMES:
            if node.start_byte >= len(_HEAD) and not _binds(node):
                name = decode(data[node.start_byte : node.end_byte]).removeprefix("r#")
                span = Span(node.start_byte - len(_HEAD), node.end_byte - len(_HEAD))
                field = node.parent is not None and node.parent.type == "shorthand_field_initializer"
                yield Mention(name, span, _reads(node, data), in_macro, field)
        elif kind in _STRINGS:
            if in_macro:
                yield from _captured(decode(data[node.start_byte : node.end_byte]))
        elif kind not in _NESTED or node == outer:
            inside = in_macro or kind in ("macro_invocation", "macro_definition")
            waiting += [(child, inside) for child in node.children]


_PATTERN_FIELDS = ("pattern", "parameters")


@lru_cache(maxsize=256)
def is_rebound(body: str, name: str) -> bool:
    """Whether anything in a body may declare a local variable of this name."""
    from ferrodiff.analysis.syntax import parse

    data, wanted = _HEAD + encode(body), encode(name)
    waiting = [(parse(data).root_node, False)]
    while waiting:
        node, binding = waiting.pop()
        kind = node.type
        is_name = binding and kind in ("identifier", "shorthand_field_identifier")
        if is_name and data[node.start_byte : node.end_byte].removeprefix(b"r#") == wanted:
            return True
        patterns = [child for field in _PATTERN_FIELDS if (child := node.child_by_field_name(field))]
        for child in node.children:
            inside = binding or kind == "match_pattern" or child in patterns
            waiting.append((child, inside))
    return False


def _captured(literal: str) -> Iterator[Mention]:
    for found in _CAPTURED.finditer(literal):
        yield Mention(found[1] or found[2], Span(0, 0), True, True)


def _binds(node: Node) -> bool:
    """Whether a name is declared here by a plain ``let``."""
    parent = node.parent
    return (
        parent is not None
        and parent.type == "let_declaration"
        and parent.child_by_field_name("pattern") == node
    )


def _reads(node: Node, data: bytes) -> bool:
    place, parent = node, node.parent
    while parent is not None and parent.type in _PLACES and parent.named_children[:1] == [place]:
        if parent.type == "unary_expression" and data[parent.start_byte : parent.start_byte + 1] != b"*":
            return True
        if parent.type == "field_expression" and parent.parent is not None:
            method = parent.child_by_field_name("field")
            if parent.parent.type == "call_expression" and parent.parent.named_children[:1] == [parent]:
                text = decode(data[method.start_byte : method.end_byte]) if method is not None else ""
                return text not in _FILLS
        place, parent = parent, parent.parent
    if parent is None or parent.type != "assignment_expression":
        return True
    return parent.child_by_field_name("left") != place


@dataclass(frozen=True, slots=True)
class Usage:
    is_used: bool
    is_read: bool
    """Whether the body may use the value that the caller passes."""


def usage(function: Function, parameter: Parameter, source: SourceText) -> Usage | None:
    """What the body does with a parameter; None where there is no body or no name."""
    if function.body_span is None or parameter.name is None:
        return None
    found = [m for m in mentions(source.slice(function.body_span)) if m.name == parameter.name]
    return Usage(bool(found), any(m.reads for m in found))
