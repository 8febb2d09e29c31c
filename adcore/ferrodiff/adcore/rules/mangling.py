"""Reading names: the base of an overloaded intrinsic, the path inside a mangled Rust symbol.

Rust symbols are read in both manglings, legacy (`_ZN4core9panicking5panic17h...E`) and v0 (RFC 2603); of v0
only paths are decoded. For an item of an impl the path is that of the module the impl stands in.
"""

from __future__ import annotations

import contextlib
import re
from functools import cache

_OVERLOAD = re.compile(
    r"(nxv\d+|v\d+|a\d+)*(f16|bf16|f32|f64|f80|f128|ppcf128|i\d+|p\d+|sl_\w+|s_\w+)"
).fullmatch


@cache
def base_of_intrinsic(name: str) -> str:
    """`llvm.vector.reduce.fadd` of `llvm.vector.reduce.fadd.v4f64`."""
    parts = name.split(".")
    while len(parts) > 2 and _OVERLOAD(parts[-1]):
        parts.pop()
    return ".".join(parts)


@cache
def rust_path(symbol: str) -> tuple[str, ...]:
    """The path of a Rust symbol, crate first; empty if it is no Rust symbol.

    `_RNvNtCs1_4core9panicking5panic` is `("core", "panicking", "panic")`.
    """
    if symbol.startswith("_ZN"):
        return _legacy(symbol)
    if symbol.startswith("_R"):
        reader = _V0(symbol[2:].split(".")[0])
        with contextlib.suppress(_Enough, ValueError, IndexError, RecursionError):
            reader.path()
        return tuple(reader.found)
    return ()


def _legacy(symbol: str) -> tuple[str, ...]:
    parts: list[str] = []
    place = 3
    while (match := re.compile(r"\d+").match(symbol, place)) is not None:
        length = int(match.group())
        parts.append(symbol[match.end() : match.end() + length])
        place = match.end() + length
    if parts and re.fullmatch(r"h[0-9a-f]{16}", parts[-1]):
        parts.pop()
    # `_$LT$impl$u20$core..fmt..Display$u20$for$u20$f64$GT$` names an impl, not a module.
    return tuple(p for p in parts if "$" not in p)


class _Enough(Exception):
    """The path read so far is all that is wanted."""


class _V0:
    """A reader of v0 paths; `found` collects the identifiers of the outermost path, crate first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[str] = []

    def path(self) -> None:
        tag = self.take()
        if tag == "C":
            self.identifier()
        elif tag == "N":
            self.take()
            self.path()
            self.identifier()
        elif tag == "I":
            self.path()
            raise _Enough
        elif tag in "MX":
            self.disambiguator()
            self.path()
            raise _Enough
        elif tag == "B":
            target = self.base62()
            back, self.at = self.at, target
            self.path()
            self.at = back
        else:
            raise _Enough

    def take(self) -> str:
        character = self.text[self.at]
        self.at += 1
        return character

    def base62(self) -> int:
        end = self.text.index("_", self.at)
        digits = self.text[self.at : end]
        self.at = end + 1
        value = 0
        for digit in digits:
            value = value * 62 + _BASE62.index(digit)
        return value + 1 if digits else 0

    def disambiguator(self) -> None:
        if self.text[self.at] == "s":
            self.at += 1
            self.base62()

    def identifier(self) -> None:
        self.disambiguator()
        if self.text[self.at] == "u":
            self.at += 1
        match = re.compile(r"\d+").match(self.text, self.at)
        if match is None:
            raise _Enough
        self.at = match.end()
        if self.text[self.at : self.at + 1] == "_":
            self.at += 1
        length = int(match.group())
        if length:
            self.found.append(self.text[self.at : self.at + length])
        self.at += length


_BASE62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
