"""LLVM IR made readable: metadata out, source lines in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

_ATTACHMENT = re.compile(r",? !(?!dbg)[\w.]+ !\d+")
_DEBUG = re.compile(r",? !dbg !(\d+)")
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_REFERENCE = re.compile(r"\b(scope|file|inlinedAt): !(\d+)")
_LINE = re.compile(r"\bline: (\d+)")
_FILE = re.compile(r'\bfilename: "((?:[^"\\]|\\.)*)"')
_INTRINSIC = re.compile(r"^ .*@llvm\.(?:experimental\.noalias\.scope\.decl|dbg\.)")


def readable(function: str, module: str, lengths: Mapping[str, int]) -> str:
    """A function's definition without metadata; a comment names each new line of the user's files.

    `module` is the whole module's text, whose debug information is read; `lengths` are the numbers of lines
    of the user's files by name (generated helpers stand after the last line).
    """
    debug = _Debug(module, lengths)
    lines: list[str] = []
    last = ""
    for line in function.splitlines():
        if _INTRINSIC.match(line):
            continue
        found = _DEBUG.search(line)
        place = debug.place(found.group(1)) if found and line.startswith("  ") else ""
        if place and place != last:
            lines.append(f"  ; {place}")
            last = place
        lines.append(_ATTACHMENT.sub("", _DEBUG.sub("", line)).rstrip())
        if line and not line.startswith(" "):
            last = ""
    return "\n".join(lines)


class _Debug:
    """The debug information of a module, as far as source lines need it."""

    def __init__(self, module: str, lengths: Mapping[str, int]) -> None:
        self._lengths = lengths
        self._nodes = {number: (kind, text) for number, kind, text in _NODE.findall(module)}
        self.place = lru_cache(maxsize=None)(self._place)

    def _place(self, location: str) -> str:
        """File and line of the innermost inlined call that is in the user's files."""
        here: str | None = location
        while here is not None:
            kind, text = self._nodes.get(here, ("", ""))
            if kind != "DILocation":
                break
            references = dict(_REFERENCE.findall(text))
            found = _LINE.search(text)
            line, file = int(found.group(1)) if found else 0, self._file(references.get("scope"))
            if 0 < line <= self._lengths.get(file, 0):
                return f"{file}:{line}"
            here = references.get("inlinedAt")
        return ""

    def _file(self, scope: str | None) -> str:
        seen = 0
        while scope is not None and seen < 64:
            _, text = self._nodes.get(scope, ("", ""))
            references = dict(_REFERENCE.findall(text))
            if "file" in references:
                found = _FILE.search(self._nodes.get(references["file"], ("", ""))[1])
                return found.group(1) if found else ""
            scope = references.get("scope")
            seen += 1
        return ""
