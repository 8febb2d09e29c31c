"""What the types defined in a file are made of, read when first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tree_sitter import Node

from ferrodiff.analysis.activities import holds_float_in
from ferrodiff.analysis.printing import print_node

if TYPE_CHECKING:
    from ferrodiff.analysis.document import FileAnalysis

_DEFINITIONS = frozenset({"struct_item", "union_item", "enum_item", "type_item"})
_LISTS = frozenset(
    {"field_declaration_list", "ordered_field_declaration_list", "enum_variant_list", "enum_variant"}
)


class LocalTypes:
    """Types without type parameters, at the file's root and in its modules, by their unqualified names.

    A name that is defined twice is not known: modules are not told apart.
    """

    def __init__(self, analysis: FileAnalysis) -> None:
        self._data = analysis.source.data
        self._nodes: dict[str, Node | None] = {}
        waiting: list[Node] = [analysis.tree.root_node]
        while waiting:
            for node in waiting.pop().children:
                kind = node.type
                if kind in _DEFINITIONS:
                    self._add(node)
                elif kind == "mod_item" and (body := node.child_by_field_name("body")) is not None:
                    waiting.append(body)

    def _add(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            text = print_node(name, self._data)
            self._nodes[text] = None if text in self._nodes else node

    def fields(self, name: str) -> tuple[str, ...] | None:
        """The written types of a type's fields, or what an alias stands for; None when it is not known."""
        node = self._nodes.get(name.rpartition("::")[2])
        if node is None or node.has_error or _is_generic(node):
            return None
        if node.type == "type_item":
            written = node.child_by_field_name("type")
            return (print_node(written, self._data),) if written is not None else None
        found: list[str] = []
        waiting = [node]
        while waiting:
            for child in waiting.pop().named_children:
                if child.type in _LISTS or child.type == "field_declaration":
                    waiting.append(child)
                    found += self._types(child)
        return tuple(found)

    def _types(self, node: Node) -> list[str]:
        return [print_node(written, self._data) for written in node.children_by_field_name("type")]

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
