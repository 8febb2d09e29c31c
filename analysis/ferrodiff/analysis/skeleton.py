"""The syntax tree of a piece of a file without what nobody asks about: the insides of blocks.

Parsing takes most of the time of an analysis, and most of a program is in bodies of functions. A block in which
nothing is looked for is left empty: every offset stays, and a syntax error in it hides nothing around it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Tree

from ferrodiff.analysis.dialect import adapted
from ferrodiff.analysis.lexemes import CHAR, IN_TYPE, LINE_COMMENT, STRING
from ferrodiff.analysis.syntax import parse

_OPAQUE = re.compile(
    rb'\b(?:br|cr|r)(?P<hashes>\#*)".*?(?:"(?P=hashes)|\Z)|'
    + STRING
    + rb"|"
    + CHAR
    + rb"|"
    + LINE_COMMENT
    + rb"|/\*.*?(?:\*/|\Z)",
    re.VERBOSE | re.DOTALL,
)
_MAY_BE_OPAQUE = re.compile(rb"[\"'/]")


@dataclass(frozen=True, slots=True)
class Skeleton:
    tree: Tree
    wheres: tuple[tuple[int, int], ...] = ()
    """Where clauses that are not in the tree (see `ferrodiff.analysis.dialect`)."""


def skeleton(text: bytes, braces: Sequence[int], wanted: Sequence[int]) -> Skeleton:
    """The syntax tree of `text` without the insides of blocks that hold none of the sorted offsets `wanted`.

    `braces` are those of `text` (see `ferrodiff.analysis.pieces.Segment`). What stands in parentheses or
    brackets, or is an argument of a type, stays.
    """
    parts = visible(text, braces, wanted)
    known = adapted(text, parts)
    return Skeleton(parse(known.text, parts), known.wheres)


def visible(text: bytes, braces: Sequence[int], wanted: Sequence[int]) -> list[tuple[int, int]]:
    """The parts of `text` that `skeleton` parses."""
    found: list[tuple[int, int]] = []
    at = 0
    for start, end in _blocks(text, braces, wanted):
        found.append((at, start))
        at = end
    found.append((at, len(text)))
    return found


def _blocks(text: bytes, braces: Sequence[int], wanted: Sequence[int]) -> list[tuple[int, int]]:
    """The insides of the outermost blocks without anything wanted."""
    partner = _partners(braces)
    found: list[tuple[int, int]] = []
    around: list[int] = []
    level = last = index = 0
    while index < len(braces):
        place = braces[index]
        if place < 0:
            level, last = (around.pop() if around else 0), ~place + 1
            index += 1
            continue
        level += _opened(text[last:place])
        other = partner.get(index)
        end = ~braces[other] if other is not None else -1
        if other is None or bisect_left(wanted, place) < bisect_left(wanted, end):
            around.append(level)
            level, last = 0, place + 1
            index += 1
            continue
        if level <= 0 and end - place > 1 and IN_TYPE.match(text, end + 1) is None:
            found.append((place + 1, end))
        last, index = end + 1, other + 1
    return found


def _partners(braces: Sequence[int]) -> dict[int, int]:
    """For each opening brace's index the index of the one that closes it."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for index, place in enumerate(braces):
        if place >= 0:
            waiting.append(index)
        elif waiting:
            found[waiting.pop()] = index
    return found


def _opened(text: bytes) -> int:
    """How many more parentheses and brackets open than close."""
    if _MAY_BE_OPAQUE.search(text) is not None:
        text = _OPAQUE.sub(b" ", text)
    return text.count(b"(") + text.count(b"[") - text.count(b")") - text.count(b"]")
