"""What a file needs for `std::autodiff` only (gate and imports), and `forbid`, which nothing overrides."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from ferrodiff.analysis.rewrite.edits import Replacement, replace_keeping_lines
from ferrodiff.analysis.text import Span, decode

_ROOTS = {b"std", b"core"}
_COMMENTS = {"line_comment", "block_comment"}


def walk(node: Node) -> Iterator[Node]:
    """Items and attributes in source order; bodies included, token trees not."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if current.type not in ("token_tree", "attribute"):
            stack.extend(reversed(current.named_children))


def span_of(node: Node) -> Span:
    return Span(node.start_byte, node.end_byte)


def autodiff_edits(data: bytes, root: Node) -> Iterator[Replacement]:
    """Removes `#![feature(autodiff)]` and every import of the autodiff macros."""
    if b"autodiff" not in data:
        return
    for node in walk(root):
        if node.type == "inner_attribute_item":
            yield from _without_feature(data, node)
        elif node.type == "use_declaration":
            yield from _without_import(data, node)


def forbid_edits(data: bytes, root: Node) -> Iterator[tuple[Replacement, int]]:
    """Turns `forbid(..)` into `deny(..)`, which generated code can override; with the place of each."""
    if b"forbid" not in data:
        return
    for node in walk(root):
        if node.type in ("inner_attribute_item", "attribute_item"):
            for word in _words(node, b"forbid"):
                yield Replacement(span_of(word), b"deny"), word.start_byte


def _words(node: Node, word: bytes) -> Iterator[Node]:
    """Identifiers of an attribute that are `word` and have a parenthesised list after them."""
    stack = [node]
    while stack:
        current = stack.pop()
        following = current.next_sibling
        listed = following is not None and following.type == "token_tree"
        if listed and current.type == "identifier" and current.text == word:
            yield current
        stack.extend(reversed(current.children))


# Feature gate


def _without_feature(data: bytes, item: Node) -> Iterator[Replacement]:
    for word in _words(item, b"feature"):
        tokens = word.next_sibling
        if tokens is None:
            continue
        names = [c for c in tokens.children if c.type == "identifier"]
        gone = [n for n in names if n.text == b"autodiff"]
        if not gone:
            continue
        if len(gone) < len(names):
            yield from (Replacement(span, b"") for span in _disjoint(gone))
        elif _is_only_attribute(word):
            yield replace_keeping_lines(data, span_of(item), "")
        else:
            yield replace_keeping_lines(data, _joined(_with_comma(word, tokens), tokens), "")


def _is_only_attribute(word: Node) -> bool:
    """Whether nothing but `feature(..)` stands in the attribute, or after a `cfg_attr`'s predicate."""
    parent = word.parent
    if parent is None or parent.type == "attribute":
        return True
    commas = [c for c in parent.children if c.type == ","]
    return len([c for c in commas if c.next_sibling is not None and c.next_sibling.type != ")"]) <= 1


def _joined(span: Span, node: Node) -> Span:
    return Span(span.start, max(span.end, node.end_byte))


def _with_comma(node: Node, last: Node | None = None) -> Span:
    """A list's element with the comma after it, or with the one before it when it is the last."""
    end = last or node
    after, before = end.next_sibling, node.prev_sibling
    if after is not None and after.type == ",":
        return Span(node.start_byte, after.end_byte)
    if before is not None and before.type == ",":
        return Span(before.start_byte, end.end_byte)
    return Span(node.start_byte, end.end_byte)


def _disjoint(nodes: list[Node]) -> Iterator[Span]:
    """Spans with one comma each; neighbours may not both claim the comma between them."""
    end = 0
    for node in nodes:
        span = _with_comma(node)
        yield Span(max(span.start, end), span.end)
        end = span.end


# Imports


def _without_import(data: bytes, item: Node) -> Iterator[Replacement]:
    argument = item.child_by_field_name("argument")
    if argument is None or b"autodiff" not in (argument.text or b""):
        return
    gone = _dead_parts(argument, ())
    if argument in gone:
        yield replace_keeping_lines(data, span_of(item), "")
        yield from _without_attributes(data, item)
    else:
        for span in _disjoint(gone):
            yield replace_keeping_lines(data, span, "")


def _without_attributes(data: bytes, item: Node) -> Iterator[Replacement]:
    """The attributes of a removed import would otherwise belong to the next item."""
    before = item.prev_sibling
    while before is not None and (before.type == "attribute_item" or before.type in _COMMENTS):
        if before.type == "attribute_item" or before.child_by_field_name("outer") is not None:
            yield replace_keeping_lines(data, span_of(before), "")
        before = before.prev_sibling


def _dead_parts(node: Node, prefix: tuple[bytes, ...]) -> list[Node]:
    """The topmost parts of a use tree that import nothing but autodiff macros."""
    path = prefix + _segments(node)
    if node.type in ("scoped_use_list", "use_list"):
        holder = node.child_by_field_name("list") if node.type == "scoped_use_list" else node
        if holder is None:
            return []
        if node.type == "scoped_use_list":
            path = prefix + _segments(node.child_by_field_name("path"))
        leaves = [c for c in holder.named_children if c.type not in _COMMENTS]
        gone = [(leaf, _dead_parts(leaf, path)) for leaf in leaves]
        if leaves and all(leaf in parts for leaf, parts in gone):
            return [node]
        return [part for _, parts in gone for part in parts]
    return [node] if path[:1] and path[0] in _ROOTS and path[1:2] == (b"autodiff",) else []


def _segments(node: Node | None) -> tuple[bytes, ...]:
    """`std::autodiff::autodiff_forward as jvp` as its three path segments."""
    if node is None:
        return ()
    if node.type == "use_as_clause":
        return _segments(node.child_by_field_name("path"))
    if node.type == "use_wildcard":
        return tuple(s for child in node.named_children for s in _segments(child))
    if node.type == "scoped_identifier":
        return _segments(node.child_by_field_name("path")) + _segments(node.child_by_field_name("name"))
    text = decode(node.text or b"")
    return (text.encode(),) if node.type in ("identifier", "crate", "self", "super") else ()
