"""Patterns of `macro_rules!`: read from the syntax tree, and matched against the tokens of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tree_sitter import Node

from ferrodiff.analysis.text import Span, decode

COMMENTS = ("line_comment", "block_comment")
_MOST_STEPS = 20_000
_GROUPS = ("token_tree", "token_tree_pattern")


@dataclass(frozen=True, slots=True)
class Literal:
    """A token that a call has to repeat."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name:kind`."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Group:
    """`( .. )`, `[ .. ]` or `{ .. }`."""

    opening: bytes
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """`$( .. ) separator operator`."""

    elements: tuple[Element, ...]
    separator: bytes
    operator: str


Element: TypeAlias = Literal | Variable | Group | Repetition


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a variable stands for: a range of the call's bytes."""

    span: Span
    kind: str
    tokens: int


Bound: TypeAlias = "Fragment | list[Bound]"
Bindings: TypeAlias = dict[str, Bound]
"""Variables in repetitions are bound to lists, one element for each round."""


def tokens(node: Node) -> list[Node]:
    """What stands between a group's brackets, without comments."""
    return [child for child in node.children[1:-1] if child.type not in COMMENTS]


def pattern(node: Node, data: bytes) -> tuple[Element, ...]:
    """The elements of a rule's left side."""
    return tuple(_element(child, data) for child in tokens(node))


def match(elements: Sequence[Element], nodes: Sequence[Node]) -> Bindings | None:
    """What the variables stand for when the pattern takes all the tokens; None when it does not.

    None too for what takes too long to find out: rustc would call such a macro ambiguous.
    """
    try:
        return _Matcher().match(elements, nodes)
    except _TooLong:
        return None


def _element(node: Node, data: bytes) -> Element:
    if node.type == "token_binding_pattern":
        name, _, kind = decode(node.text or b"").partition(":")
        return Variable(name.strip().removeprefix("$"), kind.strip())
    if node.type == "token_repetition_pattern":
        parts = [child for child in node.children if child.type not in COMMENTS]
        close = max(at for at, child in enumerate(parts) if child.type == ")")
        inner = tuple(_element(child, data) for child in parts[2:close])
        separator = data[parts[close].end_byte : parts[-1].start_byte].strip()
        return Repetition(inner, separator, parts[-1].type)
    if node.type in _GROUPS:
        return Group(node.children[0].text or b"", pattern(node, data))
    return Literal(node.text or b"")


class _TooLong(Exception):
    pass


class _Matcher:
    """Tries every way to go on in turn, the longest first."""

    def __init__(self) -> None:
        self.steps = 0

    def match(self, elements: Sequence[Element], nodes: Sequence[Node]) -> Bindings | None:
        return next((found for end, found in self._prefix(elements, nodes, 0) if end == len(nodes)), None)

    def _prefix(
        self, elements: Sequence[Element], nodes: Sequence[Node], at: int
    ) -> Iterator[tuple[int, Bindings]]:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _TooLong
        if not elements:
            yield at, {}
            return
        for middle, first in self._one(elements[0], nodes, at):
            for end, rest in self._prefix(elements[1:], nodes, middle):
                yield end, {**first, **rest}

    def _one(self, element: Element, nodes: Sequence[Node], at: int) -> Iterator[tuple[int, Bindings]]:
        if isinstance(element, Repetition):
            names = list(_names(element.elements))
            for end, rounds in self._rounds(element, nodes, at, 0):
                yield end, {name: [found[name] for found in rounds] for name in names}
        elif isinstance(element, Variable):
            stop = _fragment_end(element.kind, nodes, at)
            if stop is not None:
                span = Span(nodes[at].start_byte, nodes[stop - 1].end_byte) if at < stop else Span(0, 0)
                yield stop, {element.name: Fragment(span, element.kind, stop - at)}
        elif at < len(nodes):
            node = nodes[at]
            if isinstance(element, Literal):
                if node.type != "token_tree" and node.text == element.text:
                    yield at + 1, {}
            elif node.type == "token_tree" and node.children[0].text == element.opening:
                found = self.match(element.elements, tokens(node))
                if found is not None:
                    yield at + 1, found

    def _rounds(
        self, element: Repetition, nodes: Sequence[Node], at: int, done: int
    ) -> Iterator[tuple[int, list[Bindings]]]:
        start: int | None = at
        if done and element.separator:
            separated = at < len(nodes) and nodes[at].text == element.separator
            start = at + 1 if separated else None
        if start is not None and not (done and element.operator == "?"):
            for middle, found in self._prefix(element.elements, nodes, start):
                if middle > at:
                    for end, rest in self._rounds(element, nodes, middle, done + 1):
                        yield end, [found, *rest]
        if done or element.operator != "+":
            yield at, []


def _names(elements: Sequence[Element]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, Variable):
            yield element.name
        elif isinstance(element, Group | Repetition):
            yield from _names(element.elements)


# Fragments: how many tokens belong to one


def _fragment_end(kind: str, nodes: Sequence[Node], at: int) -> int | None:
    """The end of a fragment; `at` for an empty one, None when there is none."""
    if kind == "vis":
        return _visibility_end(nodes, at)
    if at >= len(nodes):
        return None
    return _ENDS.get(kind, _expression_end)(nodes, at)


def _visibility_end(nodes: Sequence[Node], at: int) -> int:
    if at >= len(nodes) or nodes[at].text != b"pub":
        return at
    limited = at + 1 < len(nodes) and (nodes[at + 1].text or b"").startswith(b"(")
    return at + 2 if limited else at + 1


def _word_end(nodes: Sequence[Node], at: int) -> int | None:
    text = decode(nodes[at].text or b"").removeprefix("r#")
    return at + 1 if text.isidentifier() else None


def _literal_end(nodes: Sequence[Node], at: int) -> int | None:
    if nodes[at].text == b"-":
        return at + 2 if at + 1 < len(nodes) else None
    literal = nodes[at].type.endswith("_literal") or nodes[at].text in (b"true", b"false")
    return at + 1 if literal else None


def _lifetime_end(nodes: Sequence[Node], at: int) -> int | None:
    """A lifetime is a quotation mark and a word."""
    if nodes[at].type == "lifetime":
        return at + 1
    return at + 2 if nodes[at].text == b"'" and at + 1 < len(nodes) else None


def _block_end(nodes: Sequence[Node], at: int) -> int | None:
    return at + 1 if (nodes[at].text or b"").startswith(b"{") else None


def _until(nodes: Sequence[Node], at: int, stops: frozenset[bytes]) -> int | None:
    end = at
    while end < len(nodes) and nodes[end].text not in stops:
        end += 1
    return end if end > at else None


def _expression_end(nodes: Sequence[Node], at: int) -> int | None:
    return _until(nodes, at, frozenset({b",", b";", b"=>"}))


def _pattern_end(nodes: Sequence[Node], at: int) -> int | None:
    return _until(nodes, at, frozenset({b",", b"=>", b"=", b"if", b"in"}))


def _type_end(nodes: Sequence[Node], at: int) -> int | None:
    """A type ends before what may follow one, outside of its angle brackets."""
    end, depth = at, 0
    while end < len(nodes):
        text = nodes[end].text or b""
        opened = text.startswith((b"{", b"["))
        leading = end == at or nodes[end - 1].text in (b"&", b"mut", b"const", b"*", b"->")
        if not depth and (text in _AFTER_TYPES or (opened and not leading)):
            break
        depth += text.count(b"<") - (text.count(b">") if text in (b">", b">>") else 0)
        if depth < 0:
            break
        end += 1
    return end if end > at else None


def _item_end(nodes: Sequence[Node], at: int) -> int | None:
    """An item ends with a semicolon or a block."""
    end = at
    while end < len(nodes):
        text = nodes[end].text or b""
        end += 1
        if text == b";" or text.startswith(b"{"):
            return end
    return None


_AFTER_TYPES = frozenset({b",", b"=>", b":", b"=", b">", b";", b"|", b"as", b"where"})
_ENDS: dict[str, Callable[[Sequence[Node], int], int | None]] = {
    "ident": _word_end,
    "literal": _literal_end,
    "lifetime": _lifetime_end,
    "tt": lambda nodes, at: at + 1,
    "block": _block_end,
    "ty": _type_end,
    "path": _type_end,
    "pat": _pattern_end,
    "pat_param": _pattern_end,
    "item": _item_end,
}
"""`expr`, `stmt` and `meta` end like an expression."""
