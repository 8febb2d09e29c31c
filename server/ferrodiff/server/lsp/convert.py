"""Between the analysis' byte offsets and the protocol's positions."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp import types as t


def position_at(source: SourceText, offset: int, encoding: str) -> t.Position:
    line, character = source.position(offset, encoding)
    return t.Position(line, character)


def range_of(source: SourceText, span: Span, encoding: str) -> t.Range:
    return t.Range(position_at(source, span.start, encoding), position_at(source, span.end, encoding))


def edit_of(source: SourceText, span: Span, text: str, encoding: str) -> t.TextEdit:
    """A replacement whose lines end as the file's do."""
    first = source.data.find(b"\n")
    if first > 0 and source.data[first - 1 : first] == b"\r":
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return t.TextEdit(range_of(source, span, encoding), text)


def offset_at(source: SourceText, position: t.Position, encoding: str) -> int:
    """A byte offset, clamped to the text."""
    return source.offset(position.line, position.character, encoding)


def span_of(source: SourceText, range_: t.Range, encoding: str) -> Span:
    """A span; a range that ends before it starts is turned around."""
    start, end = offset_at(source, range_.start, encoding), offset_at(source, range_.end, encoding)
    return Span(min(start, end), max(start, end))


def path_of(uri: str) -> Path | None:
    """The local file a URI names, or None for another scheme or an impossible path."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    text = unquote(parts.path, errors="surrogateescape")
    if "\0" in text or not text.startswith("/"):
        return None
    # `/c:/dir` is how a drive letter is spelled in a URI.
    if len(text) > 2 and text[2] == ":" and text[1].isalpha():
        text = text[1:]
    return Path(text)


def uri_of(path: Path | str) -> str:
    """The `file:` URI of a path."""
    text = str(path).replace("\\", "/")
    if not text.startswith("/"):
        text = "/" + text
    return "file://" + quote(text, safe="/!$&'()*+,;=:@-._~", errors="surrogateescape")


def same_uri(uri: str) -> str:
    """A key under which differently escaped spellings of one URI are equal."""
    try:
        return unquote(uri)
    except (TypeError, ValueError):
        return uri
