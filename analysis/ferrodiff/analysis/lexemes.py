"""Comments and literals of Rust, as regular expressions over bytes to be used verbosely.

A quotation mark after `r`, `br` or `cr` opens a raw string. A pattern that has to be fast cannot see that, and
`raw_prefix` can.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from typing import Final

from ferrodiff.analysis.text import Span

LINE_COMMENT: Final = rb"//[^\n]*"
STRING: Final = rb'"[^"\\]*(?:\\[\x00-\xff][^"\\]*)*"'
CHAR: Final = rb"""'(?:\\(?:u\{[^}'\n]*\}|x[0-9a-fA-F]{2}|[^\n])
    |[\x00-\x09\x0b-\x26\x28-\x5b\x5d-\x7f]|[\xc2-\xf4][\x80-\xbf]+)'"""
"""A character, not a lifetime. Those that a line ends in are none."""

IN_TYPE: Final = re.compile(rb"(?>\s+|//[^\n]*|/\*.*?\*/)*+(?:[>,{:+=]|(?:where|for)\b)", re.DOTALL)
"""What follows a block in a type, such as ``A<{ N + 1 }>`` or ``m! { T }``, and no block that ends an item."""

MAXIMUM: Final = sys.maxsize
_EDGE = re.compile(rb"/\*|\*/")
_STRING = re.compile(STRING)


def comment_end(data: bytes, start: int, limit: int = MAXIMUM) -> int | None:
    """The end of the block comment that starts at `start`; None when it is not closed before `limit`."""
    depth, at = 1, start + 2
    while depth:
        edge = _EDGE.search(data, at, limit)
        if edge is None:
            return None
        depth += 1 if edge.group() == b"/*" else -1
        at = edge.end()
    return at


def raw_prefix(data: bytes, quote: int, start: int = 0) -> int | None:
    """Where the raw string that `quote` opens starts, so `r`, `br` or `cr`; None for an ordinary string.

    Nothing before `start` is looked at.
    """
    at = quote
    while at > start and data[at - 1] == 35:
        at -= 1
    if at <= start or data[at - 1] != 114:
        return None
    at -= 1
    if at > start and data[at - 1] in b"bc":
        at -= 1
    within_word = at > start and (data[at - 1 : at].isalnum() or data[at - 1] == 95 or data[at - 1] >= 0x80)
    return None if within_word else at


def string_end(data: bytes, quote: int, start: int = 0, limit: int = MAXIMUM) -> int | None:
    """The end of the string, raw or not, whose first quotation mark is at `quote`.

    None when it is not closed before `limit`. Nothing before `start` is looked at.
    """
    prefix = raw_prefix(data, quote, start)
    if prefix is not None:
        closing = b'"' + b"#" * data.count(b"#", prefix, quote)
        end = data.find(closing, quote + 1, limit)
        return None if end < 0 else end + len(closing)
    match = _STRING.match(data, quote, limit)
    return None if match is None else match.end()


_LITERAL = re.compile(rb'"|' + CHAR + rb"|/(?:/[^\n]*|\*)", re.VERBOSE)


class Opaque:
    """The comments and literals of a text. One that is not closed ends with the text."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, data: bytes) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        at = 0
        while (match := _LITERAL.search(data, at)) is not None:
            start, end = match.start(), match.end()
            if data[start] == 34:
                prefix = raw_prefix(data, start, at)
                end = _to_end(string_end(data, start, at), data)
                start = start if prefix is None else prefix
            elif data[end - 1] == 42 and end - start == 2:
                end = _to_end(comment_end(data, start), data)
            at = max(end, start + 1)
            self._starts.append(start)
            self._ends.append(at)

    def around(self, offset: int) -> Span | None:
        """The comment or literal that `offset` is inside of."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and offset < self._ends[index]:
            return Span(self._starts[index], self._ends[index])
        return None


def _to_end(end: int | None, data: bytes) -> int:
    return len(data) if end is None else end
