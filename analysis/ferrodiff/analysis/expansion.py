"""What the calls of a file's own macros expand to, where that has annotations.

For showing the derivatives that macros make; what is compiled is what rustc makes of the macro. Expansion is
textual: the text of a file in which the calls are replaced, and a map back. Calls of macros that
the file does not define, or that match none of the rules, stay.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.matching import Bindings, Element, Fragment, match, pattern, tokens
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.syntax import parse
from ferrodiff.analysis.text import Span, decode

_ROUNDS = 32
"""How deep calls in expansions are followed."""
_MOST_BYTES = 1 << 20
_MOST_TOKENS = 256
"""Of a call; longer ones are tables, whose expansion nobody reads."""
_TRIGGER = b"autodiff"
IMPLS = ("impl", "trait", "trait_impl")
"""Kinds of containers whose functions are associated with a type."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One arm of a macro; `right` is a node of `data`."""

    left: tuple[Element, ...]
    right: Node
    data: bytes


@dataclass(frozen=True, slots=True)
class Made:
    """A derivative that a macro makes. The facts' places are in the expanded text."""

    function: Function
    annotation: Annotation
    macro: str
    """The one that the file calls."""
    call: Span
    """The call in the file, with the semicolon after it."""
    rule: int
    """Where the right side of the rule starts that the annotation stands in, or that was handed it."""
    in_impl_of_call: bool
    """Whether the function is in an impl that is not of the macro's making."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the expanded text. Within the expansion of a call, every byte comes from the call."""

    start: int
    origin: int
    call: Span | None
    macro: str
    rule: int

    def origin_of(self, offset: int) -> int:
        return self.origin + (0 if self.call else offset - self.start)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call in the text of one round, and what replaces it."""

    span: Span
    macro: str
    rule: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Expansion:
    """A file with its calls replaced."""

    analysis: FileAnalysis
    parts: tuple[_Part, ...]

    def origin(self, offset: int) -> int:
        """The offset in the file; in an expansion, where the call starts."""
        return _part(self.parts, offset).origin_of(offset)

    def call_at(self, offset: int) -> tuple[str, Span] | None:
        """The macro and the call that an offset of the expanded text comes from."""
        part = _part(self.parts, offset)
        return (part.macro, part.call) if part.call is not None else None

    def made(self) -> Iterator[Made]:
        """The derivatives that only the expansion has."""
        for function in self.analysis.functions:
            for annotation in function.annotations:
                part = _part(self.parts, annotation.item_span.start)
                if part.call is not None:
                    info = function.container_info
                    outside = info.kind in IMPLS and _part(self.parts, info.scope.start) is not part
                    yield Made(function, annotation, part.macro, part.call, part.rule, outside)


def expand(data: bytes) -> Expansion | None:
    """The file with the calls of annotated macros replaced; None when there is nothing to replace."""
    if _TRIGGER not in data or b"macro_rules" not in data:
        return None
    try:
        return _expand(data)
    except RecursionError:  # macros nested as deep as that are nobody's
        return None


def _expand(data: bytes) -> Expansion | None:
    macros = dict(_macros(data))
    parts: tuple[_Part, ...] = (_Part(0, 0, None, "", -1),)
    current = data
    for _ in range(_ROUNDS):
        changed = _round(current, parts, macros)
        if changed is None or len(changed[0]) > _MOST_BYTES:
            break
        current, parts = changed
    return None if current is data else Expansion(analyse(decode(current)), parts)


def _part(parts: Sequence[_Part], offset: int) -> _Part:
    """The stretch that an offset of the expanded text is in."""
    return parts[bisect_right(parts, offset, key=lambda part: part.start) - 1]


def _macros(data: bytes) -> Iterator[tuple[str, list[Rule]]]:
    """The rules of the file's macros by name; the last definition of a name counts."""
    for node in _walk(parse(data).root_node):
        name = node.child_by_field_name("name")
        if node.type == "macro_definition" and name is not None and not node.has_error:
            sides = [
                (r.child_by_field_name("left"), r.child_by_field_name("right")) for r in node.named_children
            ]
            yield (
                decode(name.text or b""),
                [Rule(pattern(left, data), right, data) for left, right in sides if left and right],
            )


def _round(
    data: bytes, parts: tuple[_Part, ...], macros: dict[str, list[Rule]]
) -> tuple[bytes, tuple[_Part, ...]] | None:
    """Every call replaced once; None when none can be."""
    annotated = _annotated(macros)
    done: list[_Call] = []
    for node in _walk(parse(data).root_node):
        if node.type == "macro_invocation":
            name = decode(node.children[0].text or b"").rpartition("::")[2]
            wanted = name in annotated or (name in macros and _TRIGGER in (node.text or b""))
            made = _expanded(node, data, macros[name]) if wanted else None
            if made is not None:
                done.append(_Call(_with_semicolon(node), name, *made))
    if not done:
        return None
    return _replace(data, parts, done)


def _annotated(macros: dict[str, list[Rule]]) -> set[str]:
    """The macros whose expansion has annotations of its own, or calls a macro whose expansion has some."""
    texts = {name: b" ".join(rule.right.text or b"" for rule in rules) for name, rules in macros.items()}
    found = {name for name, text in texts.items() if _TRIGGER in text}
    while True:
        calls = re.compile(rb"\b(?:" + b"|".join(re.escape(n.encode()) for n in found) + rb")\s*!")
        more = {name for name, text in texts.items() if found and calls.search(text)} - found
        if not more:
            return found
        found |= more


def _expanded(call: Node, data: bytes, rules: Sequence[Rule]) -> tuple[int, bytes] | None:
    """The first rule that matches a call, and what it makes of it."""
    given = tokens(call.children[-1])
    if call.has_error or len(given) > _MOST_TOKENS:
        return None
    for rule in rules:
        bindings = match(rule.left, given)
        if bindings is not None:
            text = _Transcriber(rule.data, data).tree(rule.right, bindings)[1:-1]
            return rule.right.start_byte, b" " + text + b" "
    return None


def _with_semicolon(call: Node) -> Span:
    """The call with what ends it as an item or statement."""
    outer = call.parent
    if outer is not None and outer.type == "expression_statement":
        return Span(outer.start_byte, outer.end_byte)
    after = call.next_sibling
    end = after.end_byte if after is not None and after.type in (";", "empty_statement") else call.end_byte
    return Span(call.start_byte, end)


def _replace(data: bytes, parts: tuple[_Part, ...], done: list[_Call]) -> tuple[bytes, tuple[_Part, ...]]:
    result = bytearray()
    new: list[_Part] = []
    at = 0
    for call in done:
        new += _moved(parts, Span(at, call.span.start), len(result) - at)
        result += data[at : call.span.start]
        outer = _part(parts, call.span.start)
        origin = outer.origin_of(call.span.start)
        new.append(_Part(len(result), origin, outer.call or call.span, outer.macro or call.macro, call.rule))
        result += call.text
        at = call.span.end
    new += _moved(parts, Span(at, len(data)), len(result) - at)
    return bytes(result + data[at:]), tuple(new)


def _moved(parts: tuple[_Part, ...], span: Span, by: int) -> Iterator[_Part]:
    """The stretches of a range that stays, where they are afterwards."""
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        end = after.start if after is not None else span.end
        start = max(part.start, span.start)
        if start < min(end, span.end):
            yield replace(part, start=start + by, origin=part.origin_of(start))


@dataclass(frozen=True, slots=True)
class _Transcriber:
    """Writes a rule's right side. `data` is the definition's file, `call` that of the call."""

    data: bytes
    call: bytes

    def tree(self, node: Node, bindings: Bindings) -> bytes:
        return self._run(node.children, node.start_byte, node.end_byte, bindings)

    def _run(self, nodes: Sequence[Node], start: int, end: int, bindings: Bindings) -> bytes:
        parts, at = [], start
        for node in nodes:
            parts += [self.data[at : node.start_byte], self._one(node, bindings)]
            at = node.end_byte
        return b"".join([*parts, self.data[at:end]])

    def _one(self, node: Node, bindings: Bindings) -> bytes:
        if node.type == "metavariable":
            name = decode(node.text or b"").removeprefix("$")
            bound = bindings.get(name)
            if isinstance(bound, Fragment):
                return self._fragment(bound)
            return b"crate" if name == "crate" else node.text or b""
        if node.type == "token_repetition":
            return self._repetition(node, bindings)
        return self.tree(node, bindings) if node.type == "token_tree" else node.text or b""

    def _fragment(self, fragment: Fragment) -> bytes:
        """An expression stays one: it gets parentheses."""
        text = self.call[fragment.span.start : fragment.span.end]
        return b"(" + text + b")" if fragment.kind == "expr" and fragment.tokens > 1 else text

    def _repetition(self, node: Node, bindings: Bindings) -> bytes:
        close = max(at for at, child in enumerate(node.children) if child.type == ")")
        inner = node.children[2:close]
        start, end = node.children[1].end_byte, node.children[close].start_byte
        separator = self.data[node.children[close].end_byte : node.children[-1].start_byte].strip()
        used = {decode(n.text or b"").removeprefix("$") for n in _metavariables(node)}
        lists = {name: bound for name, bound in bindings.items() if name in used and isinstance(bound, list)}
        rounds = min((len(bound) for bound in lists.values()), default=0)
        texts = [
            self._run(inner, start, end, {**bindings, **{name: bound[k] for name, bound in lists.items()}})
            for k in range(rounds)
        ]
        return (separator + b" ").join(texts)


def _metavariables(node: Node) -> Iterator[Node]:
    if node.type == "metavariable":
        yield node
    for child in node.children:
        yield from _metavariables(child)


def _walk(node: Node) -> Iterator[Node]:
    """Nodes in source order; token trees not."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if current.type not in ("token_tree", "attribute", "macro_definition"):
            stack.extend(reversed(current.named_children))
