"""Markdown for clients that show it, and the same in plain text for those that do not."""

from __future__ import annotations

import re

from ferrodiff.server.lsp import types as t

_FENCE = re.compile(r"^```\w*$\n?", re.MULTILINE)


def plain(markdown: str) -> str:
    """The same for clients that show no Markdown."""
    text = _FENCE.sub("", markdown)
    text = re.sub(r"^\|[-|]+\|$\n?", "", text, flags=re.MULTILINE)
    return text.replace("**", "").replace("`", "").replace("\\|", "|")


def markup(text: str, markdown: bool) -> t.MarkupContent | None:
    """A text in the client's format; None for an empty one."""
    if not text:
        return None
    kind = t.MarkupKind.Markdown if markdown else t.MarkupKind.PlainText
    return t.MarkupContent(kind, text if markdown else plain(text))
