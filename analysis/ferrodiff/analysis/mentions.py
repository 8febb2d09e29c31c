"""Where a name is used: calls and other mentions of derivatives, also in code that does not parse.

Works on tokens, not on a tree, because it is asked while a call is being typed. Comments, strings,
characters and lifetimes are no mentions; neither are definitions, fields, macros and local variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ferrodiff.analysis.lexemes import Opaque
from ferrodiff.analysis.text import SourceText, Span, encode

_SPACE = b" \t\r\n"
_LONGEST_CALL = 1 << 15
_BINDERS = frozenset(b"let mut ref for static const struct enum mod type trait union".split())
_NO_CALL = frozenset(
    ["if", "while", "match", "for", "return", "in", "fn", "loop", "else", "let", "move", "as", "unsafe"]
)


@dataclass(frozen=True, slots=True)
class Call:
    """An argument list, perhaps unfinished."""

    open: int
    """Offset of the opening parenthesis."""
    close: int | None
    """Offset of the closing parenthesis, None while it is missing."""
    arguments: tuple[Span, ...]
    """Without surrounding space and comments; an argument not typed yet is empty."""
    commas: tuple[int, ...]

    def index_at(self, offset: int) -> int:
        """Which argument a caret at `offset` stands in."""
        return sum(1 for comma in self.commas if comma < offset)


@dataclass(frozen=True, slots=True)
class Mention:
    """One use of a name; `span` leaves out ``r#``."""

    name: str
    span: Span
    call: Call | None
    qualified: bool
    """A path (``a::df``) or a method (``a.df()``) leads to it."""


def opaque(source: SourceText) -> Opaque:
    """The comments and literals of a text, found once."""
    known = source.__dict__.get("opaque")
    if isinstance(known, Opaque):
        return known
    result = Opaque(source.data)
    source.__dict__["opaque"] = result
    return result


def mentions(
    source: SourceText, names: Iterable[str], functions: Callable[[], Sequence[Span]] = tuple
) -> tuple[Mention, ...]:
    """Every use of one of `names`, in order.

    `functions` says where functions stand, and is asked only when it matters: inside one that declares a
    variable or parameter of the name, unqualified uses mean that.
    """
    wanted = {encode(name): name for name in names if name}
    if not wanted:
        return ()
    pattern = re.compile(rb"(?<![\w'])(?:" + b"|".join(map(re.escape, sorted(wanted))) + rb")(?!\w)")
    found: list[Mention] = []
    locals_: dict[str, list[Span]] = {}
    for match in pattern.finditer(source.data):
        if _continues(source.data, match) or opaque(source).around(match.start()) is not None:
            continue
        name, span = wanted[match.group()], Span(match.start(), match.end())
        before = _before(source, span.start)
        if _declares(source, before, span):
            if before[0] != b"fn":
                locals_.setdefault(name, []).append(_function_around(functions(), span.start))
            continue
        mention = _mention(source, name, span, before)
        if mention is not None:
            found.append(mention)
    return tuple(m for m in found if m.qualified or not _is_local(m, locals_))


def _continues(data: bytes, match: re.Match[bytes]) -> bool:
    """Whether a letter outside ASCII goes on before or after: `\\w` in bytes knows ASCII only."""
    return (
        data[match.start() - 1 : match.start()] >= b"\x80" or data[match.end() : match.end() + 1] >= b"\x80"
    )


def _function_around(functions: Sequence[Span], offset: int) -> Span:
    inside = [span for span in functions if offset in span]
    return min(inside, key=lambda span: span.length) if inside else Span(offset, offset)


def _is_local(mention: Mention, locals_: dict[str, list[Span]]) -> bool:
    return any(mention.span.start in span for span in locals_.get(mention.name, ()))


def _before(source: SourceText, at: int) -> tuple[bytes, int]:
    """The token that ends before `at`, and where it starts."""
    data = source.data
    if data[at - 2 : at] == b"r#":
        at -= 2
    end = skip_back(source, at)
    if data[end - 2 : end] == b"::":
        return b"::", end - 2
    start = end
    while start > 0 and (data[start - 1 : start].isalnum() or data[start - 1 : start] == b"_"):
        start -= 1
    if start == end:
        start = max(end - 1, 0)
    return data[start:end], start


def _declares(source: SourceText, before: tuple[bytes, int], span: Span) -> bool:
    """Whether the name is being defined here: a function, an item, a variable or a parameter."""
    if before[0] == b"fn" or before[0] in _BINDERS:
        return True
    after = skip(source, span.end)
    data = source.data
    typed = data[after : after + 1] == b":" and data[after : after + 2] != b"::"
    return typed and before[0] in (b"(", b",", b"{", b"|")


def _mention(source: SourceText, name: str, span: Span, before: tuple[bytes, int]) -> Mention | None:
    data = source.data
    after = skip(source, span.end)
    following = data[after : after + 1]
    if following == b"!" and data[after : after + 2] != b"!=":
        return None
    opening = after
    if data[after : after + 2] == b"::":
        generic = skip(source, after + 2)
        if data[generic : generic + 1] == b"<":
            opening = skip(source, _angle_end(data, generic))
        else:
            return None
    call = call_at(source, opening) if data[opening : opening + 1] == b"(" else None
    if before[0] == b"." and data[before[1] - 1 : before[1]] != b".":
        return Mention(name, span, call, True) if call is not None else None
    return Mention(name, span, call, before[0] == b"::")


def _angle_end(data: bytes, at: int) -> int:
    depth = 0
    for index in range(at, min(len(data), at + 4096)):
        char = data[index : index + 1]
        if char == b"<":
            depth += 1
        elif char == b">" and data[index - 1 : index] != b"-":
            depth -= 1
            if depth == 0:
                return index + 1
    return at


def skip(source: SourceText, at: int) -> int:
    """The first offset from `at` on that is neither white space nor in a comment."""
    data = source.data
    while at < len(data):
        if data[at] in _SPACE:
            at += 1
        elif data[at : at + 2] in (b"//", b"/*") and (comment := opaque(source).around(at)) is not None:
            at = comment.end
        else:
            break
    return at


def skip_back(source: SourceText, at: int) -> int:
    """The end of the last token before `at`."""
    data = source.data
    while at > 0:
        if data[at - 1] in _SPACE:
            at -= 1
            continue
        inside = opaque(source).around(at - 1)
        if inside is None or data[inside.start : inside.start + 2] not in (b"//", b"/*"):
            break
        at = inside.start
    return at


_PAIRS = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
_STRUCTURE = re.compile(rb"[()\[\]{},;\"'/]|\br#*\"")


def call_at(source: SourceText, opening: int) -> Call:
    """The argument list whose parenthesis stands at `opening`.

    An unfinished list ends at a semicolon or at a bracket that closes something around it.
    """
    data = source.data
    stack: list[int] = []
    commas: list[int] = []
    at, end, close = opening + 1, min(len(data), opening + _LONGEST_CALL), None
    while at < end:
        match = _STRUCTURE.search(data, at, end)
        if match is None:
            at = end
            break
        at = match.start()
        inside = opaque(source).around(at)
        if inside is not None:
            at = max(inside.end, at + 1)
            continue
        char = data[at]
        if char in b"([{":
            stack.append(char)
        elif char in _PAIRS:
            if not stack:
                close = at if char == ord(")") else None
                break
            if stack.pop() != _PAIRS[char]:
                break
        elif char == ord(",") and not stack:
            commas.append(at)
        elif char == ord(";") and ord("{") not in stack and ord("[") not in stack:
            break
        at += 1
    return Call(opening, close, _arguments(source, opening, commas, min(at, end)), tuple(commas))


def _arguments(source: SourceText, opening: int, commas: list[int], end: int) -> tuple[Span, ...]:
    edges = [opening, *commas, end]
    result = []
    for left, right in pairwise(edges):
        start = min(skip(source, left + 1), right)
        result.append(Span(start, max(start, skip_back(source, right))))
    if result and result[-1].length == 0:
        result.pop()
    return tuple(result)


@dataclass(frozen=True, slots=True)
class Surrounding:
    """The innermost call around a caret."""

    name: str
    name_span: Span
    call: Call


def call_around(source: SourceText, offset: int) -> Surrounding | None:
    """The innermost call whose argument list holds a caret at `offset`."""
    data = source.data
    depth = 0
    at, limit = offset - 1, max(0, offset - _LONGEST_CALL)
    if opaque(source).around(offset - 1) not in (None, _ending_at(source, offset)):
        return None
    while at >= limit:
        inside = opaque(source).around(at)
        if inside is not None:
            at = inside.start - 1
            continue
        char = data[at]
        if char in b")]}":
            depth += 1
        elif char in b"([{":
            if depth == 0:
                if char != ord("("):
                    return None if char == ord("{") else _outer(source, at)
                found = _named_call(source, at)
                return found if found is not None else _outer(source, at)
            depth -= 1
        elif char == ord(";") and depth == 0:
            return None
        at -= 1
    return None


def _ending_at(source: SourceText, offset: int) -> Span | None:
    """The literal that ends exactly at the caret, which is therefore not inside it."""
    inside = opaque(source).around(offset - 1)
    if inside is None or inside.end != offset or source.data[inside.start : inside.start + 2] == b"//":
        return None
    return inside


def _outer(source: SourceText, at: int) -> Surrounding | None:
    return call_around(source, at) if at > 0 else None


def _named_call(source: SourceText, opening: int) -> Surrounding | None:
    data = source.data
    end = skip_back(source, opening)
    if data[end - 1 : end] == b">":
        turbofish = data.rfind(b"::<", max(0, end - 4096), end)
        if turbofish < 0:
            return None
        end = skip_back(source, turbofish)
    start = end
    while start > 0 and (
        data[start - 1 : start].isalnum() or data[start - 1] == ord("_") or data[start - 1] >= 0x80
    ):
        start -= 1
    name = source.slice(Span(start, end))
    if not name or name[0].isdigit() or name in _NO_CALL or _before(source, start)[0] == b"fn":
        return None
    return Surrounding(name, Span(start, end), call_at(source, opening))
