"""Finds annotations, annotated functions, imports and item names in a syntax tree.

Nothing recurses: trees of any depth are walked with an explicit stack. A walk only enters nodes that contain
one of the wanted offsets, so its cost follows the number of annotations, not the size of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from ferrodiff.analysis import functions
from ferrodiff.analysis.annotation import Place, read_annotation
from ferrodiff.analysis.conditions import never_holds
from ferrodiff.analysis.dialect import where_clause
from ferrodiff.analysis.model import (
    FILE_SCOPE,
    Annotation,
    Attribute,
    Container,
    Function,
    Import,
    Misplaced,
    Mode,
    Name,
)
from ferrodiff.analysis.printing import COMMENTS, identifier, print_node
from ferrodiff.analysis.text import Span, decode

MACROS: Mapping[str, Mode | None] = {
    "autodiff_forward": Mode.FORWARD,
    "autodiff_reverse": Mode.REVERSE,
    "autodiff": None,
}
FUNCTIONS = frozenset({"function_item", "function_signature_item"})
_OPAQUE = frozenset(
    {
        "macro_definition",
        "macro_invocation",
        "token_tree",
        "attribute_item",
        "inner_attribute_item",
        "line_comment",
        "block_comment",
        "string_literal",
        "raw_string_literal",
        "char_literal",
    }
)
_KINDS = {
    "struct_item": "struct",
    "enum_item": "enum",
    "union_item": "union",
    "mod_item": "module",
    "impl_item": "impl block",
    "trait_item": "trait",
    "const_item": "constant",
    "static_item": "static",
    "type_item": "type alias",
    "associated_type": "associated type",
    "use_declaration": "use declaration",
    "extern_crate_declaration": "extern crate declaration",
    "foreign_mod_item": "extern block",
    "macro_definition": "macro definition",
    "macro_invocation": "macro call",
    "let_declaration": "let statement",
    "expression_statement": "expression",
    "field_declaration": "field",
    "parameter": "parameter",
    "self_parameter": "parameter",
    "enum_variant": "enum variant",
    "match_pattern": "match arm",
    "match_arm": "match arm",
}
_FOREIGN_GLOB = re.compile(rb"(?:pub\b[^:;{]*)?use\s+(?!(?:::)?(?:std|core|alloc)::)[^;]*\*")
_ITEM_NAMES = {
    "function_item": "value",
    "function_signature_item": "value",
    "const_item": "value",
    "static_item": "value",
    "struct_item": "struct",
}


@dataclass(slots=True)
class Found:
    """What a walk has found, in document order."""

    functions: list[Function] = field(default_factory=list)
    misplaced: list[Misplaced] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    features: list[Attribute] = field(default_factory=list)
    """Inner attributes ``#![...]`` of the file."""
    globs: list[Span] = field(default_factory=list)
    """The scopes of ``use ...::*`` that may bring in anything."""

    @property
    def is_notable(self) -> bool:
        """Whether there is more than names and globs."""
        return bool(self.functions or self.misplaced or self.imports or self.features)


@dataclass(frozen=True, slots=True)
class Frame:
    """Children still to be looked at; `parent` is their parent's kind."""

    children: Sequence[Node]
    container: Container
    parent: str
    broken: bool


class Walker:
    """Walks nodes of one tree.

    `data` holds the bytes from tree offset `base` on; all spans are relative to `base`. `triggers` are sorted
    tree offsets that must be reached; None means every function is wanted.
    """

    def __init__(
        self,
        data: bytes,
        base: int,
        aliases: Mapping[str, Mode | None],
        triggers: Sequence[int] | None,
        wheres: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.data = data
        self.base = base
        self.aliases = aliases
        self.triggers = triggers
        self.wheres = wheres
        """Spans of where clauses that are not in the tree."""
        self.found = Found()

    def span(self, node: Node) -> Span:
        return Span(node.start_byte - self.base, node.end_byte - self.base)

    def text(self, node: Node) -> str:
        return decode(self.data[node.start_byte - self.base : node.end_byte - self.base])

    def printed(self, node: Node | None) -> str:
        return print_node(node, self.data, self.base)

    def bytes_of(self, span: Span) -> bytes:
        return self.data[span.start : span.end]

    def where_of(self, node: Node) -> str | None:
        """The where clause of a function if it is not in the tree."""
        body = node.child_by_field_name("body")
        end = (body.start_byte if body is not None else node.end_byte) - self.base
        start = node.start_byte - self.base
        at = bisect_left(self.wheres, (start, 0))
        if at < len(self.wheres) and self.wheres[at][1] <= end:
            return where_clause(self.data[slice(*self.wheres[at])])
        return None

    def moved(self, start: int) -> Walker:
        return Walker(self.data, -start, self.aliases, self.triggers)

    def walk(self, nodes: Sequence[Node], container: Container, broken: bool = False) -> Found:
        """`broken`: the nodes are the pieces of a text that could not be parsed as a whole."""
        stack = [Frame(nodes, container, "source_file", broken)]
        while stack:
            stack.extend(reversed(self._scan(stack.pop())))
        return self.found

    def _wanted(self, node: Node) -> bool:
        if self.triggers is None:
            return node.child_count > 0
        at = bisect_left(self.triggers, node.start_byte)
        return at < len(self.triggers) and self.triggers[at] < node.end_byte

    def _scan(self, frame: Frame) -> list[Frame]:
        """Looks at one level and returns the levels below that have to be entered."""
        inner: list[Frame] = []
        pending: list[Node] = []
        for node in frame.children:
            kind = node.type
            if kind == "attribute_item" or kind in COMMENTS:
                pending.append(node)
                continue
            if kind == "inner_attribute_item":
                self._inner_attribute(node)
                continue
            if not node.is_named:
                if node.type not in ("mut", "ref"):
                    self._dangling(pending, frame)
                    pending = []
                continue
            self._node(node, pending, frame)
            pending = []
            if kind not in _OPAQUE and self._wanted(node):
                inner.append(self._enter(node, frame))
        self._dangling(pending, frame)
        return inner

    def _node(self, node: Node, pending: list[Node], frame: Frame) -> None:
        kind = node.type
        namespace = _ITEM_NAMES.get(kind)
        if namespace is not None and not self._is_conditional(pending):
            self._name(node, namespace, frame.container)
        elif kind == "use_declaration":
            text = self.data[node.start_byte - self.base : node.end_byte - self.base]
            if b"autodiff" in text:
                self.found.imports += imports_of(self, node, frame.container.scope)
            if b"*" in text and _FOREIGN_GLOB.match(text) is not None:
                self.found.globs.append(frame.container.scope)
            return
        annotations = self.annotations(pending)
        if kind in FUNCTIONS and frame.parent != "ERROR":
            if annotations or self.triggers is None:
                if frame.container.kind == "extern" and annotations:
                    self._misplaced(annotations, node, "function in an extern block", frame)
                else:
                    self.found.functions.append(self.function(node, pending, annotations, frame.container))
        elif kind in FUNCTIONS:
            if annotations or self.triggers is None:
                self.found.functions.append(self.function(node, pending, annotations, frame.container))
        elif annotations:
            self._misplaced(annotations, node, _KINDS.get(kind, "expression"), frame)

    def function(
        self, node: Node, pending: list[Node], annotations: tuple[Annotation, ...], container: Container
    ) -> Function:
        return functions.read_function(self, node, self.attributes(pending), annotations, container)

    def _misplaced(self, annotations: Iterable[Annotation], node: Node, kind: str, frame: Frame) -> None:
        broken = frame.broken or node.type == "ERROR"
        target = self.span(_narrow(node))
        self.found.misplaced += [
            Misplaced(a, "broken code" if broken else kind, target, kind == "expression") for a in annotations
        ]

    def _dangling(self, pending: list[Node], frame: Frame) -> None:
        for annotation in self.annotations(pending):
            kind = "broken code" if frame.broken else "nothing"
            self.found.misplaced.append(Misplaced(annotation, kind, annotation.span))

    def _is_conditional(self, pending: Iterable[Node]) -> bool:
        """Whether a ``#[cfg(..)]`` decides about an item: two of one name may then live together."""
        return any(
            node.type == "attribute_item" and self.text(node).lstrip("#[ ").startswith("cfg")
            for node in pending
        )

    def _name(self, node: Node, namespace: str, container: Container) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        if namespace == "struct":
            body = node.child_by_field_name("body")
            if body is not None and body.type == "field_declaration_list":
                return
        self.found.names.append(Name(self.text(name).removeprefix("r#"), self.span(name), container.scope))

    def _inner_attribute(self, node: Node) -> None:
        text = self.printed(node)
        path = text.removeprefix("#![").partition("(")[0].partition("=")[0].strip(" ]")
        self.found.features.append(Attribute(self.span(node), path, text))

    def _enter(self, node: Node, frame: Frame) -> Frame:
        kind = node.type
        broken = frame.broken or kind == "ERROR"
        body = node.child_by_field_name("body") if kind in _CONTAINERS else None
        if body is None:
            if kind == "block":
                container = Container("block", self.span(node), modules=frame.container.modules)
                return Frame(node.children, container, kind, broken)
            return Frame(node.children, frame.container, kind, broken)
        return Frame(body.children, self._container(node, body, frame.container), kind, broken)

    def _container(self, node: Node, body: Node, outer: Container) -> Container:
        scope, kind = self.span(body), node.type
        if kind == "mod_item":
            name = node.child_by_field_name("name")
            return Container("module", scope, modules=(*outer.modules, self.text(name) if name else ""))
        if kind == "foreign_mod_item":
            return Container("extern", scope, modules=outer.modules)
        generics, where = functions.generics_of(self, node)
        trait = node.child_by_field_name("trait")
        subject = node.child_by_field_name("type" if kind == "impl_item" else "name")
        kinds = "trait" if kind == "trait_item" else "impl" if trait is None else "trait_impl"
        return Container(
            kinds,
            scope,
            self_type=self.printed(subject) or None,
            trait=self.printed(trait) or None,
            generics=generics,
            generics_text=self.printed(node.child_by_field_name("type_parameters")),
            where_text=where,
            modules=outer.modules,
        )

    def attributes(self, pending: Iterable[Node]) -> tuple[Attribute, ...]:
        found = []
        for node in pending:
            if node.type == "attribute_item":
                attribute = _named_child(node, "attribute")
                if attribute is None:
                    continue
                path = self.printed(attribute.named_children[0]) if attribute.named_child_count else ""
                if self.macro(path) is not _NO_MACRO:
                    continue
                found.append(Attribute(self.span(node), path.rpartition("::")[2], self.printed(node)))
            elif node.child_by_field_name("outer") is not None:
                found.append(Attribute(self.span(node), "doc", self.text(node).rstrip()))
        return tuple(found)

    def macro(self, path: str) -> Mode | object | None:
        """The mode of the macro at `path`, None for the old macro, `_NO_MACRO` for any other attribute."""
        first, _, last = path.replace(" ", "").rpartition("::")
        if not first:
            return self.aliases.get(last, _NO_MACRO)
        if last in MACROS and ("autodiff" in first.split("::") or last != "autodiff"):
            return MACROS[last]
        return _NO_MACRO

    def annotations(self, pending: Iterable[Node]) -> tuple[Annotation, ...]:
        found: list[Annotation] = []
        for node in pending:
            attribute = _named_child(node, "attribute") if node.type == "attribute_item" else None
            if attribute is None or not attribute.named_child_count:
                continue
            path_node = attribute.named_children[0]
            path = self.printed(path_node)
            if path == "cfg_attr":
                found += self._within_cfg_attr(node, attribute)
                continue
            mode = self.macro(path)
            if mode is _NO_MACRO:
                continue
            place = Place(self.span(node), self.span(attribute), self.span(path_node), path, mode)  # type: ignore[arg-type]
            tree = attribute.child_by_field_name("arguments")
            found.append(self._read(place, tree))
        return tuple(found)

    def _read(self, place: Place, tree: Node | None) -> Annotation:
        if tree is None:
            return read_annotation(place, None, place.item_span.end)
        text = self.text(tree)
        return read_annotation(place, text, tree.start_byte - self.base, not _unclosed(tree))

    def _within_cfg_attr(self, node: Node, attribute: Node) -> list[Annotation]:
        """Annotations among the attributes that ``cfg_attr(predicate, ...)`` stands for, nested ones too."""
        found: list[Annotation] = []
        tree = attribute.child_by_field_name("arguments")
        stack = [tree] if tree is not None else []
        while stack:
            tree = stack.pop()
            parts = _split(tree.children[1:-1])
            predicate = " ".join([self.printed(n) for n in parts[0]]) if parts else ""
            if never_holds(predicate):
                continue
            for part in parts[1:]:
                words = [n for n in part if n.type not in COMMENTS]
                if not words:
                    continue
                listed = words[-1] if words[-1].type == "token_tree" else None
                path_nodes = words[:-1] if listed is not None else words
                if not path_nodes:
                    continue
                path = "".join([self.text(n) for n in path_nodes])
                if path == "cfg_attr" and listed is not None:
                    stack.append(listed)
                    continue
                mode = self.macro(path)
                if mode is _NO_MACRO:
                    continue
                start, end = path_nodes[0].start_byte - self.base, words[-1].end_byte - self.base
                path_span = Span(start, path_nodes[-1].end_byte - self.base)
                place = Place(self.span(node), Span(start, end), path_span, path, mode, True, predicate)  # type: ignore[arg-type]
                found.append(self._read(place, listed))
        return found


_NO_MACRO = object()
_CONTAINERS = frozenset({"mod_item", "foreign_mod_item", "impl_item", "trait_item"})


def _named_child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)


def _unclosed(tree: Node) -> bool:
    return not tree.children or tree.children[-1].is_missing


def _split(nodes: Sequence[Node]) -> list[list[Node]]:
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if node.type == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def _narrow(node: Node) -> Node:
    """What rustc points at: of an expression statement that assigns, only the assigned place."""
    if node.type == "expression_statement" and node.named_child_count:
        expression = node.named_children[0]
        left = expression.child_by_field_name("left")
        return left if left is not None else expression
    return node


def imports_of(walker: Walker, node: Node, scope: Span) -> list[Import]:
    """The autodiff macros and modules that a ``use`` declaration names."""
    found: list[Import] = []
    argument = node.child_by_field_name("argument")
    stack: list[tuple[Node, tuple[str, ...]]] = [(argument, ())] if argument is not None else []
    while stack:
        current, prefix = stack.pop()
        kind = current.type
        if kind in ("use_list", "scoped_use_list"):
            path = current.child_by_field_name("path")
            inner = current.child_by_field_name("list") if kind == "scoped_use_list" else current
            deeper = prefix + _segments(walker, path)
            if inner is not None:
                stack += [(child, deeper) for child in reversed(inner.named_children)]
        elif kind == "use_as_clause":
            path, alias = current.child_by_field_name("path"), current.child_by_field_name("alias")
            name = walker.text(alias) if alias is not None else ""
            _add_import(found, prefix + _segments(walker, path), name, walker.span(current), scope)
        elif kind == "use_wildcard":
            path = current.named_children[0] if current.named_child_count else None
            segments = prefix + _segments(walker, path)
            if segments[-1:] == ("autodiff",):
                found.append(Import("*", "*", walker.span(current), scope, segments))
        elif kind not in COMMENTS:
            segments = prefix + _segments(walker, current)
            if segments[-1:] == ("self",):
                segments = segments[:-1]
            _add_import(found, segments, segments[-1] if segments else "", walker.span(current), scope)
    return found


def _segments(walker: Walker, node: Node | None) -> tuple[str, ...]:
    return tuple([s for s in walker.printed(node).split("::") if s]) if node is not None else ()


def _add_import(found: list[Import], path: tuple[str, ...], name: str, span: Span, scope: Span) -> None:
    if path and path[-1] in MACROS and len(path) > 1:
        found.append(Import(path[-1], identifier(name), span, scope, path))


def module_root() -> Container:
    """The file itself, whose scope has no span of its own."""
    return Container("module", FILE_SCOPE)
