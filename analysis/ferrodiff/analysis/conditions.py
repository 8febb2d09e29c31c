"""``cfg`` and ``cfg_attr`` on parameters, which rustc decides about after it has looked at an annotation.

Without more to go by, only what every configuration agrees on is decided: ``all()``, ``any()``, ``not(..)``,
``true``, ``false``, and ``test``, which an ordinary build does not set. A feature or a target is left to rustc.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_ATTRIBUTE = re.compile(r"#\[(\w+)(.*)\]", re.DOTALL)
_TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|[\w:]+|[(),=]|.', re.DOTALL)
_LONGEST = 4096
"""Longer texts are left alone: each level of a `cfg_attr` is read again for the level around it."""
_TEST = re.compile(r"\btest\b")
_DECIDED = {"true": True, "false": False, "test": False}


def everywhere(setting: str) -> bool | None:
    """What every build has or lacks."""
    return _DECIDED.get(setting)


def decided(predicate: str, known: Callable[[str], bool | None] = everywhere) -> bool | None:
    """The value of a configuration predicate; None when it depends on what is not known, or is no predicate.

    `known` tells of a name (``unix``) or a setting (``feature="x"``, without spaces) whether the build has it.
    """
    tokens = [token for token in _TOKEN.findall(predicate) if not token.isspace()]
    value: bool | None = None
    waiting: list[tuple[str, list[bool | None]]] = []
    for index, token in enumerate(tokens):
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token == "(":
            continue
        if after == "(":
            waiting.append((token, []))
            continue
        if token == ")" and waiting:
            value = _combined(*waiting.pop())
        elif token.isidentifier():
            value = known("".join(tokens[index : index + 3]) if after == "=" else token)
        else:
            continue
        if waiting:
            waiting[-1][1].append(value)
    return None if waiting or tokens.count("(") != tokens.count(")") else value


def never_holds(predicate: str) -> bool:
    """Whether no build has it, with tests or without."""
    return decided(predicate) is False and not _TEST.search(predicate)


def _combined(operator: str, values: list[bool | None]) -> bool | None:
    if operator == "not":
        return None if len(values) != 1 or values[0] is None else not values[0]
    if operator not in ("all", "any"):
        return None
    decisive = operator == "any"
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def resolved(attributes: str) -> str | None:
    """Printed attributes, each with a space after it, without conditions that are decided.

    None when what they stand on is not there.
    """
    if "#[cfg" not in attributes or len(attributes) > _LONGEST:
        return attributes
    kept: list[str] = []
    waiting = list(_split(attributes))[::-1]
    while waiting:
        attribute = waiting.pop()
        match = _ATTRIBUTE.fullmatch(attribute)
        name, rest = (match[1], match[2]) if match is not None else ("", "")
        inside = list(_arguments(rest)) if name in ("cfg", "cfg_attr") else []
        value = decided(inside[0]) if inside else None
        if value is None:
            kept.append(attribute + " ")
        elif name == "cfg_attr":
            waiting += [f"#[{text}]" for text in reversed(inside[1:]) if text and value]
        elif not value:
            return None
    return "".join(kept)


def _split(attributes: str) -> Iterator[str]:
    depth = start = 0
    for token in _TOKEN.finditer(attributes):
        depth += (token[0] == "[") - (token[0] == "]")
        if token[0] == "]" and depth == 0:
            yield attributes[start : token.end()].strip()
            start = token.end()


def _arguments(text: str) -> Iterator[str]:
    """The parts between the commas of ``(a, b(c, d))``."""
    depth, start = 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in "([{":
            depth += 1
            if depth == 1:
                start = token.end()
        elif token[0] in ")]}":
            depth -= 1
            if depth == 0:
                yield text[start : token.start()].strip()
                return
        elif token[0] == "," and depth == 1:
            yield text[start : token.start()].strip()
            start = token.end()
