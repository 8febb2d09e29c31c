"""A node's text as rustc's pretty-printer writes it: on one line, without comments or trailing commas.

It works on the node's tokens, never on its structure, so the result always has the same meaning as the
source, whatever the nesting. These habits of rustc's printer are not imitated: the space in ``const N : usize``
and in ``Iterator<Item : Copy>``, the comma after the last arm of a ``match``, ``const`` before a block that an
associated constant equals, and line breaks in long signatures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from ferrodiff.analysis.text import decode

ATOMS = frozenset(
    {
        "string_literal",
        "raw_string_literal",
        "char_literal",
        "lifetime",
        "integer_literal",
        "float_literal",
        "label",
    }
)
COMMENTS = frozenset({"line_comment", "block_comment"})
TUPLES = frozenset({"tuple_type", "tuple_pattern", "tuple_expression"})

_OPENERS = frozenset({"(", "["})
_ANGLE_PARENTS = frozenset(
    {"type_arguments", "type_parameters", "bracketed_type", "for_lifetimes", "use_bounds"}
)
_PREFIXES = {
    "&": frozenset(
        {"reference_type", "reference_pattern", "self_parameter", "reference_expression", "ERROR"}
    ),
    "&&": frozenset({"reference_type", "reference_pattern", "reference_expression"}),
    "*": frozenset({"pointer_type", "unary_expression"}),
    "-": frozenset({"unary_expression", "negative_literal", "ERROR"}),
    "!": frozenset({"unary_expression", "macro_invocation", "inner_attribute_item"}),
    "?": frozenset({"removed_trait_bound"}),
    "#": frozenset({"attribute_item", "inner_attribute_item"}),
    "'": frozenset({"ERROR"}),  # a lifetime where the grammar expects none: `dyn 'a + Trait`
    "~": frozenset({"trait_bounds", "higher_ranked_trait_bound"}),
}
_NO_SPACE_BEFORE = frozenset({",", ";", ")", "]", ":", "."})
_CALLABLE = frozenset(
    {
        "field_identifier",
        "identifier",
        "type_identifier",
        "primitive_type",
        "fn",
        "pub",
        "self",
        "super",
        "crate",
        ")",
        "]",
    }
)
_PATH_ENDS = frozenset(
    {"identifier", "type_identifier", "primitive_type", "self", "super", "crate", "metavariable"}
)
_RANGES = frozenset({"..", "..=", "..."})

# Words a raw identifier keeps its r# for: rustc drops it from any other (edition 2024).
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "crate",
        "else",
        "enum",
        "extern",
        "false",
        "fn",
        "for",
        "if",
        "impl",
        "in",
        "let",
        "loop",
        "match",
        "mod",
        "move",
        "mut",
        "pub",
        "ref",
        "return",
        "self",
        "Self",
        "static",
        "struct",
        "super",
        "trait",
        "true",
        "type",
        "unsafe",
        "use",
        "where",
        "while",
        "abstract",
        "become",
        "box",
        "do",
        "final",
        "macro",
        "override",
        "priv",
        "typeof",
        "unsized",
        "virtual",
        "yield",
        "async",
        "await",
        "dyn",
        "try",
        "gen",
    ]
)


@dataclass(frozen=True, slots=True)
class Leaf:
    text: str
    kind: str
    parent: str
    siblings: int
    """Number of elements when the parent is a tuple: tells ``(T,)`` from ``(T, U,)``."""


def identifier(text: str) -> str:
    """An identifier as rustc prints it: raw only where it must be."""
    bare = text.removeprefix("r#")
    return f"r#{bare}" if bare in RESERVED and text.startswith("r#") else bare


def quoted(name: str) -> str:
    """A bare name as it must be written in source."""
    return f"r#{name}" if name in RESERVED else name


def leaves(node: Node, data: bytes, base: int = 0) -> list[Leaf]:
    """The tokens of `node` in order, comments left out."""
    found: list[Leaf] = []
    stack: list[tuple[Node, str, int]] = [(node, "", 0)]
    while stack:
        current, parent, siblings = stack.pop()
        kind = current.type
        if kind in COMMENTS:
            continue
        if kind in ATOMS or current.child_count == 0:
            text = decode(data[current.start_byte - base : current.end_byte - base])
            if kind == "identifier" or kind == "type_identifier":
                text = identifier(text)
            if text:
                found.append(Leaf(text, kind, parent, siblings))
            continue
        named = _elements(current) if kind in TUPLES else 0
        if kind == "tuple_type" and parent == "trait_bounds" and named == 1:
            # `T: (Copy)` has the parentheses of no tuple
            inside = [child for child in current.named_children if child.type not in COMMENTS]
            stack.append((inside[0], parent, 0))
            continue
        children = current.children
        if kind == "generic_type" and parent != "scoped_identifier":
            # `Vec::<f64>` as a type is `Vec<f64>`
            children = [child for child in children if child.type != "::"]
        stack.extend([(child, kind, named) for child in reversed(children)])
    return found


def _elements(node: Node) -> int:
    return sum(1 for child in node.named_children if child.type not in COMMENTS)


def print_node(node: Node | None, data: bytes, base: int = 0) -> str:
    """Canonical text; `base` is the offset in the tree at which `data` starts."""
    return join(leaves(node, data, base)) if node is not None else ""


def join(tokens: list[Leaf]) -> str:
    parts: list[str] = []
    previous: Leaf | None = None
    for index, leaf in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if leaf.text == "," and _is_trailing(leaf, following):
            continue
        if leaf.text == ":" and _bounds_nothing(leaf, following):
            continue
        if leaf.text == "+" and (following is None or following.text in (",", ">", ")")):
            continue
        if previous is not None and _space(previous, leaf):
            parts.append(" ")
        parts.append(leaf.text)
        previous = leaf
    return "".join(parts)


def _is_trailing(comma: Leaf, following: Leaf | None) -> bool:
    if following is None:
        return True
    closes = following.text in (")", "]", ">", "}") and following.parent == comma.parent
    if not closes or comma.parent == "token_tree":
        return False
    return not (comma.parent in TUPLES and comma.siblings == 1)


def _bounds_nothing(colon: Leaf, following: Leaf | None) -> bool:
    """``<T:>``, which is ``<T>``."""
    return (
        colon.parent == "ERROR"
        and following is not None
        and following.parent == "type_parameters"
        and following.text in (",", ">")
    )


def _space(left: Leaf, right: Leaf) -> bool:
    if left.text in _OPENERS or right.text in _NO_SPACE_BEFORE:
        return False
    if left.text in _PREFIXES and left.parent in _PREFIXES[left.text]:
        return right.text == "{" and left.parent == "macro_invocation"
    if left.text == "<" and left.parent in _ANGLE_PARENTS:
        return False
    if left.text == "|" and left.parent == "closure_parameters":
        return right.parent not in ("closure_parameters", "parameter")
    if right.text == "|" and right.parent == "closure_parameters":
        return left.text in ("=", ",", "move")
    if right.kind == "string_literal" and left.text in ("r", "c", "cr") and left.parent == "ERROR":
        return False
    return _space_before(left, right)


def _space_before(left: Leaf, right: Leaf) -> bool:
    text = right.text
    if text == ">" and right.parent in _ANGLE_PARENTS:
        return False
    if text == "<" and right.parent in ("type_arguments", "type_parameters", "for_lifetimes", "use_bounds"):
        return False
    if left.text in ("::", "."):
        return False
    if text == "::":
        return not (left.kind in _PATH_ENDS or left.text == ">")
    if text == "(":
        return not (left.kind in _CALLABLE or (left.text == ">" and left.parent != "for_lifetimes"))
    if text == "[":
        return left.kind not in _CALLABLE
    if text == "!" and right.parent == "macro_invocation":
        return False
    if text in _RANGES:
        return left.text in (",", ":", "{", "=", "|")
    return left.text not in _RANGES or text in ("}", "|")


@lru_cache(maxsize=1024)
def one_line(text: str) -> str:
    """Any text with its white space collapsed, for messages."""
    return " ".join(text.split())
