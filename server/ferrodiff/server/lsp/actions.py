"""Code actions: quick fixes, fix-all, new derivatives, examples and tests, other forms of an annotation."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ferrodiff.analysis.diagnostics import missing_feature, missing_import
from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.inference import annotate
from ferrodiff.analysis.local import every_function_near, functions_near
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.snippets import NoSnippet, call_example, gradient_test, sample_line
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import edit_of, range_of, span_of
from ferrodiff.server.lsp.diagnostics import diagnostics_of, severity_of
from ferrodiff.server.lsp.generated import proposals_for, rewrites_of
from ferrodiff.server.lsp.names import CHECK, FIX_ALL, RUN

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

RUNNING = "ferrodiff"
"""A kind of our own: to run something is neither a fix nor a rewriting."""
_NEEDED = frozenset({missing_feature.RULE.code, missing_import.RULE.code})
_LARGEST_REANALYSED = 300_000
_ABOVE = 600
_Edit = tuple[Span, str]


@dataclass(frozen=True, slots=True)
class Action:
    """An action as data: a title, a kind, and edits of this file."""

    title: str
    kind: str
    edits: tuple[_Edit, ...] = ()
    preferred: bool = False
    diagnostic: int | None = None
    """Index of the file's diagnostic that it fixes."""
    command: tuple[str, str] | None = None
    """Command and derivative, for actions that run something."""


def actions_at(analysis: FileAnalysis, within: Span, silenced: Callable[[int], bool]) -> list[Action]:
    """Every action for a range; `silenced` says which diagnostics (by index) the user has switched off."""
    found = list(_fixes(analysis, within, silenced))
    found += _fix_all(analysis, silenced)
    for function in functions_near(analysis, within):
        for annotation in function.annotations:
            if annotation.span.touches(within.start) or within.covers(annotation.span):
                found += _for_annotation(analysis, function, annotation)
    function_here = _function_at(analysis, within.start)
    if function_here is not None:
        found += _new_derivatives(analysis, function_here)
    return found


def _fixes(analysis: FileAnalysis, within: Span, silenced: Callable[[int], bool]) -> Iterator[Action]:
    for index, diagnostic in enumerate(analysis.diagnostics):
        if silenced(index) or diagnostic.span.end < within.start or diagnostic.span.start > within.end:
            continue
        for fix in diagnostic.fixes:
            edits = tuple((edit.span, edit.new_text) for edit in fix.edits)
            yield Action(fix.title, t.CodeActionKind.QuickFix.value, edits, fix.preferred, index)


def _fix_all(analysis: FileAnalysis, silenced: Callable[[int], bool]) -> list[Action]:
    """The preferred fix of every diagnostic, as far as they do not get in each other's way."""
    chosen: list[_Edit] = []
    for index, diagnostic in enumerate(analysis.diagnostics):
        fix = next((fix for fix in diagnostic.fixes if fix.preferred), None)
        if fix is None or silenced(index):
            continue
        edits = [(edit.span, edit.new_text) for edit in fix.edits]
        fresh = [edit for edit in edits if edit not in chosen]
        if not any(_collide(edit, other) for edit in fresh for other in chosen):
            chosen += fresh
    if not chosen:
        return []
    return [Action("Fix all problems of autodiff annotations", FIX_ALL, tuple(chosen))]


def _collide(one: _Edit, other: _Edit) -> bool:
    a, b = one[0], other[0]
    if a.length == 0 and b.length == 0:
        return a.start == b.start and one[1] == other[1]
    return a.start < b.end and b.start < a.end


def _for_annotation(analysis: FileAnalysis, function: Function, annotation: Annotation) -> Iterator[Action]:
    source = analysis.source
    rewrite = t.CodeActionKind.RefactorRewrite.value
    for title, edits in rewrites_of(function, annotation, _margin(source, function.span.start), analysis):
        yield Action(title, rewrite, edits)
    if not annotation.name:
        return
    for title, write in (
        (f"Insert an example call of `{annotation.name}`", _example),
        (f"Insert a test of the gradient of `{annotation.name}`", _test),
    ):
        try:
            text = write(source, function, annotation)
        except NoSnippet:
            continue
        yield Action(title, rewrite, (_below(source, function, text),))
    yield from _inputs(source, function)
    yield Action(f"Run `{annotation.name}`", RUNNING, command=(RUN, annotation.name))
    yield Action(f"Check the gradient of `{annotation.name}`", RUNNING, command=(CHECK, annotation.name))


def _inputs(source: SourceText, function: Function) -> Iterator[Action]:
    """The inputs of runs, written down so that they can be edited."""
    first = min(annotation.span.start for annotation in function.annotations)
    above = source.slice(Span(max(0, function.span.start - _ABOVE), first))
    if "ferrodiff:" in above.rpartition("}")[2]:
        return
    try:
        text = sample_line(source, function)
    except NoSnippet:
        return
    line = source.line_span(source.line_of(first))
    edit = (Span(line.start, line.start), f"{_margin(source, first)}{text}\n")
    yield Action(
        f"Write down the inputs that `{function.bare_name}` is run with",
        t.CodeActionKind.RefactorRewrite.value,
        (edit,),
    )


def _example(source: SourceText, function: Function, annotation: Annotation) -> str:
    body = textwrap.indent(call_example(source, function, annotation), "    ")
    return f"#[allow(dead_code, unused_variables)]\nfn {annotation.name}_example() {{\n{body}\n}}"


def _test(source: SourceText, function: Function, annotation: Annotation) -> str:
    return gradient_test(source, function, annotation)


def _below(source: SourceText, function: Function, text: str) -> _Edit:
    """An insertion of items after a function; after the whole impl for methods."""
    scope = function.container_info.scope
    end = function.span.end if function.container in ("module", "block") else scope.end
    margin = _margin(source, function.span.start) if function.container in ("module", "block") else ""
    return Span(end, end), "\n\n" + textwrap.indent(text, margin)


def _margin(source: SourceText, offset: int) -> str:
    """The white space that the line of `offset` starts with."""
    text = source.slice(source.line_span(source.line_of(offset)))
    return text[: len(text) - len(text.lstrip())]


def _function_at(analysis: FileAnalysis, offset: int) -> Function | None:
    """The function in whose header (attributes to the opening brace) a caret stands."""
    inside = [
        function
        for function in every_function_near(analysis, Span(offset, offset))
        if function.body_span is None or offset <= function.body_span.start
    ]
    return min(inside, key=lambda f: f.span.length) if inside else None


def _new_derivatives(analysis: FileAnalysis, function: Function) -> Iterator[Action]:
    source = analysis.source
    for proposal in proposals_for(function, analysis):
        fix = annotate(function, proposal, source)
        edits = [(edit.span, edit.new_text) for edit in fix.edits]
        if len(edits) == 1 and len(source) < _LARGEST_REANALYSED:
            edits = _with_what_it_needs(source, *edits[0])
        yield Action(fix.title, t.CodeActionKind.Refactor.value, tuple(edits))


def _with_what_it_needs(source: SourceText, span: Span, text: str) -> list[_Edit]:
    """An inserted annotation, and what the file with it would be told to add: import and feature gate."""
    at, end = span.start, span.start + len(text.encode("utf-8"))
    inserted = text.encode("utf-8")
    others: list[_Edit] = []
    for diagnostic in analyse(source.edited(span, text).text).diagnostics:
        fix = next((fix for fix in diagnostic.fixes if fix.preferred), None)
        if fix is None or diagnostic.code not in _NEEDED:
            continue
        for edit in fix.edits:
            if edit.span.end <= at and not any(edit.span == known for known, _ in others):
                others.append((edit.span, edit.new_text))
            elif edit.span.start >= at and edit.span.end <= end:
                cut = slice(edit.span.start - at, edit.span.end - at)
                inserted = inserted[: cut.start] + edit.new_text.encode("utf-8") + inserted[cut.stop :]
                end = at + len(inserted)
    return [*others, (span, inserted.decode("utf-8"))]


# -- the shell -----------------------------------------------------------------------------------------


def _wanted(kind: str, only: Iterable[str] | None) -> bool:
    """Whether a client that asked for certain kinds wants this one; fix-all has to be asked for."""
    if only is None:
        return kind != FIX_ALL
    names = [str(getattr(name, "value", name)) for name in only]
    return any(name == "" or kind == name or kind.startswith(name + ".") for name in names)


def actions(server: FerrodiffServer, params: t.CodeActionParams) -> list[t.CodeAction | t.Command] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    analysis, encoding, settings = opened.analysis, server.encoding, server.settings

    def silenced(index: int) -> bool:
        return severity_of(analysis.diagnostics[index], settings) == "off"

    within = span_of(opened.source, params.range, encoding)
    result: list[t.CodeAction | t.Command] = []
    for action in actions_at(analysis, within, silenced):
        if not _wanted(action.kind, params.context.only):
            continue
        converted = _converted(server, opened.uri, analysis, action)
        if isinstance(converted, t.Command) or server.abilities.action_literals:
            result.append(converted)
    return result


def _converted(
    server: FerrodiffServer, uri: str, analysis: FileAnalysis, action: Action
) -> t.CodeAction | t.Command:
    if action.command is not None:
        command, derivative = action.command
        call = t.Command(
            title=action.title, command=command, arguments=[{"uri": uri, "derivative": derivative}]
        )
        if not server.abilities.action_literals:
            return call
        return t.CodeAction(title=action.title, kind=action.kind, command=call)
    edits = [edit_of(analysis.source, span, text, server.encoding) for span, text in action.edits]
    return t.CodeAction(
        title=action.title,
        kind=action.kind,
        diagnostics=_diagnostics(server, uri, analysis, action.diagnostic),
        is_preferred=True if action.preferred else None,
        edit=t.WorkspaceEdit(changes={uri: edits}),
    )


def _diagnostics(
    server: FerrodiffServer, uri: str, analysis: FileAnalysis, index: int | None
) -> list[t.Diagnostic] | None:
    if index is None:
        return None
    diagnostic = analysis.diagnostics[index]
    related = server.abilities.related or server.abilities.pull
    return [
        item
        for item in diagnostics_of(uri, analysis, (), server.settings, server.encoding, related)
        if item.code == diagnostic.code
        and item.range == range_of(analysis.source, diagnostic.span, server.encoding)
    ] or None
