"""Cuts a file into pieces that are read one by one: its top-level items, found without a syntax tree.

A *segment* starts at a line that looks like the start of an item, and where it ends follows from the text
after its start alone. An edit therefore changes the segments near it, and the others are those of the
text before. Segments that a pair of brackets connects are one *piece*. A bracket that is never closed connects
nothing: what is wrong in one item stays there.

A string or comment that is never closed would hide the rest of the file, or exchange text and code in it. Such a
file is cut in another way, in which a literal ends where a line looks like an item.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ferrodiff.analysis.lexemes import CHAR, comment_end, string_end
from ferrodiff.analysis.text import Span

# Only items start so; lines of comments and of macro calls may stand in the middle of one.
_STRONG = rb"""\#!?\[ | ///
    | (?:pub|fn|impl|struct|enum|mod|use|trait|static|const|type|extern|macro_rules)\b
    | (?:unsafe|async|default)[ \t]+(?:fn|impl|extern|trait|unsafe)\b"""
_WEAK = rb"// | /\* | (?:union|unsafe|async|default|safe|auto)\b | [A-Za-z_][\w:]*!"
_OPAQUE = rb'"|' + CHAR + rb"|/(?:/[^\n]*|\*)"
_OUTSIDE = re.compile(
    _OPAQUE + rb"|\{|\}|\(|\)|\[|\]|\n(?=(?P<strong>" + _STRONG + rb")|" + _WEAK + rb")", re.VERBOSE
)
_INSIDE = re.compile(_OPAQUE + rb"|\{|\}|\n(?=" + _STRONG + rb")", re.VERBOSE)
_ITEM_LINE = re.compile(rb"\n(?=" + _STRONG + rb")", re.VERBOSE)
_SURE = re.compile(rb"\#\[|///|pub\b")
_LAST_WORD = re.compile(rb"\w+\Z")
_MODIFIERS = frozenset(b"pub const unsafe async extern default safe auto where dyn impl for mut as".split())
_SHEBANG = re.compile(rb"#![^\[\n][^\n]*")
_OPENER = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
_WINDOW = 64
_REACH = 64
"""A bracket closes none that stands deeper than this among those left open."""


@dataclass(slots=True, eq=False)
class Segment:
    text: bytes
    brackets: bytes
    """Those without a partner in the segment, in order."""
    braces: tuple[int, ...]
    """Offsets of ``{``, and ``~offset`` of ``}``, outside comments and literals."""
    seen: int
    """So much of the text from the segment's start on decides about the segment."""
    blocks: int = 0
    """How many ``}`` have no braces around them."""
    closed: bool = True
    """Not a literal that is open at the end of the file."""


@dataclass(slots=True, eq=False)
class Piece:
    text: bytes
    braces: tuple[int, ...]


def is_single_block(piece: Segment | Piece) -> bool:
    """Whether a piece ends with the only block it has outside all brackets: one item, with nothing missing."""
    if not isinstance(piece, Segment) or piece.blocks != 1 or piece.brackets:
        return False
    return len(piece.text.rstrip()) == ~piece.braces[-1] + 1


class _Scan:
    """Finds the end of one segment."""

    def __init__(self, data: bytes, start: int, lenient: bool) -> None:
        self.data = data
        self.start = start
        self.lenient = lenient
        self.braces: list[int] = []
        self.depth = self.blocks = 0
        self.open: list[int] = []
        """Brackets outside braces, and the outermost of the braces."""
        self.strays = bytearray()
        self.next_item = -1
        self.comments = (-1, -1)
        """The last comments with nothing between them."""

    def run(self) -> Segment:
        data, at = self.data, self.start
        if at == 0 and (shebang := _SHEBANG.match(data)) is not None:
            at = shebang.end()
            self._comment(0, at)
        while True:
            token = (_INSIDE if self.depth else _OUTSIDE).search(data, at)
            if token is None:
                return self._segment(len(data))
            place, at = token.start(), token.end()
            kind = data[place]
            if kind == 10:
                if self._cuts(token):
                    return self._segment(at)
            elif kind == 123:
                self._opened(place)
            elif kind == 125:
                self._closed(place)
            elif kind == 34 or (kind == 47 and data[place + 1] == 42):
                end = self._end_of_literal(place, kind == 34)
                if end < 0:
                    return self._segment(~end, closed=~end < len(data) or self.lenient)
                at = end
                if kind == 47:
                    self._comment(place, end)
            elif kind == 47:
                self._comment(place, at)
            elif kind != 39:
                self._bracket(kind)

    def _segment(self, end: int, closed: bool = True) -> Segment:
        size = len(self.data)
        line_end = self.data.find(b"\n", end) if end < size else -1
        seen = (line_end if line_end >= 0 else size) + 1 - self.start
        return Segment(
            text=self.data[self.start : end],
            brackets=bytes(self.strays) + bytes(self.open),
            braces=tuple(self.braces),
            seen=seen,
            blocks=self.blocks,
            closed=closed,
        )

    def _opened(self, place: int) -> None:
        if self.depth == 0:
            self.open.append(123)
        self.depth += 1
        self.braces.append(place - self.start)

    def _closed(self, place: int) -> None:
        self.braces.append(~(place - self.start))
        if self.depth > 1:
            self.depth -= 1
            return
        self.blocks += 1
        if self.depth == 1:
            self.depth = 0
            self.open.pop()
        else:
            self.open.clear()
            self.strays.append(125)

    def _bracket(self, kind: int) -> None:
        opener = _OPENER.get(kind)
        if opener is None:
            self.open.append(kind)
        elif not self.open:
            self.strays.append(kind)
        elif opener in self.open[-_REACH:]:
            # what is open within it is never closed
            while self.open.pop() != opener:
                pass

    def _end_of_literal(self, place: int, is_string: bool) -> int:
        """Where a string or block comment ends; the complement of where the segment ends within it."""
        data = self.data
        limit = self._item_after(place) if self.lenient else len(data)
        end = string_end(data, place, self.start, limit) if is_string else comment_end(data, place, limit)
        return ~limit if end is None else end

    def _item_after(self, place: int) -> int:
        """Where the next line starts that looks like an item, in code or not."""
        if self.next_item <= place:
            item = _ITEM_LINE.search(self.data, place)
            self.next_item = len(self.data) if item is None else item.end()
        return self.next_item

    def _comment(self, start: int, end: int) -> None:
        first, last = self.comments
        adjoins = last >= 0 and not self.data[last:start].strip()
        self.comments = (first if adjoins else start, end)

    def _cuts(self, token: re.Match[bytes]) -> bool:
        """Whether the line after `token` starts another segment."""
        if self.depth:
            return True
        if self.open:
            return token["strong"] is not None
        before = self._before(token.end())
        if not before:
            return False
        if before[-1] in b";}":
            return True
        if token["strong"] is None:
            return False
        word = _LAST_WORD.search(before)
        if word is not None:
            return word[0] not in _MODIFIERS
        # `extern "C"`, `pub(crate)` and `for<'a>` may be in the middle of an item
        return before[-1] in b"\"')>" and _SURE.match(self.data, token.end()) is not None

    def _before(self, at: int) -> bytes:
        """The end of the code before `at`: empty when there are only comments."""
        first, last = self.comments
        if last >= 0 and not self.data[last:at].strip():
            at = first
        window = _WINDOW
        while True:
            found = self.data[max(self.start, at - window) : at].rstrip()
            if found or at - window <= self.start:
                return found
            window *= 2


class Segments:
    """The segments of one text, in order."""

    def __init__(self, listed: list[Segment]) -> None:
        self.listed = listed
        self.starts = [0, *accumulate([len(s.text) for s in listed])]

    @classmethod
    def of(cls, data: bytes, lenient: bool) -> Segments:
        return cls(list(_scanned(data, 0, lenient)))

    @property
    def closed(self) -> bool:
        return not self.listed or self.listed[-1].closed

    def edited(self, data: bytes, span: Span, new_end: int, lenient: bool) -> Segments:
        """Those of `data`, in which the bytes of `span` have become those up to `new_end`."""
        old, starts, delta = self.listed, self.starts, new_end - span.end
        first = next(
            (i for i, s in enumerate(old) if starts[i] + s.seen > span.start),
            max(len(old) - 1, 0),
        )
        listed = old[:first]
        at = starts[first]
        for segment in _scanned(data, at, lenient):
            listed.append(segment)
            at += len(segment.text)
            if at >= new_end and at - delta >= span.end:
                same = bisect_left(starts, at - delta)
                if same < len(old) and starts[same] == at - delta:
                    listed += old[same:]
                    break
        return Segments(listed)


def _scanned(data: bytes, at: int, lenient: bool) -> Iterator[Segment]:
    while at < len(data):
        segment = _Scan(data, at, lenient).run()
        yield segment
        at += len(segment.text)


@dataclass(frozen=True, slots=True)
class Cut:
    """How a text is cut. Equal to that from scratch after any edits."""

    strict: Segments
    lenient: Segments | None
    """Where a literal is not closed."""

    @classmethod
    def of(cls, data: bytes) -> Cut:
        strict = Segments.of(data, False)
        return cls(strict, None if strict.closed else Segments.of(data, True))

    def edited(self, data: bytes, span: Span, new_end: int) -> Cut:
        strict = self.strict.edited(data, span, new_end, False)
        if strict.closed:
            return Cut(strict, None)
        lenient = self.lenient
        if lenient is None:
            return Cut(strict, Segments.of(data, True))
        return Cut(strict, lenient.edited(data, span, new_end, True))

    def pieces(self) -> list[tuple[int, Segment | Piece]]:
        """The pieces with their starts; together they are the whole text."""
        segments = self.lenient or self.strict
        listed, starts = segments.listed, segments.starts
        joints = _joints(listed)
        if not joints:
            return list(zip(starts, listed, strict=False))
        found: list[tuple[int, Segment | Piece]] = []
        at = 0
        for first, last in joints:
            found += zip(starts[at:first], listed[at:first], strict=True)
            found.append((starts[first], _joined(listed[first : last + 1])))
            at = last + 1
        return [*found, *zip(starts[at:-1], listed[at:], strict=True)]


def _joints(listed: Sequence[Segment]) -> list[tuple[int, int]]:
    """First and last segments of those that brackets connect."""
    waiting: list[tuple[int, int]] = []
    found: list[tuple[int, int]] = []
    for index in [i for i, s in enumerate(listed) if s.brackets]:
        for bracket in listed[index].brackets:
            opener = _OPENER.get(bracket)
            if opener is None:
                waiting.append((bracket, index))
                continue
            partner = _partner(waiting, opener)
            if partner is not None:
                first = waiting[partner][1]
                del waiting[partner:]
                while found and found[-1][1] >= first:
                    first = min(first, found.pop()[0])
                found.append((first, index))
    return found


def _partner(waiting: Sequence[tuple[int, int]], opener: int) -> int | None:
    """The last bracket of a kind; parentheses and square brackets do not reach out of braces."""
    for index in range(len(waiting) - 1, max(len(waiting) - _REACH, 0) - 1, -1):
        if waiting[index][0] == opener:
            return index
        if waiting[index][0] == 123:
            return None
    return None


def _joined(segments: Sequence[Segment]) -> Piece:
    braces: list[int] = []
    at = 0
    for segment in segments:
        braces += [place + at if place >= 0 else place - at for place in segment.braces]
        at += len(segment.text)
    return Piece(b"".join([s.text for s in segments]), tuple(braces))
