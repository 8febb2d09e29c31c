"""Mangled Rust symbols: just enough demangling to find a function by its name."""

from __future__ import annotations

import re

_ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}
_HASH = re.compile(r"h[0-9a-f]{16}")
_MENTION = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_DEFINITION = re.compile(r'^define [^@]*@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(', re.MULTILINE)


def path_of(symbol: str) -> list[str]:
    """The path segments of a legacy-mangled symbol (without its hash), or the plain ones of a v0 symbol.

    A symbol that is not mangled is its own only segment.
    """
    if symbol.startswith("_ZN"):
        return _legacy(symbol)
    if symbol.startswith("_R"):
        return _v0(symbol)
    return [symbol]


def defined(ir: str, name: str) -> list[str]:
    """The symbols defined in IR text whose last path segment is `name`."""
    found = []
    for match in _DEFINITION.finditer(ir):
        symbol = _unquoted(match.group(1))
        path = path_of(symbol)
        if path and path[-1] == name:
            found.append(symbol)
    return found


def all_defined(ir: str) -> set[str]:
    """The symbols of every function that IR text defines."""
    return {_unquoted(match.group(1)) for match in _DEFINITION.finditer(ir)}


def mentioned(text: str) -> list[str]:
    """The symbols that occur in a function's text, in order."""
    return list(dict.fromkeys(_unquoted(match.group(1)) for match in _MENTION.finditer(text)))


def definition(ir: str, symbol: str) -> str | None:
    """The text of one function's definition."""
    for spelled in (f"@{symbol}(", f'@"{symbol}"('):
        at = ir.find(spelled)
        while at >= 0:
            start = ir.rfind("\n", 0, at) + 1
            if ir.startswith("define ", start):
                return ir[start : ir.index("\n}", at) + 2]
            at = ir.find(spelled, at + 1)
    return None


def attribute_groups(ir: str, text: str) -> str:
    """The `attributes #N = ...` lines that a definition mentions."""
    wanted = {int(number) for number in re.findall(r"#(\d+)", text)}
    return "\n".join(
        match.group(0)
        for match in re.finditer(r"^attributes #(\d+) = .*$", ir, re.MULTILINE)
        if int(match.group(1)) in wanted
    )


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    return re.sub(r"\\([0-9A-Fa-f]{2})", lambda match: chr(int(match.group(1), 16)), text[1:-1])


def _legacy(symbol: str) -> list[str]:
    segments = []
    position = 3
    while True:
        match = re.compile(r"\d+").match(symbol, position)
        if match is None:
            break
        length = int(match.group(0))
        segments.append(_decoded(symbol[match.end() : match.end() + length]))
        position = match.end() + length
    if segments and _HASH.fullmatch(segments[-1]):
        segments.pop()
    return segments


def _decoded(text: str) -> str:
    text = text.removeprefix("_") if text.startswith("_$") else text

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in _ESCAPES:
            return _ESCAPES[name]
        return chr(int(name[1:], 16)) if re.fullmatch(r"u[0-9a-f]+", name) else match.group(0)

    return re.sub(r"\$(\w+)\$", replace, text).replace("..", "::")


def _v0(symbol: str) -> list[str]:
    segments = []
    position = 2
    while position < len(symbol):
        match = re.compile(r"(u?)(\d+)_?").match(symbol, position)
        if match and not match.group(2).startswith("0"):
            length = int(match.group(2))
            text = symbol[match.end() : match.end() + length]
            segments.append(_punycode(text) if match.group(1) else text)
            position = match.end() + length
        elif match := re.compile(r"(?:s|B|C|K|L)[0-9A-Za-z]*_").match(symbol, position):
            position = match.end()
        else:
            position += 1
    return segments


def _punycode(text: str) -> str:
    basic, _, tail = text.rpartition("_")
    try:
        return (
            f"{basic}-{tail}".encode("ascii").decode("punycode")
            if basic
            else tail.encode().decode("punycode")
        )
    except UnicodeError:
        return text
