"""The list of features: which function answers which method.

Modules are imported by the first request that needs them. What is offered to clients is in `capabilities`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.names import CONTENT

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

PACKAGE = "ferrodiff.server.lsp"
_QUIET_SECONDS = 0.4


class Feature(NamedTuple):
    """A method, the function ``module:name`` that answers it, and the answer when that fails."""

    method: str
    target: str
    empty: Any = None


FEATURES = (
    Feature(t.WORKSPACE_DID_CHANGE_CONFIGURATION, "lifecycle:settings"),
    Feature(t.WORKSPACE_DID_CHANGE_WATCHED_FILES, "lifecycle:watched"),
    Feature(t.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, "lifecycle:folders"),
    Feature(t.WORKSPACE_DID_RENAME_FILES, "lifecycle:renamed"),
    Feature(t.WORKSPACE_DID_CREATE_FILES, "lifecycle:created"),
    Feature(t.WORKSPACE_DID_DELETE_FILES, "lifecycle:deleted"),
    Feature(t.TEXT_DOCUMENT_DID_SAVE, "lifecycle:nothing"),
    Feature(t.TEXT_DOCUMENT_HOVER, "hover:hover"),
    Feature(t.TEXT_DOCUMENT_CODE_ACTION, "actions:actions"),
    Feature(t.TEXT_DOCUMENT_COMPLETION, "completion:complete"),
    Feature(t.TEXT_DOCUMENT_SIGNATURE_HELP, "signature_help:signature_help"),
    Feature(t.TEXT_DOCUMENT_INLAY_HINT, "hints:hints", []),
    Feature(t.TEXT_DOCUMENT_CODE_LENS, "lenses:lenses", []),
    Feature(t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, "tokens:full", {"data": []}),
    Feature(t.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, "tokens:ranged", {"data": []}),
    Feature(t.TEXT_DOCUMENT_DEFINITION, "navigation:definition"),
    Feature(t.TEXT_DOCUMENT_REFERENCES, "navigation:references"),
    Feature(t.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, "navigation:highlight"),
    Feature(t.TEXT_DOCUMENT_PREPARE_RENAME, "rename:prepare"),
    Feature(t.TEXT_DOCUMENT_RENAME, "rename:rename"),
    Feature(t.TEXT_DOCUMENT_DOCUMENT_SYMBOL, "symbols:document"),
    Feature(t.WORKSPACE_SYMBOL, "symbols:workspace"),
    Feature(t.TEXT_DOCUMENT_FOLDING_RANGE, "structure:folding"),
    Feature(t.TEXT_DOCUMENT_SELECTION_RANGE, "structure:selection"),
    Feature(t.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, "hierarchy:prepare"),
    Feature(t.CALL_HIERARCHY_INCOMING_CALLS, "hierarchy:incoming", []),
    Feature(t.CALL_HIERARCHY_OUTGOING_CALLS, "hierarchy:outgoing", []),
    Feature(t.WORKSPACE_TEXT_DOCUMENT_CONTENT, "virtual:standard"),
    Feature(t.WINDOW_WORK_DONE_PROGRESS_CANCEL, "progress:cancel"),
    Feature(CONTENT, "virtual:custom"),
)
PULL = (
    Feature(t.TEXT_DOCUMENT_DIAGNOSTIC, "diagnostics:pull", {"kind": "full", "items": []}),
    Feature(t.WORKSPACE_DIAGNOSTIC, "diagnostics:pull_workspace", {"items": []}),
)
"""For clients that pull: one that pulls and is also pushed to would show everything twice."""


def register(server: FerrodiffServer, features: tuple[Feature, ...]) -> None:
    """Makes the server answer these methods."""
    for feature in features:
        module, _, name = feature.target.partition(":")
        server.protocol.handle(feature.method, partial(_answer, server, module, name), feature.empty)


def _answer(server: FerrodiffServer, module: str, name: str, params: Any) -> Any:
    return _function(module, name)(server, params)


def _function(module: str, name: str) -> Callable[[Any, Any], Any]:
    found: Callable[[Any, Any], Any] = getattr(import_module(f"{PACKAGE}.{module}"), name)
    return found


async def preload() -> None:
    """Imports what the first requests will need, once the client has opened its first files.

    With pauses in which requests are answered.
    """
    await asyncio.sleep(_QUIET_SECONDS)
    for module in dict.fromkeys(feature.target.partition(":")[0] for feature in (*FEATURES, *PULL)):
        await asyncio.sleep(0)
        import_module(f"{PACKAGE}.{module}")
    await asyncio.sleep(0)
    import_module("ferrodiff.analysis.annotation_grammar").prepare()
