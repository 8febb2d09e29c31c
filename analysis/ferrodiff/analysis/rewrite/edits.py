"""Edits that keep every line where it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ferrodiff.analysis.text import Span, encode


@dataclass(frozen=True, slots=True)
class Replacement:
    span: Span
    text: bytes


def line_breaks(data: bytes) -> bytes:
    """The line ends of some text, and nothing else of it."""
    lines = data.split(b"\n")[:-1]
    return b"".join(b"\r\n" if line.endswith(b"\r") else b"\n" for line in lines)


def replace_keeping_lines(data: bytes, span: Span, new: str) -> Replacement:
    """Puts one line of text in place of `span`; the line ends within `span` follow it."""
    return Replacement(span, encode(new) + line_breaks(data[span.start : span.end]))


def insert(at: int, new: str) -> Replacement:
    return Replacement(Span(at, at), encode(new))


def apply(data: bytes, edits: Iterable[Replacement]) -> bytes:
    """The text with all edits made.

    Edits at one place are made in the order given. An edit within a range that an earlier edit has replaced
    is dropped: the range is gone.
    """
    parts: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.span.start, e.span.start != e.span.end)):
        if edit.span.start < at:
            continue
        parts += [data[at : edit.span.start], edit.text]
        at = edit.span.end
    return b"".join([*parts, data[at:]])
