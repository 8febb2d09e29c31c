"""Signature help inside annotations (which parameter is this activity for) and in calls of derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local import functions_near
from ferrodiff.analysis.mentions import call_around
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.text import Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import offset_at
from ferrodiff.server.lsp.generated import choices_for, rows_of, signature_of
from ferrodiff.server.lsp.halftyped import closed_at
from ferrodiff.server.lsp.index import Derivative
from ferrodiff.server.lsp.markup import markup
from ferrodiff.server.lsp.places import argument_slot

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer


def annotation_at(analysis: FileAnalysis, offset: int) -> tuple[Function, Annotation] | None:
    """The annotation whose argument list holds a caret at `offset`."""
    for function in functions_near(analysis, Span(offset, offset)):
        for annotation in function.annotations:
            inside = annotation.list_span
            if inside is None or not inside.start < offset:
                continue
            if offset < inside.end or (not annotation.closed and offset <= inside.end):
                return function, annotation
    return None


def annotation_help(
    function: Function, annotation: Annotation, offset: int, markdown: bool = True
) -> t.SignatureHelp:
    """The list's places as parameters of the attribute."""
    labels = ["name"]
    if annotation.old_form:
        labels.append(annotation.mode.title)
    if annotation.width_span is not None:
        labels.append("width")
    labels += [parameter.text for parameter in function.parameters]
    if function.has_return:
        labels.append(f"-> {function.return_type}")
    slot = argument_slot(annotation, offset)
    documents = [_slot_document(function, annotation, index) for index in range(len(labels))]
    macro = "autodiff" if annotation.old_form else annotation.mode.macro
    information = t.SignatureInformation(
        label=f"{macro}({', '.join(labels)})",
        parameters=[
            t.ParameterInformation(label, markup(text, markdown))
            for label, text in zip(labels, documents, strict=True)
        ],
        active_parameter=min(slot, len(labels)),
    )
    return t.SignatureHelp([information], 0, min(slot, len(labels)))


def _slot_document(function: Function, annotation: Annotation, slot: int) -> str:
    first = 1 + (1 if annotation.old_form else 0) + (1 if annotation.width_span is not None else 0)
    if slot == 0:
        return "The name of the generated function."
    if slot < first:
        return "How many tangents or gradients one call computes."
    lines = [
        f"* `{choice.activity.value}`: {choice.summary}"
        for choice in choices_for(function, annotation.mode, slot - first)
    ]
    return "\n".join(lines)


def call_help(
    derivative: Derivative, active: int, method: bool, markdown: bool = True
) -> t.SignatureInformation:
    """The derivative's own signature; every parameter says what it is."""
    rows = rows_of(derivative.function, derivative.annotation)
    # `a.df(x)`: the receiver is not among the arguments.
    shown = rows[1:] if method and rows and rows[0].is_receiver else rows
    label = signature_of(derivative.function, derivative.annotation)
    return t.SignatureInformation(
        label=label,
        documentation=markup(
            f"{derivative.annotation.mode.title} derivative of `{derivative.function.bare_name}`.", markdown
        ),
        parameters=[
            t.ParameterInformation(
                row.text, markup(f"{row.meaning[0].upper()}{row.meaning[1:]}. {row.documentation}", markdown)
            )
            for row in shown
        ],
        active_parameter=min(active, max(len(shown) - 1, 0)),
    )


def signature_help(server: FerrodiffServer, params: t.SignatureHelpParams) -> t.SignatureHelp | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    offset = offset_at(opened.source, params.position, server.encoding)
    markdown = server.abilities.signature_markdown
    inside = annotation_at(opened.analysis, offset)
    if inside is not None:
        return annotation_help(*inside, offset, markdown)
    closed = closed_at(opened.analysis, offset)
    if closed is not None:
        part, start = closed
        inside = annotation_at(part, offset - start)
        return annotation_help(*inside, offset - start, markdown) if inside is not None else None
    around = call_around(opened.source, offset)
    if around is None:
        return None
    derivatives = server.derivatives_named(around.name, opened.uri)
    if not derivatives:
        return None
    active = around.call.index_at(offset)
    before = opened.source.data[: around.name_span.start].rstrip()
    informations = [
        call_help(derivative, active, before.endswith(b"."), markdown) for derivative in derivatives[:5]
    ]
    return t.SignatureHelp(informations, 0, informations[0].active_parameter)
