"""Reads one function's declaration out of its syntax node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, Self

from tree_sitter import Node

from ferrodiff.analysis.conditions import resolved
from ferrodiff.analysis.dialect import plain
from ferrodiff.analysis.model import Annotation, Attribute, Container, Function, Generic, Header, Parameter
from ferrodiff.analysis.parameter_attributes import assigned, attribute_spans, without
from ferrodiff.analysis.printing import COMMENTS, identifier
from ferrodiff.analysis.syntax import parse
from ferrodiff.analysis.text import Span


class Reader(Protocol):
    """What is needed of a walker."""

    def span(self, node: Node) -> Span: ...

    def text(self, node: Node) -> str: ...

    def printed(self, node: Node | None) -> str: ...

    def bytes_of(self, span: Span) -> bytes: ...

    def where_of(self, node: Node) -> str | None:
        """The where clause of a function if it is not in the tree."""
        ...

    def moved(self, start: int) -> Self:
        """The same text, read by a tree of its own whose offset 0 is `start` here."""
        ...


_GENERIC_KINDS: Mapping[str, str] = {
    "lifetime_parameter": "lifetime",
    "lifetime": "lifetime",
    "type_parameter": "type",
    "type_identifier": "type",
    "constrained_type_parameter": "type",
    "optional_type_parameter": "type",
    "const_parameter": "const",
}


def read_function(
    reader: Reader,
    node: Node,
    attributes: tuple[Attribute, ...],
    annotations: tuple[Annotation, ...],
    container: Container,
) -> Function:
    """The function at `node` (a ``function_item`` or ``function_signature_item``)."""
    name = node.child_by_field_name("name")
    parameters = node.child_by_field_name("parameters")
    returns = node.child_by_field_name("return_type")
    body = node.child_by_field_name("body")
    generics, where = generics_of(reader, node)
    where = reader.where_of(node) or where
    visibility, modifiers = _prefix(node)
    header, is_default = _header(reader, modifiers)
    whole = reader.span(node)
    starts = [a.span.start for a in attributes] + [a.span.start for a in annotations]
    return Function(
        name=reader.text(name) if name is not None else "",
        name_span=reader.span(name) if name is not None else whole,
        span=Span(min([*starts, whole.start]), whole.end),
        item_text_span=whole,
        visibility=reader.printed(visibility),
        header=header,
        generics_text=f"<{', '.join([g.text for g in generics])}>" if generics else "",
        generics=generics,
        where_text=where,
        parameters=read_parameters(reader, parameters),
        return_type=reader.printed(returns) if returns is not None else None,
        return_span=reader.span(returns) if returns is not None else None,
        parameters_span=reader.span(parameters) if parameters is not None else Span(whole.end, whole.end),
        container_info=container,
        body_span=reader.span(body) if body is not None else None,
        annotations=annotations,
        attributes=attributes,
        is_default=is_default,
    )


def generics_of(reader: Reader, node: Node) -> tuple[tuple[Generic, ...], str]:
    """Generic parameters and ``where`` clause of a function, impl or trait."""
    listed = node.child_by_field_name("type_parameters")
    where = next((child for child in node.children if child.type == "where_clause"), None)
    found = []
    attributes = ""
    for child in listed.named_children if listed is not None else ():
        if child.type == "attribute_item":
            attributes += reader.printed(child) + " "
        kind = _GENERIC_KINDS.get(child.type)
        if kind is None:
            continue
        conditions, attributes = resolved(attributes), ""
        if conditions is None:
            continue
        name = child.child_by_field_name("name") or child.child_by_field_name("left") or child
        if name.type in ("type_parameter", "constrained_type_parameter") and name.named_child_count:
            name = name.named_children[0]
        if name.is_missing or (name.child_count and name.children[0].is_missing):
            continue  # `<>`
        found.append(Generic(kind, reader.printed(name), conditions + reader.printed(child)))
    return tuple(found), reader.printed(where)


def _prefix(node: Node) -> tuple[Node | None, Node | None]:
    visibility = modifiers = None
    for child in node.children:
        if child.type == "visibility_modifier":
            visibility = child
        elif child.type == "function_modifiers":
            modifiers = child
        elif child.type == "fn":
            break
    return visibility, modifiers


def _header(reader: Reader, modifiers: Node | None) -> tuple[Header, bool]:
    words = {}
    for child in modifiers.children if modifiers is not None else ():
        words[child.type] = reader.printed(child)
    header = Header(
        is_const="const" in words,
        is_async="async" in words,
        is_unsafe="unsafe" in words,
        extern=words.get("extern_modifier"),
        is_safe="safe" in words,
    )
    return header, "default" in words


def read_parameters(reader: Reader, node: Node | None) -> tuple[Parameter, ...]:
    """Every written parameter, with the conditions in its attributes decided."""
    return tuple([_decided(parameter) for parameter in _written_parameters(reader, node)])


def _decided(parameter: Parameter) -> Parameter:
    attributes = resolved(parameter.attributes_text)
    if attributes == parameter.attributes_text:
        return parameter
    return replace(parameter, attributes_text=attributes or "", absent=attributes is None)


def _written_parameters(reader: Reader, node: Node | None) -> tuple[Parameter, ...]:
    if node is not None and node.has_error:
        span = reader.span(node)
        found = _read_again(reader, span.start, reader.bytes_of(span))
        if found is not None:
            return found
    return _listed(reader, node)


_HEAD = b"fn f"


def _read_again(reader: Reader, start: int, text: bytes) -> tuple[Parameter, ...] | None:
    """The parameters without what the grammar does not know; None where the list is broken all the same."""
    spans = attribute_spans(text)
    tree = parse(_HEAD + plain(without(text, spans)) + b"{}")
    if tree.root_node.has_error and not spans:
        return None
    item = tree.root_node.children[0]
    listed = item.child_by_field_name("parameters")
    parameters = _listed(reader.moved(start - len(_HEAD)), listed)
    return _with_attributes(reader, start, text, parameters, spans)


def _with_attributes(
    reader: Reader, start: int, text: bytes, parameters: tuple[Parameter, ...], spans: list[tuple[int, int]]
) -> tuple[Parameter, ...]:
    starts = [parameter.span.start - start for parameter in parameters]
    return tuple(
        [
            replace(
                parameter,
                attributes_text="".join([_attribute(reader, start + a, text[a:b]) for a, b in own]),
            )
            for parameter, own in zip(parameters, assigned(spans, starts), strict=True)
        ]
    )


def _attribute(reader: Reader, start: int, text: bytes) -> str:
    root = parse(text + _HEAD + b"(){}").root_node
    return reader.moved(start).printed(root.children[0]) + " " if root.children else ""


def _listed(reader: Reader, node: Node | None) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    attributes = ""
    for child in node.children if node is not None else ():
        kind = child.type
        if kind == "attribute_item":
            attributes += reader.printed(child) + " "
        elif kind in COMMENTS or not child.is_named:
            continue
        else:
            found.append(_parameter(reader, child, attributes))
            attributes = ""
    return tuple(found)


def _parameter(reader: Reader, node: Node, attributes: str) -> Parameter:
    if node.type == "self_parameter":
        return _receiver(reader, node, attributes)
    if node.type == "variadic_parameter":
        pattern = node.child_by_field_name("pattern")
        span = reader.span(node)
        return Parameter(
            None, span, reader.printed(pattern), span, "...", span, attributes_text=attributes, variadic=True
        )
    if node.type == "parameter":
        return _ordinary(reader, node, attributes)
    # a bare type: an anonymous parameter of a trait method in the 2015 edition, or broken code
    span = reader.span(node)
    return Parameter(None, span, "_", span, reader.printed(node), span, attributes_text=attributes)


def _ordinary(reader: Reader, node: Node, attributes: str) -> Parameter:
    pattern, written = node.child_by_field_name("pattern"), node.child_by_field_name("type")
    span = reader.span(node)
    mutable = any(child.type == "mutable_specifier" for child in node.children)
    name = None
    if pattern is not None and pattern.type in ("identifier", "self"):
        name = reader.text(pattern).removeprefix("r#")
    elif pattern is not None and pattern.type == "mut_pattern" and pattern.named_child_count:
        inner = pattern.named_children[-1]
        if inner.type in ("identifier", "self"):
            name, mutable = reader.text(inner).removeprefix("r#"), True
    text = reader.printed(pattern)
    if mutable and not text.startswith("mut "):
        text = f"mut {text}"
    start = span.start
    end = reader.span(pattern).end if pattern is not None else start
    is_self = name == "self"
    return Parameter(
        name=name,
        span=span,
        pattern_text=text,
        pattern_span=Span(start, end),
        type_text=reader.printed(written),
        type_span=reader.span(written) if written is not None else Span(span.end, span.end),
        is_self=is_self,
        self_kind="typed" if is_self else None,
        mutable=mutable,
        attributes_text=attributes,
    )


def _receiver(reader: Reader, node: Node, attributes: str) -> Parameter:
    kinds = {child.type: child for child in node.children}
    by_reference, mutable = "&" in kinds, "mutable_specifier" in kinds
    lifetime = f"{reader.text(kinds['lifetime'])} " if "lifetime" in kinds else ""
    if by_reference:
        shape = f"&{lifetime}{'mut ' if mutable else ''}"
        kind = "&mut self" if mutable else "&self"
    else:
        shape, kind = "", "self"
    binding = "mut " if mutable and not by_reference else ""
    span = reader.span(node)
    return Parameter(
        name="self",
        span=span,
        pattern_text=f"{binding}{shape}self",
        pattern_span=span,
        type_text=f"{shape}Self",
        type_span=span,
        is_self=True,
        self_kind=kind,
        mutable=bool(binding),
        attributes_text=attributes,
    )


def printed_name(name: str) -> str:
    return identifier(name)
