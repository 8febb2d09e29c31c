"""Inlay hints: parameter names beside activities, shadows in calls, and the last run's values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local import functions_near
from ferrodiff.analysis.mentions import Mention
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.text import Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import position_at, span_of
from ferrodiff.server.lsp.generated import Row, rows_of
from ferrodiff.server.lsp.index import Derivative
from ferrodiff.server.lsp.places import mentions_in, parameter_of
from ferrodiff.server.lsp.results import Record, is_fresh

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer
    from ferrodiff.server.lsp.documents import OpenDocument

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Hint:
    """A label at an offset; `before` when it belongs to what follows."""

    offset: int
    label: str
    before: bool
    tooltip: str


def parameter_hints(function: Function, annotation: Annotation) -> Iterator[Hint]:
    """The parameter's name before its activity, an arrow before the return value's."""
    for index, argument in enumerate(annotation.arguments):
        parameter = parameter_of(function, index)
        if parameter is not None:
            label = parameter.name or parameter.pattern_text
            yield Hint(argument.span.start, f"{label}:", True, f"the activity of `{parameter.text}`")
        elif function.has_return and index == len(function.parameters):
            tooltip = f"the activity of the returned `{function.return_type}`"
            yield Hint(argument.span.start, "->", True, tooltip)


def call_hints(mention: Mention, derivative: Derivative) -> Iterator[Hint]:
    """Before every argument that is a shadow or a seed: of what, and in which lane."""
    if mention.call is None:
        return
    rows = rows_of(derivative.function, derivative.annotation)
    arguments = mention.call.arguments
    if rows and rows[0].is_receiver and len(arguments) < len(rows):
        rows = rows[1:]
    for span, row in zip(arguments, rows, strict=False):
        label = shadow_label(row, derivative.annotation)
        if label:
            yield Hint(span.start, label, True, f"{row.meaning}. {row.documentation}")


def shadow_label(row: Row, annotation: Annotation) -> str:
    """``d x:`` style labels; empty for primal arguments."""
    if row.role == "seed":
        return "seed:"
    if row.role != "shadow":
        return ""
    lane = f"[{row.lane}]" if row.lane is not None and annotation.width > 1 else ""
    return f"{row.name.removesuffix(f'_{row.lane}') if row.lane is not None else row.name}{lane}:"


def result_hint(annotation: Annotation, records: list[Record]) -> Hint | None:
    """After the annotation: the last values, or the last verdict."""
    if not records:
        return None
    parts = []
    for record in records:
        if record.kind == "check":
            parts.append(f"{'✓' if record.ok else '✗'} {record.headline}")
        elif record.ok:
            parts.append("= " + ", ".join(f"{name} {value}" for name, value in record.values))
        else:
            parts.append(f"✗ {record.headline}")
    text = "; ".join(parts)
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return Hint(annotation.span.end, shown, False, text)


def document_hints(server: FerrodiffServer, opened: OpenDocument, within: Span) -> Iterator[Hint]:
    """All hints that stand in a range."""
    settings = server.settings
    for function in functions_near(opened.analysis, within):
        for annotation in function.annotations:
            if annotation.span.end < within.start or annotation.span.start > within.end:
                continue
            if settings.hints_parameters:
                yield from parameter_hints(function, annotation)
            if settings.hints_results and annotation.name:
                records = server.results.last(opened.uri, annotation.name)
                fresh = [record for record in records if is_fresh(record, opened.source, function)]
                hint = result_hint(annotation, fresh)
                if hint is not None:
                    yield hint
    if settings.hints_shadows:
        for mention in all_calls(server, opened):
            if mention.call is None or not within.start <= mention.span.end <= within.end:
                continue
            derivatives = server.derivatives_named(mention.name, opened.uri)
            if len(derivatives) == 1:
                yield from call_hints(mention, derivatives[0])


def all_calls(server: FerrodiffServer, opened: OpenDocument) -> tuple[Mention, ...]:
    """Uses of any derivative in an open file, found once per text and set of names."""
    names = server.derivative_names()
    known = opened.memo.get("calls")
    if isinstance(known, tuple) and known[0] == names:
        found: tuple[Mention, ...] = known[1]
        return found
    analysis: FileAnalysis = opened.analysis
    found = mentions_in(analysis, names)
    opened.memo["calls"] = (names, found)
    return found


def hints(server: FerrodiffServer, params: t.InlayHintParams) -> list[t.InlayHint]:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return []
    within = span_of(opened.source, params.range, server.encoding)
    return [
        t.InlayHint(
            position=position_at(opened.source, hint.offset, server.encoding),
            label=hint.label,
            kind=t.InlayHintKind.Parameter if hint.before else t.InlayHintKind.Type,
            tooltip=hint.tooltip,
            padding_left=not hint.before,
            padding_right=hint.before,
        )
        for hint in document_hints(server, opened, within)
        if within.start <= hint.offset <= within.end
    ]
