"""The language of an annotation's argument list: ``(df, 4, Dual, Const, Dual)``.

The grammar accepts every text: what does not belong is kept as an item of its own span and reported as a
`Problem`, so half-typed input still has all its other facts. Nothing here raises on input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ferrodiff.analysis.model import Activity, Annotation, Argument, Mode, Problem, ProblemKind
from ferrodiff.analysis.text import Span, encode


@dataclass(frozen=True, slots=True)
class Item:
    """One comma-separated item: offsets are characters from the start of the list's text."""

    start: int
    end: int
    shape: str
    """One letter per token, see `annotation_grammar.LETTERS`."""
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemList:
    """The slots between the list's own commas (None when empty) and the commas' character offsets."""

    slots: tuple[Item | None, ...]
    commas: tuple[int, ...]


_PLAIN_ITEM = r"(?:(?:r\#)?[A-Za-z_]\w*|\d+)"
_PLAIN_LIST = re.compile(rf"\(\s*{_PLAIN_ITEM}\s*(?:,\s*{_PLAIN_ITEM}\s*)*+(?:,\s*)?\)", re.ASCII)
_PLAIN_TOKEN = re.compile(r"(?P<i>\d+)|(?P<b>(?:true|false)\b)|(?P<w>(?:r\#)?\w+)|,", re.ASCII)


def _plain_list(text: str) -> ItemList | None:
    """A list of words and numbers, which most are, without the grammar: it takes longer than all the rest."""
    if _PLAIN_LIST.fullmatch(text) is None:
        return None
    slots: list[Item | None] = [None]
    commas: list[int] = []
    for token in _PLAIN_TOKEN.finditer(text):
        if token.lastgroup is None:
            commas.append(token.start())
            slots.append(None)
        else:
            slots[-1] = Item(token.start(), token.end(), token.lastgroup, (token[0],))
    return ItemList(tuple(slots), tuple(commas))


def parse_by_grammar(text: str) -> ItemList:
    """As `parse_list`."""
    from ferrodiff.analysis.annotation_grammar import parse

    return parse(text)


@lru_cache(maxsize=4096)
def parse_list(text: str) -> ItemList:
    """The items of a list whose text starts with its opening bracket."""
    return _plain_list(text) or parse_by_grammar(text)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an annotation stands; byte spans into the file."""

    span: Span
    item_span: Span
    path_span: Span
    path: str
    mode: Mode | None
    """None for the old macro, whose list holds the mode."""
    via_cfg_attr: bool = False
    cfg_predicate: str | None = None


_WORD_SHAPES = re.compile(r"w(n+|=.*)?")
_PATH_SHAPES = re.compile(r":?w(:w)*(n+|=.*)?|:w.*")
_ADJOINING_SHAPES = re.compile(r"w[wi]+")
_LITERAL_SHAPES = re.compile(r"[iftb]")
_INTEGER = re.compile(r"(0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*)(\w*)")
_MODES = {
    "Forward": Mode.FORWARD,
    "Reverse": Mode.REVERSE,
    "ForwardFirst": Mode.FORWARD,
    "ReverseFirst": Mode.REVERSE,
}
_BY_NAME = {activity.value: activity for activity in Activity}
U32_MAX = 2**32 - 1


def integer_value(literal: str) -> tuple[int, str] | None:
    """Value and suffix of a Rust integer literal; None when it is none."""
    match = _INTEGER.fullmatch(literal)
    if match is None:
        return None
    digits = match[1].replace("_", "")
    if digits[:2] in ("0x", "0o", "0b"):
        return (int(digits, 0), match[2]) if len(digits) > 2 else None
    # int() refuses more than 4300 digits; no width is that long, and its exact value says nothing
    return int(digits[:4000]), match[2]


class _Reader:
    """Reads the items of one list in order: name, (mode,) width, activities."""

    def __init__(self, text: str, base: int) -> None:
        self.base = base
        self.bytes_at = (lambda i: i) if text.isascii() else (lambda i: len(encode(text[:i])))
        self.text = text
        self.problems: list[Problem] = []

    def span(self, item: Item) -> Span:
        return Span(self.base + self.bytes_at(item.start), self.base + self.bytes_at(item.end))

    def word_span(self, item: Item) -> Span:
        start = self.base + self.bytes_at(item.start)
        return Span(start, start + len(encode(item.tokens[0])))

    def problem(self, kind: ProblemKind, item: Item, text: str | None = None) -> None:
        text = text if text is not None else self.text[item.start : item.end]
        self.problems.append(Problem(kind, self.span(item), text))

    def name(self, item: Item) -> tuple[str | None, Span]:
        if _WORD_SHAPES.fullmatch(item.shape):
            if len(item.shape) > 1:
                self.problem(ProblemKind.NAME_DECORATED, item)
            return item.tokens[0].removeprefix("r#"), self.word_span(item)
        if _ADJOINING_SHAPES.fullmatch(item.shape):
            self.problem(ProblemKind.MISSING_COMMA, item, " ".join(item.tokens))
            return item.tokens[0].removeprefix("r#"), self.word_span(item)
        is_path = _PATH_SHAPES.fullmatch(item.shape) is not None
        self.problem(ProblemKind.NAME_PATH if is_path else ProblemKind.NAME_NOT_IDENTIFIER, item)
        return None, self.span(item)

    def mode(self, item: Item) -> Mode:
        mode = _MODES.get(item.tokens[0])
        if mode is None or len(item.shape) > 1:
            self.problem(ProblemKind.MODE_UNKNOWN, item)
        return mode or Mode.FORWARD

    def width(self, item: Item) -> int | None:
        """The width, or None when the item is not in its place a width."""
        if item.shape == "i":
            found = integer_value(item.tokens[0])
            if found is None or found[1]:
                self.problem(ProblemKind.WIDTH_SUFFIXED, item)
            return found[0] if found else 1
        if _LITERAL_SHAPES.fullmatch(item.shape):
            self.problem(ProblemKind.WIDTH_LITERAL, item)
            return 1
        if item.shape[0] in "i?n" and "w" not in item.shape:
            self.problem(ProblemKind.WIDTH_EXPRESSION, item)
            return 1
        return None

    def argument(self, item: Item) -> Argument:
        span, text = self.span(item), self.text[item.start : item.end]
        if _WORD_SHAPES.fullmatch(item.shape):
            word = item.tokens[0]
            if len(item.shape) > 1:
                self.problem(ProblemKind.ARGUMENT_DECORATED, item)
            return Argument(span, word.removeprefix("r#"), _BY_NAME.get(word.removeprefix("r#")))
        if item.shape == "i":
            found = integer_value(item.tokens[0])
            if found is not None and not found[1]:
                return Argument(span, str(found[0]), None)
            self.problem(ProblemKind.WIDTH_SUFFIXED, item)
        elif _LITERAL_SHAPES.fullmatch(item.shape):
            self.problem(ProblemKind.ARGUMENT_LITERAL, item)
        elif _PATH_SHAPES.fullmatch(item.shape):
            self.problem(ProblemKind.ARGUMENT_PATH, item)
        elif _ADJOINING_SHAPES.fullmatch(item.shape):
            self.problem(ProblemKind.MISSING_COMMA, item, " ".join(item.tokens))
        else:
            self.problem(ProblemKind.ARGUMENT_JUNK, item)
        return Argument(span, text, None)


def read_annotation(place: Place, list_text: str | None, list_start: int, closed: bool = True) -> Annotation:
    """The annotation at `place` whose list is `list_text` (from its opening bracket), None without a list."""
    old_form = place.mode is None
    facts: dict[str, Any] = {
        "mode": place.mode or Mode.FORWARD,
        "name": None,
        "name_span": None,
        "width": 1,
        "width_span": None,
        "arguments": (),
        "list_span": None,
    }
    problems: list[Problem] = []
    if list_text is None or not list_text.startswith("("):
        problems.append(Problem(ProblemKind.NO_LIST, place.item_span, place.path))
    else:
        facts["list_span"] = Span(list_start, list_start + len(encode(list_text)))
        reader = _Reader(list_text, list_start)
        parsed = parse_list(list_text)
        facts |= _read_list(reader, parsed.slots, old_form)
        problems = reader.problems
        facts["commas"] = tuple([list_start + reader.bytes_at(c) for c in parsed.commas])
        if not closed:
            problems.append(Problem(ProblemKind.UNCLOSED, facts["list_span"], list_text))
    return Annotation(
        span=place.span,
        item_span=place.item_span,
        path_span=place.path_span,
        path=place.path,
        old_form=old_form,
        via_cfg_attr=place.via_cfg_attr,
        cfg_predicate=place.cfg_predicate,
        closed=closed,
        problems=tuple(problems),
        **facts,
    )


def _read_list(reader: _Reader, slots: tuple[Item | None, ...], old_form: bool) -> dict[str, Any]:
    whole = Span(reader.base, reader.base + len(encode(reader.text)))
    if all(slot is None for slot in slots[:1]) and len(slots) == 1:
        reader.problems.append(Problem(ProblemKind.EMPTY_LIST, whole, "()"))
        return {}
    if any(slot is None for slot in slots[:-1]):
        reader.problems.append(Problem(ProblemKind.EMPTY_ITEM, whole, ","))
    items = [slot for slot in slots if slot is not None]
    if not items:
        return {}
    facts: dict[str, Any] = {}
    facts["name"], facts["name_span"] = reader.name(items[0])
    rest = items[1:]
    if old_form:
        if rest:
            facts["mode"], facts["mode_span"] = reader.mode(rest[0]), reader.span(rest[0])
            rest = rest[1:]
        else:
            reader.problems.append(Problem(ProblemKind.MODE_MISSING, whole, ""))
    if rest:
        width = reader.width(rest[0])
        if width is not None:
            facts["width"], facts["width_span"] = width, reader.span(rest[0])
            rest = rest[1:]
    facts["arguments"] = tuple([reader.argument(item) for item in rest])
    return facts
