"""Renaming a derivative: its annotation and every use of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrodiff.analysis.local import function_names
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import offset_at, range_of
from ferrodiff.server.lsp.navigation import declarations, uses
from ferrodiff.server.lsp.protocol import REQUEST_FAILED, Refused
from ferrodiff.server.lsp.targets import Target, target_at

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

_IDENTIFIER = re.compile(r"(?:r#)?[^\W\d]\w*\Z")
_RESERVED = (
    "as break const continue crate else enum extern false fn for if impl in let loop match mod move mut pub "
    "ref return self Self static struct super trait true type unsafe use where while async await dyn "
    "abstract become box do final macro override priv typeof unsized virtual yield try gen"
)
_KEYWORDS = frozenset(_RESERVED.split())


def objection(name: str, taken: frozenset[str]) -> str | None:
    """Why a derivative cannot be called `name`, or None."""
    if not _IDENTIFIER.match(name) or name == "_":
        return f"`{name}` is not a Rust identifier"
    if name in _KEYWORDS:
        return f"`{name}` is a keyword"
    if name.removeprefix("r#") in taken:
        return f"there is a function called `{name}` here already"
    return None


def prepare(server: FerrodiffServer, params: t.PrepareRenameParams) -> t.PrepareRenamePlaceholder | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    target = target_at(server, opened, offset_at(opened.source, params.position, server.encoding))
    if target is None:
        return None
    return t.PrepareRenamePlaceholder(range_of(opened.source, target.span, server.encoding), target.name)


def _taken(server: FerrodiffServer, target: Target) -> frozenset[str]:
    """Names in use in the files that declare it."""
    names: set[str] = set()
    files = {derivative.uri for derivative in target.derivatives}
    for uri, _, analysis in server.analyses():
        if uri in files:
            names |= function_names(analysis)
    return frozenset(names)


def rename(server: FerrodiffServer, params: t.RenameParams) -> t.WorkspaceEdit | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    target = target_at(server, opened, offset_at(opened.source, params.position, server.encoding))
    if target is None:
        return None
    if params.new_name == target.name:
        return t.WorkspaceEdit(changes={})
    reason = objection(params.new_name, _taken(server, target))
    if reason is not None:
        raise Refused(reason, REQUEST_FAILED)
    if len({(d.uri, d.function.container_info.scope) for d in target.derivatives}) > 1:
        reason = f"several derivatives are called `{target.name}`; rename it at its annotation"
        raise Refused(reason, REQUEST_FAILED)
    changes: dict[str, list[t.TextEdit]] = {}
    for uri, range_ in [*declarations(server, target), *uses(server, target)]:
        changes.setdefault(uri, []).append(t.TextEdit(range_, params.new_name))
    return t.WorkspaceEdit(changes=changes)
