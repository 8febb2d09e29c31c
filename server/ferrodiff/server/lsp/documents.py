"""The open files, kept as incremental analyses."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ferrodiff.analysis.document import Document, FileAnalysis
from ferrodiff.analysis.text import SourceText
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import path_of, same_uri, span_of

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenDocument:
    """A file in the client's hands."""

    uri: str
    version: int
    language: str
    document: Document
    memo: dict[str, Any] = field(default_factory=dict)
    """What features derived from this very text; emptied by every edit."""

    @property
    def analysis(self) -> FileAnalysis:
        return self.document.analysis

    @property
    def source(self) -> SourceText:
        return self.document.source

    @property
    def path(self) -> Path | None:
        return path_of(self.uri)


def is_rust(uri: str, language: str) -> bool:
    """Whether the client says Rust, or says nothing useful about a file called ``*.rs``."""
    return language.lower() == "rust" or (language.lower() in ("", "plaintext") and uri.endswith(".rs"))


class Documents:
    """Open documents by URI. Texts that are not Rust are not kept: every feature is silent about them."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._open.values()))

    def get(self, uri: str) -> OpenDocument | None:
        return self._open.get(same_uri(uri))

    def open(self, item: t.TextDocumentItem) -> OpenDocument | None:
        if not is_rust(item.uri, item.language_id):
            self._open.pop(same_uri(item.uri), None)
            return None
        opened = OpenDocument(item.uri, item.version, item.language_id, Document(item.text))
        self._open[same_uri(item.uri)] = opened
        return opened

    def close(self, uri: str) -> OpenDocument | None:
        return self._open.pop(same_uri(uri), None)

    def change(
        self,
        identifier: t.VersionedTextDocumentIdentifier,
        changes: Sequence[t.TextDocumentContentChangeEvent],
        encoding: str,
    ) -> OpenDocument | None:
        """Applies edits in order, also those whose version is not newer: the text is what counts."""
        opened = self.get(identifier.uri)
        if opened is None:
            return None
        if identifier.version <= opened.version:
            logger.debug("version %s of %s follows %s", identifier.version, identifier.uri, opened.version)
        for change in changes:
            if isinstance(change, t.TextDocumentContentChangePartial):
                source = opened.document.source
                opened.document.edit(span_of(source, change.range, encoding), change.text)
            else:
                opened.document = Document(change.text)
        opened.version = identifier.version
        opened.memo.clear()
        return opened
