"""The answer to `initialize`: what this server offers to this client."""

from __future__ import annotations

from typing import Any

from ferrodiff.server.lsp.abilities import capability, encoding_of
from ferrodiff.server.lsp.names import (
    COMMANDS,
    CONTENT,
    FIX_ALL,
    SCHEME,
    SOURCE,
    TOKEN_MODIFIERS,
    TOKEN_TYPES,
)

Json = dict[str, Any]

_INCREMENTAL = 2
_RUST_FILES = {"filters": [{"pattern": {"glob": "**/*.rs"}, "scheme": "file"}]}

_FIXED: Json = {
    "textDocumentSync": {
        "openClose": True,
        "change": _INCREMENTAL,
        "willSave": False,
        "willSaveWaitUntil": False,
        "save": {"includeText": False},
    },
    "hoverProvider": True,
    "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor", "refactor.rewrite", FIX_ALL]},
    "completionProvider": {"triggerCharacters": ["(", ",", " ", "#", "[", "_"]},
    "signatureHelpProvider": {"triggerCharacters": ["(", ","], "retriggerCharacters": [")"]},
    "inlayHintProvider": {"resolveProvider": False},
    "codeLensProvider": {"resolveProvider": False},
    "semanticTokensProvider": {
        "legend": {"tokenTypes": list(TOKEN_TYPES), "tokenModifiers": list(TOKEN_MODIFIERS)},
        "full": True,
        "range": True,
    },
    "definitionProvider": True,
    "referencesProvider": True,
    "documentHighlightProvider": True,
    "documentSymbolProvider": True,
    "workspaceSymbolProvider": {"resolveProvider": False},
    "foldingRangeProvider": True,
    "selectionRangeProvider": True,
    "callHierarchyProvider": True,
    "executeCommandProvider": {"commands": list(COMMANDS)},
    "experimental": {"ferrodiff": {"requests": [CONTENT]}},
}
_DIAGNOSTICS: Json = {
    "identifier": SOURCE,
    "interFileDependencies": False,
    "workspaceDiagnostics": True,
    "workDoneProgress": False,
}


def offered(client: Any) -> Json:
    """The server's capabilities for a client with the capabilities `client`, both as JSON.

    What the specification allows only to clients that say they can take it is left out for the others.
    """
    result = dict(_FIXED)
    result["positionEncoding"] = encoding_of(client)
    prepares = capability(client, "textDocument.rename.prepareSupport") is True
    result["renameProvider"] = {"prepareProvider": True} if prepares else True
    if capability(client, "textDocument.diagnostic") is not None:
        result["diagnosticProvider"] = _DIAGNOSTICS
    result["workspace"] = {
        "workspaceFolders": {"supported": True, "changeNotifications": True},
        "fileOperations": {
            name: _RUST_FILES
            for name in ("didCreate", "didRename", "didDelete")
            if capability(client, f"workspace.fileOperations.{name}") is True
        },
        "textDocumentContent": {"schemes": [SCHEME]},
    }
    return result
