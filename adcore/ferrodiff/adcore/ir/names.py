"""LLVM identifiers: quoting and unquoting as LLVM's printer does it."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z._-][A-Za-z0-9._-]*").fullmatch
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|\\)")
_UNSAFE = re.compile(rb'[^\x20-\x7e]|["\\]')


def quote_name(name: str) -> str:
    """``name`` as it stands after ``%`` or ``@``: bare where LLVM prints it bare, else quoted and escaped."""
    if _PLAIN(name):
        return name
    return f'"{escape(name.encode("utf-8", "surrogateescape"))}"'


def unquote_name(text: str) -> str:
    """The inverse of :func:`quote_name`; bytes that are no UTF-8 become lone surrogates."""
    if not text.startswith('"'):
        return text
    return unescape(text[1:-1]).decode("utf-8", "surrogateescape")


def escape(data: bytes) -> str:
    """Bytes as the inside of an LLVM string literal."""
    return _UNSAFE.sub(_escaped, data).decode("ascii")


def _escaped(match: re.Match[bytes]) -> bytes:
    byte = match.group()
    return b"\\\\" if byte == b"\\" else b"\\%02X" % byte[0]


def unescape(text: str) -> bytes:
    """The bytes that the inside of an LLVM string literal stands for."""
    if "\\" not in text:
        return text.encode("utf-8", "surrogateescape")
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE.finditer(text):
        parts.append(text[position : match.start()].encode("utf-8", "surrogateescape"))
        parts.append(b"\\" if match.group(1) == "\\" else bytes((int(match.group(1), 16),)))
        position = match.end()
    parts.append(text[position:].encode("utf-8", "surrogateescape"))
    return b"".join(parts)
