"""Text and places in it.

Every place in this package is a half-open range of UTF-8 byte offsets. Byte offsets are what tree-sitter
and rustc count in; conversion to an editor's line and column happens here and nowhere else.

A `str` that cannot be encoded (it holds lone surrogates) is encoded with ``surrogatepass``, so that any
Python string has offsets. Files that are not UTF-8 should be decoded by their reader with
``errors="replace"``: such a file is not Rust, and replacement keeps line numbers right.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

Encoding = str
"""``"utf-8"``, ``"utf-16"`` or ``"utf-32"``: the unit an editor counts columns in."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of UTF-8 byte offsets."""

    start: int
    end: int

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.start <= offset < self.end

    def touches(self, offset: int) -> bool:
        """Whether a caret at `offset` stands in or at either end of the range."""
        return self.start <= offset <= self.end

    def covers(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end

    def shifted(self, delta: int) -> Span:
        return Span(self.start + delta, self.end + delta)

    @property
    def length(self) -> int:
        return self.end - self.start


def encode(text: str) -> bytes:
    """UTF-8 of any Python string; lone surrogates become three bytes."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """The inverse of `encode`; bytes cut inside a character become U+FFFD."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _units(line: str, encoding: Encoding) -> int:
    if encoding == "utf-16":
        return len(line) + sum(1 for c in line if ord(c) > 0xFFFF)
    return len(line)


def _bytes_of_units(line: str, units: int, encoding: Encoding) -> int:
    """Bytes of the longest prefix of `line` that has at most `units` code units."""
    if encoding == "utf-16":
        taken = count = 0
        for char in line:
            count += 2 if ord(char) > 0xFFFF else 1
            if count > units:
                break
            taken += 1
        return len(encode(line[:taken]))
    return len(encode(line[:units]))


class SourceText:
    """An immutable text with conversions between byte offsets and lines and columns.

    Lines end with ``\\n`` (so also with ``\\r\\n``), as rustc counts them. Lines and columns are 0-based.
    """

    __slots__ = ("__dict__", "data")

    data: bytes

    def __init__(self, text: str | bytes) -> None:
        self.data = encode(text) if isinstance(text, str) else text

    @cached_property
    def text(self) -> str:
        return decode(self.data)

    @cached_property
    def line_starts(self) -> list[int]:
        starts = [0]
        find, at = self.data.find, 0
        while (at := find(b"\n", at) + 1) > 0:
            starts.append(at)
        return starts

    def __len__(self) -> int:
        return len(self.data)

    @property
    def span(self) -> Span:
        return Span(0, len(self.data))

    def slice(self, span: Span) -> str:
        return decode(self.data[span.start : span.end])

    def line_span(self, line: int) -> Span:
        """The line without its end (``\\n`` or ``\\r\\n``). Lines past the end are empty."""
        starts = self.line_starts
        if line >= len(starts):
            return Span(len(self.data), len(self.data))
        start = starts[max(line, 0)]
        if line + 1 >= len(starts):
            return Span(start, len(self.data))
        end = starts[line + 1] - 1
        if end > start and self.data[end - 1 : end] == b"\r":
            end -= 1
        return Span(start, end)

    def line_of(self, offset: int) -> int:
        return bisect_right(self.line_starts, min(max(offset, 0), len(self.data))) - 1

    def line_col(self, offset: int) -> tuple[int, int]:
        """0-based line and byte column."""
        offset = min(max(offset, 0), len(self.data))
        line = self.line_of(offset)
        return line, offset - self.line_starts[line]

    def position(self, offset: int, encoding: Encoding = "utf-16") -> tuple[int, int]:
        """0-based line and column in code units of `encoding`."""
        line, column = self.line_col(offset)
        if encoding == "utf-8":
            return line, column
        start = self.line_starts[line]
        prefix = self.data[start : start + column]
        return line, column if prefix.isascii() else _units(decode(prefix), encoding)

    def offset(self, line: int, character: int, encoding: Encoding = "utf-16") -> int:
        """The byte offset of a line and column; both are clamped to the text."""
        if line < 0:
            return 0
        span = self.line_span(line)
        content = self.data[span.start : span.end]
        character = max(character, 0)
        if encoding == "utf-8":
            at = min(character, len(content))
            while 0 < at < len(content) and content[at] & 0xC0 == 0x80:
                at -= 1
            return span.start + at
        if content.isascii():
            return span.start + min(character, len(content))
        return span.start + _bytes_of_units(decode(content), character, encoding)

    def edited(self, span: Span, new_text: str) -> SourceText:
        """The text with `span` replaced. Known line starts are moved instead of being found again."""
        inserted = encode(new_text)
        result = SourceText(self.data[: span.start] + inserted + self.data[span.end :])
        known = self.__dict__.get("line_starts")
        if known is not None:
            delta = len(inserted) - span.length
            first = bisect_right(known, span.start)
            last = bisect_right(known, span.end)
            within = [span.start + i + 1 for i, byte in enumerate(inserted) if byte == 10]
            after = known[last:] if delta == 0 else [start + delta for start in known[last:]]
            result.__dict__["line_starts"] = known[:first] + within + after
        return result
