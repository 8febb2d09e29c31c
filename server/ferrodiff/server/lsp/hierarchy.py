"""Call hierarchy: a derivative calls its primal, and is called where the workspace uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local import every_function_near
from ferrodiff.analysis.model import Function
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import offset_at, range_of, same_uri
from ferrodiff.server.lsp.index import Derivative
from ferrodiff.server.lsp.places import Part, mentions_in, place_at
from ferrodiff.server.lsp.symbols import describes
from ferrodiff.server.lsp.targets import files_mentioning, target_at

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

_DERIVATIVE = "derivative"
_PRIMAL = "primal"


def prepare(
    server: FerrodiffServer, params: t.CallHierarchyPrepareParams
) -> list[t.CallHierarchyItem] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    offset = offset_at(opened.source, params.position, server.encoding)
    target = target_at(server, opened, offset)
    if target is not None:
        return [_derivative_item(derivative, server.encoding) for derivative in target.derivatives]
    place = place_at(opened.analysis, offset)
    if place is not None and place.part is Part.FUNCTION:
        return [_function_item(opened.uri, opened.source, place.function, server.encoding, _PRIMAL)]
    return None


def _derivative_item(derivative: Derivative, encoding: str) -> t.CallHierarchyItem:
    annotation = derivative.annotation
    return t.CallHierarchyItem(
        name=derivative.name,
        kind=t.SymbolKind.Function,
        uri=derivative.uri,
        range=range_of(derivative.source, annotation.span, encoding),
        selection_range=range_of(derivative.source, annotation.name_span or annotation.span, encoding),
        detail=describes(derivative),
        data={"kind": _DERIVATIVE, "name": derivative.name},
    )


def _function_item(
    uri: str, source: SourceText, function: Function, encoding: str, kind: str = ""
) -> t.CallHierarchyItem:
    return t.CallHierarchyItem(
        name=function.bare_name,
        kind=t.SymbolKind.Function,
        uri=uri,
        range=range_of(source, function.span, encoding),
        selection_range=range_of(source, function.name_span, encoding),
        data={"kind": kind, "name": function.bare_name},
    )


def _data(item: t.CallHierarchyItem) -> tuple[str, str]:
    data: Any = item.data
    if not isinstance(data, dict):
        data = data._asdict() if hasattr(data, "_asdict") else {}
    return str(data.get("kind", "")), str(data.get("name", item.name))


def _derivatives(server: FerrodiffServer, item: t.CallHierarchyItem) -> list[Derivative]:
    """The derivatives an item stands for: itself, or those of a primal."""
    kind, name = _data(item)
    here = [d for d in server.derivatives() if same_uri(d.uri) == same_uri(item.uri)]
    if kind == _DERIVATIVE:
        return [d for d in here if d.name == name]
    return [d for d in here if d.function.bare_name == name] if kind == _PRIMAL else []


def outgoing(
    server: FerrodiffServer, params: t.CallHierarchyOutgoingCallsParams
) -> list[t.CallHierarchyOutgoingCall]:
    kind, _ = _data(params.item)
    if kind != _DERIVATIVE:
        return []
    return [
        t.CallHierarchyOutgoingCall(
            to=_function_item(d.uri, d.source, d.function, server.encoding, _PRIMAL),
            from_ranges=[range_of(d.source, d.annotation.span, server.encoding)],
        )
        for d in _derivatives(server, params.item)
    ]


def incoming(
    server: FerrodiffServer, params: t.CallHierarchyIncomingCallsParams
) -> list[t.CallHierarchyIncomingCall]:
    kind, name = _data(params.item)
    if kind == _PRIMAL:
        return [
            t.CallHierarchyIncomingCall(
                from_=_derivative_item(d, server.encoding),
                from_ranges=[range_of(d.source, d.annotation.span, server.encoding)],
            )
            for d in _derivatives(server, params.item)
        ]
    result = []
    for uri, analysis in files_mentioning(server, [name]):
        for function, spans in callers(analysis, name):
            result.append(
                t.CallHierarchyIncomingCall(
                    from_=_function_item(uri, analysis.source, function, server.encoding),
                    from_ranges=[range_of(analysis.source, span, server.encoding) for span in spans],
                )
            )
    return result


def callers(analysis: FileAnalysis, name: str) -> list[tuple[Function, list[Span]]]:
    """The functions that use a derivative, with the places where they do."""
    found: dict[Span, tuple[Function, list[Span]]] = {}
    for mention in mentions_in(analysis, [name]):
        inside = [
            f
            for f in every_function_near(analysis, mention.span)
            if f.body_span and mention.span.start in f.body_span
        ]
        if inside:
            function = min(inside, key=lambda f: f.span.length)
            found.setdefault(function.span, (function, []))[1].append(mention.span)
    return list(found.values())
