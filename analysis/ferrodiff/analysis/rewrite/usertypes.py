"""The structs and enums that a file defines: how to make a sample of one, and how to make one printable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from ferrodiff.analysis.rewrite.crate import walk
from ferrodiff.analysis.rewrite.edits import Replacement, insert
from ferrodiff.analysis.rewrite.samples import Struct
from ferrodiff.analysis.syntax import parse
from ferrodiff.analysis.text import SourceText, decode

_DERIVES_DEBUG = re.compile(r"\bderive\s*\([^)]*\bDebug\b")
_UNPRINTABLE = re.compile(r"\b(?:dyn|impl)\b")


@dataclass(frozen=True, slots=True)
class UserType:
    """One definition. `sample` is the struct, or the enum's first variant with a float, else its first."""

    name: str
    start: int
    text: str
    sample: Struct | None
    debug: bool
    """Whether it derives `Debug`."""
    modules: tuple[str, ...] | None
    """The inline modules around it; None where it stands in a function."""

    def seen_from(self, modules: tuple[str, ...]) -> Struct | None:
        """The sample, by a name that code in other inline modules of the file knows."""
        if self.sample is None or self.modules is None or self.modules == modules:
            return self.sample
        path = "".join(f"{part}::" for part in ("self", *(["super"] * len(modules)), *self.modules))
        return replace(self.sample, name=path + self.sample.name)


def user_types(source: SourceText) -> dict[str, UserType]:
    """The file's structs and enums by name."""
    return {found.name: found for node in walk(parse(source.data).root_node) for found in _definition(node)}


def debug_edits(source: SourceText, mentioned: Iterable[str]) -> Iterator[Replacement]:
    """Derives `Debug` for the types that the given type texts lead to, where they have none.

    Types with parts that cannot be printed are left alone.
    """
    types = user_types(source)
    reached = reachable(types, mentioned)
    for name in sorted(reached):
        found = types[name]
        own = re.search(rf"\bDebug\s+for\s+{re.escape(name)}\b", source.text)
        if not (found.debug or own or _UNPRINTABLE.search(found.text)):
            yield insert(found.start, "#[derive(Debug)] ")


def reachable(types: dict[str, UserType], mentioned: Iterable[str]) -> set[str]:
    """The names of the types that type texts lead to."""
    reached: set[str] = set()
    work = list(mentioned)
    while work:
        for word in re.findall(r"\w+", work.pop()):
            if word in types and word not in reached:
                reached.add(word)
                work.append(types[word].text)
    return reached


def _definition(node: Node) -> Iterator[UserType]:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if node.type not in ("struct_item", "enum_item") or name is None:
        return
    text = decode(name.text or b"")
    if node.type == "struct_item":
        sample: Struct | None = struct_of(text, body)
    else:
        variants = list(_variants(text, body))
        with_floats = [v for v in variants if any("f64" in kind or "f32" in kind for _, kind in v.fields)]
        sample = next(iter(with_floats or variants), None)
    yield UserType(
        text, node.start_byte, decode(node.text or b""), sample, _derives_debug(node), _modules(node)
    )


def _modules(node: Node) -> tuple[str, ...] | None:
    found: list[str] = []
    outer = node.parent
    while outer is not None:
        if outer.type == "block":
            return None
        name = outer.child_by_field_name("name") if outer.type == "mod_item" else None
        if name is not None:
            found.insert(0, decode(name.text or b""))
        outer = outer.parent
    return tuple(found)


def _derives_debug(node: Node) -> bool:
    before = node.prev_sibling
    while before is not None and before.type in ("attribute_item", "line_comment", "block_comment"):
        if before.type == "attribute_item" and _DERIVES_DEBUG.search(decode(before.text or b"")):
            return True
        before = before.prev_sibling
    return False


def _variants(name: str, body: Node | None) -> Iterator[Struct]:
    for variant in body.named_children if body is not None else ():
        label = variant.child_by_field_name("name")
        if variant.type == "enum_variant" and label is not None:
            label_text = decode(label.text or b"")
            found = struct_of(f"{name}::{label_text}", variant.child_by_field_name("body"))
            yield replace(found, variant=True)


def struct_of(name: str, body: Node | None) -> Struct:
    """The fields of a struct's or variant's body."""
    if body is None:
        return Struct(name, (), True)
    if body.type == "field_declaration_list":
        pairs = [
            (item.child_by_field_name("name"), item.child_by_field_name("type"))
            for item in body.named_children
        ]
        fields = [
            (decode(n.text or b""), decode(t.text or b""))
            for n, t in pairs
            if n is not None and t is not None
        ]
        return Struct(name, tuple(fields), False)
    kinds = body.children_by_field_name("type")
    return Struct(name, tuple((str(i), decode(kind.text or b"")) for i, kind in enumerate(kinds)), True)


def structs(source: SourceText) -> dict[str, Struct]:
    """The structs that a file defines, by name."""
    found = {}
    for node in walk(parse(source.data).root_node):
        name = node.child_by_field_name("name")
        if node.type == "struct_item" and name is not None:
            text = decode(name.text or b"")
            found[text] = struct_of(text, node.child_by_field_name("body"))
    return found
