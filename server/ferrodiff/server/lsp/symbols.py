"""Document and workspace symbols for the functions that annotations generate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import range_of
from ferrodiff.server.lsp.index import Derivative, derivatives_of

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

_MOST = 500


def describes(derivative: Derivative) -> str:
    """One line: of what it is the derivative."""
    annotation = derivative.annotation
    width = f", width {annotation.width}" if annotation.width != 1 else ""
    return f"{annotation.mode.value} derivative of {derivative.function.bare_name}{width}"


def matches(query: str, name: str) -> bool:
    """Whether the query's letters occur in the name in this order, as editors match symbols."""
    letters = iter(name.lower())
    return all(letter in letters for letter in query.lower())


def _kind(derivative: Derivative) -> t.SymbolKind:
    inside = derivative.function.container in ("impl", "trait", "trait_impl")
    return t.SymbolKind.Method if inside else t.SymbolKind.Function


def document(
    server: FerrodiffServer, params: t.DocumentSymbolParams
) -> list[t.DocumentSymbol] | list[t.SymbolInformation] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    found = derivatives_of(opened.uri, opened.analysis)
    if not server.abilities.nested_symbols:
        return [_information(derivative, server.encoding) for derivative in found]
    return [
        t.DocumentSymbol(
            name=derivative.name,
            kind=_kind(derivative),
            detail=describes(derivative),
            range=range_of(opened.source, derivative.annotation.span, server.encoding),
            selection_range=range_of(
                opened.source, derivative.annotation.name_span or derivative.annotation.span, server.encoding
            ),
        )
        for derivative in found
    ]


def _information(derivative: Derivative, encoding: str) -> t.SymbolInformation:
    span = derivative.annotation.name_span or derivative.annotation.span
    return t.SymbolInformation(
        name=derivative.name,
        kind=_kind(derivative),
        location=t.Location(derivative.uri, range_of(derivative.source, span, encoding)),
        container_name=describes(derivative),
    )


def workspace(server: FerrodiffServer, params: t.WorkspaceSymbolParams) -> list[t.SymbolInformation]:
    found = [d for d in server.derivatives() if matches(params.query, d.name)]
    return [_information(derivative, server.encoding) for derivative in found[:_MOST]]
