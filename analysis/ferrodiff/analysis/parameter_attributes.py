"""What Rust allows in a parameter list and tree-sitter's grammar does not.

The grammar knows one attribute per parameter; of a second one it makes an error or part of a pattern. It does
not know ``Vec::<f64>`` as a type either. Such a list is read again without its attributes, which are read by
themselves, and without the ``::`` before a ``<``.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_TOKEN = re.compile(
    rb"""(?P<skip>//[^\n]*|/\*.*?(?:\*/|\Z)|b?c?r(?P<hashes>\#+)".*?(?:"(?P=hashes)|\Z)|b?c?r"[^"]*"
    |"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\[^\n]{1,9}?)')
    |(?P<attribute>\#\s*\[)|(?P<open>[(\[{])|(?P<close>[)\]}])""",
    re.DOTALL | re.VERBOSE,
)


_TURBOFISH = re.compile(
    rb"""//[^\n]*|/\*.*?(?:\*/|\Z)|(?P<turbofish>::)(?=\s*<)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<length>;)""",
    re.DOTALL | re.VERBOSE,
)


def attribute_spans(text: bytes) -> list[tuple[int, int]]:
    """Where ``#[..]`` stand directly within a parameter list, whose text starts with its parenthesis."""
    found: list[tuple[int, int]] = []
    depth, started = 0, -1
    for token in _TOKEN.finditer(text):
        if token["attribute"] is not None:
            if depth == 1:
                started = token.start()
            depth += 1
        elif token["open"] is not None:
            depth += 1
        elif token["close"] is not None:
            depth -= 1
            if depth == 1 and started >= 0:
                found.append((started, token.end()))
                started = -1
    return found


def turbofish_spans(text: bytes) -> list[tuple[int, int]]:
    """Where ``::`` stand before a ``<`` in types: not in braces and lengths, where expressions need them."""
    found: list[tuple[int, int]] = []
    expressions = [False]
    for token in _TURBOFISH.finditer(text):
        if token["open"] is not None:
            expressions.append(expressions[-1] or token["open"] == b"{")
        elif token["close"] is not None:
            if len(expressions) > 1:
                expressions.pop()
        elif token["length"] is not None:
            expressions[-1] = True
        elif token["turbofish"] is not None and not expressions[-1]:
            found.append(token.span("turbofish"))
    return found


def without(text: bytes, spans: list[tuple[int, int]]) -> bytes:
    """The text with blanks in the place of `spans`, so that offsets stay."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], b" " * (end - start)]
        at = end
    return b"".join([*parts, text[at:]])


def assigned(spans: list[tuple[int, int]], starts: list[int]) -> list[list[tuple[int, int]]]:
    """The attributes of each parameter: those after the one before it. `starts` are the parameters'."""
    found: list[list[tuple[int, int]]] = [[] for _ in starts]
    for span in spans:
        index = bisect_right(starts, span[0])
        if index < len(starts):
            found[index].append(span)
    return found
