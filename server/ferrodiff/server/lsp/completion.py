"""Completion inside annotations, and of whole annotations above a function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local import every_function_near, function_names
from ferrodiff.analysis.model import Annotation, Argument, Function, Mode
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import edit_of, offset_at
from ferrodiff.server.lsp.generated import WIDTHS, choices_for, proposals_for, signature_of
from ferrodiff.server.lsp.halftyped import closed_at
from ferrodiff.server.lsp.markup import markup
from ferrodiff.server.lsp.places import argument_slot, parameter_of
from ferrodiff.server.lsp.signature_help import annotation_at

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

_STARTED = re.compile(r"^[ \t]*(#!?\[?[\w:]*|autodiff\w*)$")
_FAR = 4096


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One completion. `replaces` is what it stands in for; `snippet` has tab stops."""

    label: str
    replaces: Span
    new_text: str
    kind: t.CompletionItemKind
    detail: str
    documentation: str
    rank: int
    snippet: str | None = None
    preselect: bool = False
    deprecated: bool = False


def suggestions(analysis: FileAnalysis, offset: int) -> list[Suggestion]:
    """What may be typed at a caret; empty outside of annotations and above anything but functions."""
    inside = annotation_at(analysis, offset)
    if inside is not None:
        return list(_in_list(analysis, *inside, offset))
    closed = closed_at(analysis, offset)
    if closed is not None:
        part, start = closed
        inside = annotation_at(part, offset - start)
        found = _in_list(part, *inside, offset - start) if inside is not None else ()
        return [replace(item, replaces=item.replaces.shifted(start)) for item in found]
    return list(_whole(analysis, offset))


# -- inside the list -----------------------------------------------------------------------------------


def _in_list(
    analysis: FileAnalysis, function: Function, annotation: Annotation, offset: int
) -> Iterator[Suggestion]:
    slot = argument_slot(annotation, offset)
    replaces = word_before(analysis.source, offset)
    if slot == 0:
        yield from _names(analysis, function, annotation, replaces)
        return
    if annotation.old_form and slot == 1:
        for mode in Mode:
            yield Suggestion(
                mode.title,
                replaces,
                mode.title,
                t.CompletionItemKind.EnumMember,
                "mode",
                "",
                mode is not annotation.mode,
            )
        return
    first = 2 if annotation.old_form else 1
    typing_width = annotation.width_span is not None and annotation.width_span.touches(offset)
    if slot == first and (annotation.width_span is None or typing_width):
        yield from _widths(annotation, replaces)
    if typing_width:
        return
    index = slot - first - (1 if annotation.width_span is not None else 0)
    if index >= 0:
        yield from _activities(function, annotation, index, replaces)


def _names(
    analysis: FileAnalysis, function: Function, annotation: Annotation, replaces: Span
) -> Iterator[Suggestion]:
    base = function.bare_name
    taken = function_names(analysis) - {annotation.name}
    ending = "jvp" if annotation.mode is Mode.FORWARD else "grad"
    for rank, name in enumerate(
        (f"d{base}", f"d_{base}", f"{base}_{ending}", f"{base}_{annotation.mode.value}")
    ):
        if name not in taken:
            yield Suggestion(
                name,
                replaces,
                name,
                t.CompletionItemKind.Function,
                f"name of the {annotation.mode.value} derivative",
                "",
                rank,
            )


def _widths(annotation: Annotation, replaces: Span) -> Iterator[Suggestion]:
    what = "tangents" if annotation.mode is Mode.FORWARD else "gradients"
    for rank, width in enumerate(WIDTHS):
        yield Suggestion(
            str(width),
            replaces,
            str(width),
            t.CompletionItemKind.Value,
            f"batch width: {width} {what} in one call",
            "",
            50 + rank,
        )


def _activities(
    function: Function, annotation: Annotation, index: int, replaces: Span
) -> Iterator[Suggestion]:
    parameter = parameter_of(function, index)
    subject = parameter.text if parameter is not None else f"-> {function.return_type}"
    for rank, choice in enumerate(choices_for(function, annotation.mode, index)):
        name = choice.activity.value
        shown = with_activity(function, annotation, index, name, choice.activity)
        yield Suggestion(
            name,
            replaces,
            name,
            t.CompletionItemKind.EnumMember,
            subject if choice.valid else f"not for {subject}",
            f"{choice.summary}\n\n```rust\n{shown}\n```" if choice.valid else choice.summary,
            rank,
            preselect=rank == 0 and choice.valid,
        )


def with_activity(function: Function, annotation: Annotation, index: int, text: str, activity: object) -> str:
    """The signature with one activity changed, the places not written yet filled with the first valid one."""
    arguments = list(annotation.arguments)
    wanted = len(function.parameters) + (1 if function.has_return else 0)
    for slot in range(max(index + 1, wanted)):
        chosen = activity if slot == index else None
        if chosen is None and slot < len(arguments) and arguments[slot].activity is not None:
            continue
        if chosen is None:
            offered = choices_for(function, annotation.mode, slot)
            if not offered:
                continue
            chosen = offered[0].activity
        item = Argument(annotation.span, text, chosen)  # type: ignore[arg-type]
        if slot < len(arguments):
            arguments[slot] = item
        else:
            arguments.append(item)
    return signature_of(function, replace(annotation, arguments=tuple(arguments[:wanted]), problems=()))


def word_before(source: SourceText, offset: int) -> Span:
    """The word that ends at a caret."""
    data, start = source.data, offset
    while start > 0 and (
        data[start - 1 : start].isalnum() or data[start - 1] == ord("_") or data[start - 1] >= 0x80
    ):
        start -= 1
    end = offset
    while end < len(data) and (data[end : end + 1].isalnum() or data[end] == ord("_") or data[end] >= 0x80):
        end += 1
    return Span(start, end)


# -- whole annotations ---------------------------------------------------------------------------------


def _whole(analysis: FileAnalysis, offset: int) -> Iterator[Suggestion]:
    source = analysis.source
    line = source.line_span(source.line_of(offset))
    before = source.slice(Span(line.start, offset))
    started = _STARTED.match(before)
    if started is None:
        return
    function = next_function(analysis, offset)
    if function is None:
        return
    typed = started.group(1)
    start = offset - len(typed.encode("utf-8", "surrogatepass"))
    after = source.slice(Span(offset, line.end))
    # An editor's auto-closed bracket is part of what is replaced.
    end = offset + (1 if after.startswith("]") and "[" in typed else 0)
    for rank, proposal in enumerate(proposals_for(function, analysis)):
        stops = [f"${{{number}:{word}}}" for number, word in enumerate(proposal.words, 1)]
        reasons = [f"`{c.place}`: `{c.activity.value}`, {c.reason}" for c in proposal.choices]
        yield Suggestion(
            f"#[{proposal.mode.macro}(…)]",
            Span(start, end),
            proposal.text,
            t.CompletionItemKind.Snippet,
            f"{proposal.mode.value} derivative of {function.bare_name}: {proposal.reason}",
            "\n".join(f"* {reason}" for reason in reasons),
            rank,
            snippet=f"#[{proposal.mode.macro}({', '.join(stops)})]$0",
        )


def next_function(analysis: FileAnalysis, offset: int) -> Function | None:
    """The function that an attribute at a caret would belong to."""
    source = analysis.source
    ahead = every_function_near(analysis, Span(offset, offset + _FAR))
    following = [f for f in ahead if f.item_text_span.start >= offset and f.body_span]
    if not following:
        return None
    function = min(following, key=lambda f: f.item_text_span.start)
    if function.item_text_span.start - offset > _FAR:
        return None
    line_end = source.line_span(source.line_of(offset)).end
    between = source.slice(Span(min(line_end, function.item_text_span.start), function.item_text_span.start))
    return function if _only_attributes(between) else None


def _only_attributes(text: str) -> bool:
    return all(
        not line.strip()
        or line.strip().startswith(("#", "//", "/*", "*", ")", "]"))
        or line.strip().endswith(",")
        for line in text.split("\n")
    )


# -- the shell -----------------------------------------------------------------------------------------


def complete(server: FerrodiffServer, params: t.CompletionParams) -> t.CompletionList | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    offset = offset_at(opened.source, params.position, server.encoding)
    found = suggestions(opened.analysis, offset)
    return t.CompletionList(is_incomplete=False, items=[_item(server, opened.source, item) for item in found])


def _item(server: FerrodiffServer, source: SourceText, suggestion: Suggestion) -> t.CompletionItem:
    snippet = suggestion.snippet is not None and server.abilities.snippets
    text = suggestion.snippet if snippet and suggestion.snippet is not None else suggestion.new_text
    return t.CompletionItem(
        label=suggestion.label,
        kind=suggestion.kind,
        detail=suggestion.detail or None,
        documentation=markup(suggestion.documentation, server.abilities.completion_markdown),
        sort_text=f"{suggestion.rank:04}",
        filter_text=source.slice(suggestion.replaces) + suggestion.new_text if suggestion.snippet else None,
        preselect=True if suggestion.preselect else None,
        insert_text_format=t.InsertTextFormat.Snippet if snippet else t.InsertTextFormat.PlainText,
        text_edit=edit_of(source, suggestion.replaces, text, server.encoding),
    )
