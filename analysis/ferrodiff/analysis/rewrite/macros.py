"""Annotated functions in macros: in what `macro_rules!` expands to, and in what a macro is called with.

A macro's tokens are read as Rust by looking at a *view* of the file: everything else is blank, and what is
not Rust (`$x`, `$( ... )*`) is replaced by something of the same length that is. Offsets in a view are
those of the file, so edits found in a view are edits of the file once their `$x` have been put back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from ferrodiff.analysis.model import Function
from ferrodiff.analysis.rewrite.crate import span_of, walk
from ferrodiff.analysis.rewrite.edits import Replacement
from ferrodiff.analysis.text import Span, decode, encode

_PREFIXES = b"ZQXJKWYV"
"""One of these stands for the `$` of `$x`: the one with which no word of the macro begins so."""
_BLANKS = re.compile(rb"[^\r\n]")


@dataclass(frozen=True, slots=True)
class View:
    """One token tree of a file, read as Rust."""

    data: bytes
    """As long as the file; blank outside the token tree."""
    start: int
    """Where the token tree starts."""
    crate: str
    """How the expansion names the crate's root: the helper module stands there."""
    prefix: str
    variables: tuple[str, ...]
    repeated: tuple[Span, ...]
    """Repetitions that hold no annotation: they are blank."""
    visibilities: tuple[tuple[Span, str], ...]
    """`$vis` fragments, which are blank too."""

    def restored(self, edit: Replacement) -> Replacement:
        """The edit with the macro's variables in it."""
        if not self.variables:
            return edit
        words = "|".join(map(re.escape, self.variables))
        text = re.sub(rf"\b{self.prefix}({words})\b", r"$\1", decode(edit.text))
        return Replacement(edit.span, encode(text))

    def adapted(self, function: Function, associated: bool) -> Function:
        """The function as it stands in the expansion. `associated`: that is known to be in an impl."""
        head = Span(function.span.start, function.item_text_span.start)
        visibility = next((text for span, text in self.visibilities if head.covers(span)), "")
        info = function.container_info
        if info.kind == "module" and not info.modules:
            method = associated or any(p.is_self for p in function.parameters)
            info = replace(info, kind="impl" if method else "block")
        if visibility:
            return replace(function, container_info=info, visibility=visibility)
        return replace(function, container_info=info)

    def hides(self, function: Function) -> bool:
        """Whether a part of the annotations or of the signature is repeated."""
        end = function.body_span.start if function.body_span else function.item_text_span.end
        spans = [a.span for a in function.annotations] + [Span(function.item_text_span.start, end)]
        return any(outer.covers(inner) for outer in spans for inner in self.repeated)


def views(data: bytes, root: Node) -> Iterator[View]:
    """A view for every token tree of a macro that mentions autodiff."""
    if b"autodiff" not in data:
        return
    for node in walk(root):
        if node.type == "macro_definition":
            for rule in node.named_children:
                tree = rule.child_by_field_name("right")
                if tree is not None and b"autodiff" in (tree.text or b""):
                    yield _view(data, tree, _kinds(rule), "$crate")
        elif node.type == "macro_invocation":
            for tree in node.named_children:
                if tree.type == "token_tree" and b"autodiff" in (tree.text or b""):
                    yield _view(data, tree, {}, "crate")


def _kinds(rule: Node) -> dict[str, str]:
    """The rule's variables and what they stand for: `n` for `ident`."""
    found: dict[str, str] = {}
    for node in walk(rule):
        if node.type == "token_binding_pattern":
            name, _, kind = decode(node.text or b"").partition(":")
            found[name.strip().removeprefix("$")] = kind.strip()
    return found


def _view(data: bytes, tree: Node, kinds: dict[str, str], crate: str) -> View:
    words = set(re.findall(rb"\w+", tree.text or b""))
    prefix = next(
        (p for p in map(chr, _PREFIXES) if not any(encode(p + name) in words for name in kinds)), "Z"
    )
    text = bytearray(_BLANKS.sub(b" ", data))
    text[tree.start_byte + 1 : tree.end_byte - 1] = data[tree.start_byte + 1 : tree.end_byte - 1]
    repeated: list[Span] = []
    visibilities: list[tuple[Span, str]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        span = span_of(node)
        if node.type == "token_repetition":
            if b"autodiff" not in (node.text or b""):
                _blank(text, span)
                repeated.append(span)
                continue
            inner = [c for c in node.children if c.type not in ("$", "(", ")", "$(")]
            ends = [c for c in node.children if c.type == ")"]
            _blank(text, Span(span.start, inner[0].start_byte if inner else span.end))
            if ends:
                _blank(text, Span(ends[-1].start_byte, span.end))
        elif node.type == "metavariable":
            name = decode(node.text or b"").removeprefix("$")
            if kinds.get(name) == "vis":
                _blank(text, span)
                visibilities.append((span, f"${name}"))
            elif kinds.get(name) == "block":
                _blank(text, span)
                text[span.start : span.start + 2] = b"{}"
            else:
                text[span.start] = ord(" " if name == "crate" else prefix)
        stack.extend(node.children)
    return View(
        bytes(text), tree.start_byte, crate, prefix, tuple(kinds), tuple(repeated), tuple(visibilities)
    )


def _blank(text: bytearray, span: Span) -> None:
    text[span.start : span.end] = _BLANKS.sub(b" ", bytes(text[span.start : span.end]))
