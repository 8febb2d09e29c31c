"""Source locations from debug metadata: DILocation, its scopes, its file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrodiff.adcore.ir.location import SourceLocation
from ferrodiff.adcore.ir.names import unescape

_FIELD = re.compile(r'(\w+): (?:"([^"]*)"|([^,()]+))')
_MAX_DEPTH = 200


def fields(text: str) -> dict[str, str]:
    """The fields of a specialised node as raw text; strings without quotes, unescaped."""
    found: dict[str, str] = {}
    for name, string, plain in _FIELD.findall(text):
        found.setdefault(name, plain or unescape(string).decode("utf-8", "replace"))
    return found


def location_of(metadata: Mapping[str, str], node: str, depth: int = 0) -> SourceLocation | None:
    """The location that a ``!DILocation`` node describes, with the calls it was inlined into."""
    text = metadata.get(node, "")
    if "DILocation(" not in text or depth > _MAX_DEPTH:
        return None
    parts = fields(text)
    scope = parts.get("scope", "")
    file, function = _scope(metadata, scope)
    inlined = parts.get("inlinedAt")
    return SourceLocation(
        file,
        int(parts.get("line", "0")),
        int(parts.get("column", "0")),
        function,
        location_of(metadata, inlined, depth + 1) if inlined else None,
    )


def function_location(metadata: Mapping[str, str], node: str) -> SourceLocation | None:
    """Where the function that a ``!DISubprogram`` node describes is declared."""
    text = metadata.get(node, "")
    if "DISubprogram(" not in text:
        return None
    parts = fields(text)
    line = int(parts.get("line", "0"))
    return SourceLocation(_file(metadata, parts.get("file", "")), line, 0, parts.get("name"))


def _scope(metadata: Mapping[str, str], node: str) -> tuple[str, str | None]:
    """File and function name of a scope: the innermost file, the enclosing subprogram's name."""
    file: str | None = None
    for _ in range(_MAX_DEPTH):
        text = metadata.get(node, "")
        parts = fields(text)
        if file is None and "file" in parts:
            file = _file(metadata, parts["file"])
        if "DISubprogram(" in text:
            return file or "", parts.get("name")
        if "scope" not in parts:
            break
        node = parts["scope"]
    return file or "", None


def _file(metadata: Mapping[str, str], node: str) -> str:
    text = metadata.get(node, "")
    if "DIFile(" not in text:
        return ""
    parts = fields(text)
    name, directory = parts.get("filename", ""), parts.get("directory", "")
    if not directory or name.startswith(("/", "<")) or re.match(r"[A-Za-z]:[\\/]", name):
        return name
    return f"{directory.rstrip('/')}/{name}"
