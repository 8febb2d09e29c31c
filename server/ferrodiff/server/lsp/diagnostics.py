"""Diagnostics: pulled by clients that can, pushed to the others."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ferrodiff.analysis.diagnostics import Diagnostic
from ferrodiff.analysis.diagnostics.docs import page
from ferrodiff.analysis.diagnostics.registry import BY_CODE
from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import range_of, same_uri, uri_of
from ferrodiff.server.lsp.names import SOURCE
from ferrodiff.server.lsp.results import Finding
from ferrodiff.server.lsp.settings import Settings
from ferrodiff.server.paths import cache_folder

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

logger = logging.getLogger(__name__)

MAXIMUM = 1000
_Report = t.WorkspaceFullDocumentDiagnosticReport | t.WorkspaceUnchangedDocumentDiagnosticReport
_TAGS = {"deprecated": t.DiagnosticTag.Deprecated, "unnecessary": t.DiagnosticTag.Unnecessary}
_SEVERITIES = {
    "error": t.DiagnosticSeverity.Error,
    "warning": t.DiagnosticSeverity.Warning,
    "information": t.DiagnosticSeverity.Information,
    "hint": t.DiagnosticSeverity.Hint,
}


def severity_of(diagnostic: Diagnostic, settings: Settings) -> str:
    """The severity's word after the user's settings; ``off`` for none."""
    chosen = settings.diagnostics_severity
    if not chosen:
        return diagnostic.severity.value
    rule = BY_CODE.get(diagnostic.code)
    named = chosen.get(rule.name) if rule is not None else None
    return chosen.get(diagnostic.code) or named or diagnostic.severity.value


def unknown_codes(settings: Settings) -> list[str]:
    """Codes and names in the settings that no diagnostic has."""
    known = {*BY_CODE, *(rule.name for rule in BY_CODE.values())}
    return sorted(set(settings.diagnostics_severity) - known)


def diagnostics_of(
    uri: str,
    analysis: FileAnalysis,
    findings: Iterable[Finding],
    settings: Settings,
    encoding: str,
    related: bool = True,
) -> list[t.Diagnostic]:
    """A file's diagnostics as the protocol has them: the analysis' own, then what runs have found."""
    if not settings.diagnostics_enable:
        return []
    result = []
    for diagnostic in analysis.diagnostics[:MAXIMUM]:
        severity = _SEVERITIES.get(severity_of(diagnostic, settings))
        if severity is not None:
            result.append(_converted(uri, analysis.source, diagnostic, severity, encoding, related))
    result += [_found(uri, analysis.source, finding, encoding) for finding in findings]
    return result


def _converted(
    uri: str,
    source: SourceText,
    diagnostic: Diagnostic,
    severity: t.DiagnosticSeverity,
    encoding: str,
    related: bool,
) -> t.Diagnostic:
    message = diagnostic.message
    if diagnostic.notes:
        message += "".join(f"\n{note}" for note in diagnostic.notes)
    if not related:
        message += "".join(
            f"\nline {source.line_col(item.span.start)[0] + 1}: {item.message}" for item in diagnostic.related
        )
    page = page_of(diagnostic.code)
    return t.Diagnostic(
        range=range_of(source, diagnostic.span, encoding),
        message=message,
        severity=severity,
        code=diagnostic.code,
        code_description=t.CodeDescription(page) if page else None,
        source=SOURCE,
        tags=_tags(diagnostic),
        related_information=[
            t.DiagnosticRelatedInformation(
                t.Location(uri, range_of(source, item.span, encoding)), item.message
            )
            for item in diagnostic.related
        ]
        if related and diagnostic.related
        else None,
    )


def _tags(diagnostic: Diagnostic) -> list[t.DiagnosticTag] | None:
    return [_TAGS[tag] for tag in diagnostic.tags if tag in _TAGS] or None


def _found(uri: str, source: SourceText, finding: Finding, encoding: str) -> t.Diagnostic:
    start = source.line_span(finding.line) if finding.column is None else _place(source, finding)
    text = source.slice(start)
    indent = len(text) - len(text.lstrip()) if finding.column is None else 0
    return t.Diagnostic(
        range=range_of(source, Span(start.start + indent, start.end), encoding),
        message=finding.message,
        severity=_SEVERITIES.get(finding.severity, t.DiagnosticSeverity.Error),
        code=finding.code,
        source=SOURCE,
    )


def _place(source: SourceText, finding: Finding) -> Span:
    """From the column to the end of the token there."""
    line = source.line_span(finding.line)
    start = min(line.start + (finding.column or 0), line.end)
    end = start
    while end < line.end and (chr(source.data[end]).isalnum() or source.data[end] == ord("_")):
        end += 1
    return Span(start, end if end > start else line.end)


@cache
def page_of(code: str) -> str | None:
    """The address of the page that explains a code; None for foreign codes, or where no file can be written.

    The page is written to the cache folder from the text that the documentation is made of, so that it is
    there however Ferrodiff was installed.
    """
    rule = BY_CODE.get(code)
    if rule is None:
        return None
    text = page(rule).encode()
    file = cache_folder() / "pages" / f"{code}.md"
    try:
        if not file.is_file() or file.read_bytes() != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            fresh = file.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(text)
            fresh.replace(file)
    except OSError:
        return None
    return uri_of(file)


# -- the shell ---------------------------------------------------------------------------------------


def current(server: FerrodiffServer, uri: str, analysis: FileAnalysis) -> list[t.Diagnostic]:
    """A file's diagnostics now."""
    related = server.abilities.related or server.abilities.pull
    findings = server.results.findings(uri, analysis)
    return diagnostics_of(uri, analysis, findings, server.settings, server.encoding, related)


def _identity(items: Sequence[t.Diagnostic]) -> str:
    """Equal for equal reports: a client that has this one need not get it again."""
    import hashlib

    state = hashlib.blake2b(digest_size=12)
    for item in items:
        place = item.range
        state.update(
            f"{item.code}{place.start.line}:{place.start.character}-{place.end.line}:{place.end.character}"
            f"{item.severity}{item.message}\0".encode("utf-8", "replace")
        )
    return state.hexdigest()


def pull(
    server: FerrodiffServer, params: t.DocumentDiagnosticParams
) -> t.RelatedFullDocumentDiagnosticReport | t.RelatedUnchangedDocumentDiagnosticReport:
    opened = server.documents.get(params.text_document.uri)
    items = current(server, opened.uri, opened.analysis) if opened is not None else []
    identity = _identity(items)
    if params.previous_result_id == identity:
        return t.RelatedUnchangedDocumentDiagnosticReport(result_id=identity)
    return t.RelatedFullDocumentDiagnosticReport(items=items, result_id=identity)


def pull_workspace(
    server: FerrodiffServer, params: t.WorkspaceDiagnosticParams
) -> t.WorkspaceDiagnosticReport:
    previous = {same_uri(item.uri): item.value for item in params.previous_result_ids}
    reports: list[_Report] = []
    seen: set[str] = set()
    for uri, version, analysis in server.analyses():
        seen.add(same_uri(uri))
        items = current(server, uri, analysis)
        identity = _identity(items)
        if previous.get(same_uri(uri)) == identity:
            reports.append(
                t.WorkspaceUnchangedDocumentDiagnosticReport(uri=uri, result_id=identity, version=version)
            )
        else:
            reports.append(
                t.WorkspaceFullDocumentDiagnosticReport(
                    uri=uri, items=items, version=version, result_id=identity
                )
            )
    # A file that has no annotations any more: take away what the client still shows.
    empty = _identity(())
    reports += [
        t.WorkspaceFullDocumentDiagnosticReport(uri=item.uri, items=[], version=None, result_id=empty)
        for item in params.previous_result_ids
        if same_uri(item.uri) not in seen and item.value != empty
    ]
    return t.WorkspaceDiagnosticReport(reports)


class Pusher:
    """Publishes after a pause in typing, always for the newest version."""

    def __init__(self, server: FerrodiffServer) -> None:
        self._server = server
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def changed(self, uri: str, opened: bool) -> None:
        if self._server.abilities.pull:
            return
        self._schedule(uri, 0.0 if opened else self._server.settings.diagnostics_debounce / 1000)

    def everything(self) -> None:
        if self._server.abilities.pull:
            return
        for opened in self._server.documents:
            self._schedule(opened.uri, 0.0)

    def closed(self, uri: str) -> None:
        timer = self._timers.pop(same_uri(uri), None)
        if timer is not None:
            timer.cancel()
        if not self._server.abilities.pull:
            self._server.protocol.notify(
                t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, t.PublishDiagnosticsParams(uri=uri, diagnostics=[])
            )

    def _schedule(self, uri: str, delay: float) -> None:
        timer = self._timers.pop(same_uri(uri), None)
        if timer is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._timers[same_uri(uri)] = loop.call_later(delay, self._publish, uri)

    def _publish(self, uri: str) -> None:
        self._timers.pop(same_uri(uri), None)
        opened = self._server.documents.get(uri)
        if opened is None:
            return
        try:
            items = current(self._server, opened.uri, opened.analysis)
        except Exception:
            logger.exception("diagnostics of %s failed", opened.uri)
            items = []
        self._server.protocol.notify(
            t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS,
            t.PublishDiagnosticsParams(uri=opened.uri, diagnostics=items, version=opened.version),
        )
