"""What the types defined in a file are made of, read when first asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tree_sitter import Node

from ferrodiff.analysis.activities import holds_float_in
from ferrodiff.analysis.printing import print_node
from ferrodiff.analysis.syntax import parse

if TYPE_CHECKING:
    from ferrodiff.analysis.document import FileAnalysis

_DEFINITIONS = frozenset({"struct_item", "union_item", "enum_item", "type_item"})
_DEFINES = re.compile(rb"\b(?:struct|union|enum|type)\s+\w")
_LISTS = frozenset(
    {"field_declaration_list", "ordered_field_declaration_list", "enum_variant_list", "enum_variant"}
)


Definitions = Mapping[str, tuple[str, ...] | None]
"""What types are made of: the written types of fields, or what an alias stands for; None when it is not known."""


def definitions(text: bytes) -> Definitions:
    """The types that a piece of a file defines, at its root and in its modules, by their unqualified names."""
    if _DEFINES.search(text) is None:
        return {}
    found: dict[str, tuple[str, ...] | None] = {}
    waiting = [parse(text).root_node]
    while waiting:
        for node in waiting.pop().children:
            kind = node.type
            if kind in _DEFINITIONS and (name := node.child_by_field_name("name")) is not None:
                printed = print_node(name, text)
                found[printed] = None if printed in found else _fields(node, text)
            elif kind == "mod_item" and (body := node.child_by_field_name("body")) is not None:
                waiting.append(body)
    return found


def _fields(node: Node, data: bytes) -> tuple[str, ...] | None:
    if node.has_error or _is_generic(node):
        return None
    if node.type == "type_item":
        written = node.child_by_field_name("type")
        return (print_node(written, data),) if written is not None else None
    found: list[str] = []
    waiting = [node]
    while waiting:
        for child in waiting.pop().named_children:
            if child.type in _LISTS or child.type == "field_declaration":
                waiting.append(child)
                found += [print_node(written, data) for written in child.children_by_field_name("type")]
    return tuple(found)


class LocalTypes:
    """The types that a file defines, without those that have type parameters.

    A name that is defined twice is not known: modules are not told apart.
    """

    def __init__(self, analysis: FileAnalysis) -> None:
        self._fields: dict[str, tuple[str, ...] | None] = {}
        for placed in analysis.chunks:
            for name, fields in placed.chunk.definitions.items():
                self._fields[name] = None if name in self._fields else fields

    def fields(self, name: str) -> tuple[str, ...] | None:
        return self._fields.get(name.rpartition("::")[2])

    def holds_float(self, written: str, generics: Iterable[str], self_type: str | None) -> bool | None:
        """As `ferrodiff.analysis.activities.holds_float`, with the file's types known."""
        unknown = frozenset(generics)

        def resolve(name: str) -> tuple[str, ...] | None:
            if name == "Self":
                return (self_type,) if self_type is not None and self_type != "Self" else None
            return None if name in unknown else self.fields(name)

        return holds_float_in(written, resolve)


def _is_generic(node: Node) -> bool:
    listed = node.child_by_field_name("type_parameters")
    return listed is not None and any(child.type != "lifetime_parameter" for child in listed.named_children)
