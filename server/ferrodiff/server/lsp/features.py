"""The list of features: which function answers which method.

Modules are imported by the first request that needs them, so that `initialize` is answered before the Rust
grammar is loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lsprotocol import types as t

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

PACKAGE = "ferrodiff.server.lsp"
SOURCE = "ferrodiff"
FIX_ALL = "source.fixAll.ferrodiff"
CONTENT = "ferrodiff/content"

RUN = "ferrodiff.run"
CHECK = "ferrodiff.checkGradient"
SHOW_IR = "ferrodiff.showIr"
SHOW_ASM = "ferrodiff.showAsm"
SHOW_TAPE = "ferrodiff.showTape"
SHOW_EXPANSION = "ferrodiff.showExpansion"
SHOW_SOURCE = "ferrodiff.showRewritten"
SERVER_INFO = "ferrodiff.serverInfo"
COMMANDS = (RUN, CHECK, SHOW_IR, SHOW_ASM, SHOW_TAPE, SHOW_EXPANSION, SHOW_SOURCE, SERVER_INFO)

TOKEN_TYPES = ("macro", "function", "number", "enumMember")
TOKEN_MODIFIERS = ("declaration",)
_LEGEND = t.SemanticTokensLegend(token_types=list(TOKEN_TYPES), token_modifiers=list(TOKEN_MODIFIERS))
_KINDS = [t.CodeActionKind.QuickFix, t.CodeActionKind.Refactor, t.CodeActionKind.RefactorRewrite, FIX_ALL]
_RUST_FILES = t.FileOperationRegistrationOptions(
    filters=[t.FileOperationFilter(pattern=t.FileOperationPattern(glob="**/*.rs"), scheme="file")]
)


@dataclass(frozen=True)
class Feature:
    """A method, the function ``module:name`` that answers it, its options, and the answer when it fails."""

    method: str
    target: str
    options: Any = None
    empty: Any = None


FEATURES = (
    Feature(t.WORKSPACE_DID_CHANGE_CONFIGURATION, "lifecycle:settings"),
    Feature(t.WORKSPACE_DID_CHANGE_WATCHED_FILES, "lifecycle:watched"),
    Feature(t.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, "lifecycle:folders"),
    Feature(t.WORKSPACE_DID_RENAME_FILES, "lifecycle:renamed", _RUST_FILES),
    Feature(t.WORKSPACE_DID_CREATE_FILES, "lifecycle:created", _RUST_FILES),
    Feature(t.WORKSPACE_DID_DELETE_FILES, "lifecycle:deleted", _RUST_FILES),
    # Registered so that clients are told to report opening, closing and saving.
    Feature(t.TEXT_DOCUMENT_DID_OPEN, "lifecycle:nothing"),
    Feature(t.TEXT_DOCUMENT_DID_CLOSE, "lifecycle:nothing"),
    Feature(t.TEXT_DOCUMENT_DID_SAVE, "lifecycle:nothing", t.SaveOptions(include_text=False)),
    Feature(t.TEXT_DOCUMENT_HOVER, "hover:hover"),
    Feature(t.TEXT_DOCUMENT_CODE_ACTION, "actions:actions", t.CodeActionOptions(code_action_kinds=_KINDS)),
    Feature(
        t.TEXT_DOCUMENT_COMPLETION,
        "completion:complete",
        t.CompletionOptions(trigger_characters=["(", ",", " ", "#", "[", "_"]),
    ),
    Feature(
        t.TEXT_DOCUMENT_SIGNATURE_HELP,
        "signature_help:signature_help",
        t.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=[")"]),
    ),
    Feature(t.TEXT_DOCUMENT_INLAY_HINT, "hints:hints", t.InlayHintOptions(resolve_provider=False), []),
    Feature(t.TEXT_DOCUMENT_CODE_LENS, "lenses:lenses", t.CodeLensOptions(resolve_provider=False), []),
    Feature(t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, "tokens:full", _LEGEND, t.SemanticTokens(data=[])),
    Feature(t.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, "tokens:ranged", _LEGEND, t.SemanticTokens(data=[])),
    Feature(t.TEXT_DOCUMENT_DEFINITION, "navigation:definition"),
    Feature(t.TEXT_DOCUMENT_REFERENCES, "navigation:references"),
    Feature(t.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, "navigation:highlight"),
    Feature(t.TEXT_DOCUMENT_PREPARE_RENAME, "rename:prepare"),
    Feature(t.TEXT_DOCUMENT_RENAME, "rename:rename", t.RenameOptions(prepare_provider=True)),
    Feature(t.TEXT_DOCUMENT_DOCUMENT_SYMBOL, "symbols:document"),
    Feature(t.WORKSPACE_SYMBOL, "symbols:workspace"),
    Feature(t.TEXT_DOCUMENT_FOLDING_RANGE, "structure:folding"),
    Feature(t.TEXT_DOCUMENT_SELECTION_RANGE, "structure:selection"),
    Feature(t.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, "hierarchy:prepare"),
    Feature(t.CALL_HIERARCHY_INCOMING_CALLS, "hierarchy:incoming", None, []),
    Feature(t.CALL_HIERARCHY_OUTGOING_CALLS, "hierarchy:outgoing", None, []),
    Feature(t.WORKSPACE_TEXT_DOCUMENT_CONTENT, "virtual:standard"),
    Feature(CONTENT, "virtual:custom"),
)
_PULL_OPTIONS = t.DiagnosticOptions(
    identifier=SOURCE, inter_file_dependencies=False, workspace_diagnostics=True, work_done_progress=False
)
PULL = (
    Feature(
        t.TEXT_DOCUMENT_DIAGNOSTIC,
        "diagnostics:pull",
        _PULL_OPTIONS,
        t.RelatedFullDocumentDiagnosticReport(items=[]),
    ),
    Feature(
        t.WORKSPACE_DIAGNOSTIC, "diagnostics:pull_workspace", None, t.WorkspaceDiagnosticReport(items=[])
    ),
)


def register_all(server: FerrodiffServer) -> None:
    """Registers everything but what depends on the client."""
    server.feature_of(t.INITIALIZE, _initialize)
    server.feature_of(t.INITIALIZED, _initialized)
    for feature in FEATURES:
        _register(server, feature)
    for command in COMMANDS:
        server.command(command)(_by_executor)


def _register(server: FerrodiffServer, feature: Feature) -> None:
    server.feature_of(feature.method, _lazily(feature.target), feature.options, feature.empty)


def _lazily(target: str) -> Callable[[Any, Any], Any]:
    module, _, name = target.partition(":")
    return partial(_answer, module, name)


def _answer(module: str, name: str, server: FerrodiffServer, params: Any) -> Any:
    server.warm()
    return getattr(import_module(f"{PACKAGE}.{module}"), name)(server, params)


async def preload() -> None:
    """Imports what the first requests will need, with pauses in which requests are answered."""
    for module in dict.fromkeys(feature.target.partition(":")[0] for feature in (*FEATURES, *PULL)):
        await asyncio.sleep(0)
        import_module(f"{PACKAGE}.{module}")


def _by_executor(*arguments: Any) -> None:
    """pygls lists the commands it has handlers for; `FerrodiffServer.execute` runs them."""


def _initialize(server: FerrodiffServer, params: t.InitializeParams) -> None:
    server.initialize(params)
    # Not before the reply is on its way, but without waiting for the client's next message.
    asyncio.get_running_loop().call_soon(server.warm)
    if server.abilities.pull:
        # A client that pulls and is also pushed to would show everything twice.
        for feature in PULL:
            _register(server, feature)


def _initialized(server: FerrodiffServer, params: t.InitializedParams) -> None:
    server.warm()
    server.spawn(server.initialized())
