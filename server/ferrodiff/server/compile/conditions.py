"""Conditions of `#[cfg(..)]`, as far as they are known without rustc."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(r'\s*(?:([A-Za-z_]\w*)|"((?:[^"\\]|\\.)*)"|([(),=]))')
_NEVER = frozenset({"test", "doc", "doctest", "miri"})
_SETTABLE = frozenset({"feature"})
"""Keys that have the values they are given, and no others."""


def holds(condition: str, cfgs: Sequence[str]) -> bool | None:
    """Whether a condition holds with rustc's `--cfg` options; None where only rustc knows.

    A name that rustc may set itself (`unix`, `target_os`, ...) and text that is no condition are not known.
    """
    given = {re.sub(r"\s", "", text) for text in cfgs}
    try:
        value, rest = _value(_tokens(condition), given)
    except (IndexError, ValueError):
        return None
    return value if not rest else None


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(text)
        word, string, mark = match.groups()
        found.append(word or mark or f'"{string}"')
        at = match.end()
    return found


def _value(tokens: list[str], given: set[str]) -> tuple[bool | None, list[str]]:
    name, rest = tokens[0], tokens[1:]
    if rest[:1] == ["="]:
        setting = f"{name}={rest[1]}"
        return (setting in given) or (False if name in _SETTABLE else None), rest[2:]
    if rest[:1] != ["("]:
        return (name in given) or (False if name in _NEVER else None), rest
    rest, values = rest[1:], []
    while rest[0] != ")":
        value, rest = _value(rest, given)
        values.append(value)
        rest = rest[1:] if rest[0] == "," else rest
    return _COMBINED[name](values) if name in _COMBINED else None, rest[1:]


def _all(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def _any(values: list[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def _not(values: list[bool | None]) -> bool | None:
    return None if values[0] is None else not values[0]


_COMBINED = {"all": _all, "any": _any, "not": _not}
