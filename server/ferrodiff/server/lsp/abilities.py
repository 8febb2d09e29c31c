"""What this client can do, read once from its `initialize` request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Abilities:
    """Capabilities that features ask about; the default is a client that can do nothing optional."""

    pull: bool = False
    configuration: bool = False
    configuration_registration: bool = False
    watching: bool = False
    progress: bool = False
    snippets: bool = False
    markdown: bool = False
    """Of hovers."""
    completion_markdown: bool = False
    signature_markdown: bool = False
    apply_edit: bool = False
    show_document: bool = False
    action_literals: bool = False
    refresh_diagnostics: bool = False
    refresh_hints: bool = False
    refresh_lenses: bool = False
    standard_content: bool = False
    """Whether it reads virtual documents by `workspace/textDocumentContent`."""
    content: bool = False
    """Whether it reads them, by that or by `ferrodiff/content`."""
    related: bool = False
    links: bool = False
    nested_symbols: bool = False
    commands: frozenset[str] = frozenset()
    """Client-side commands the client says it has (rust-analyzer's convention)."""
    status: bool = False
    """Whether it wants `experimental/serverStatus`."""


ENCODINGS = ("utf-8", "utf-16", "utf-32")


def capability(capabilities: Any, path: str) -> Any:
    """What ``textDocument.rename.prepareSupport`` leads to, or None where the path breaks off.

    Shapes are not checked: a client that says something odd about one feature still has the others.
    """
    for name in path.split("."):
        if not isinstance(capabilities, Mapping):
            return None
        capabilities = capabilities.get(name)
    return capabilities


def encoding_of(capabilities: Any) -> str:
    """The first position encoding of the client's that is known here."""
    offered = capability(capabilities, "general.positionEncodings")
    known = [name for name in offered if name in ENCODINGS] if isinstance(offered, list) else []
    return str(known[0]) if known else "utf-16"


_FLAGS = {
    "configuration": "workspace.configuration",
    "configuration_registration": "workspace.didChangeConfiguration.dynamicRegistration",
    "watching": "workspace.didChangeWatchedFiles.dynamicRegistration",
    "progress": "window.workDoneProgress",
    "snippets": "textDocument.completion.completionItem.snippetSupport",
    "apply_edit": "workspace.applyEdit",
    "show_document": "window.showDocument.support",
    "refresh_diagnostics": "workspace.diagnostics.refreshSupport",
    "refresh_hints": "workspace.inlayHint.refreshSupport",
    "refresh_lenses": "workspace.codeLens.refreshSupport",
    "related": "textDocument.publishDiagnostics.relatedInformation",
    "links": "textDocument.publishDiagnostics.codeDescriptionSupport",
    "nested_symbols": "textDocument.documentSymbol.hierarchicalDocumentSymbolSupport",
    "status": "experimental.serverStatusNotification",
}
_PRESENT = {
    "pull": "textDocument.diagnostic",
    "standard_content": "workspace.textDocumentContent",
    "action_literals": "textDocument.codeAction.codeActionLiteralSupport",
}
_FORMATS = {
    "markdown": "textDocument.hover.contentFormat",
    "completion_markdown": "textDocument.completion.completionItem.documentationFormat",
    "signature_markdown": "textDocument.signatureHelp.signatureInformation.documentationFormat",
}


def abilities_of(capabilities: Any) -> Abilities:
    """Reads the client's capabilities, as JSON."""
    flags = {name: capability(capabilities, path) is True for name, path in _FLAGS.items()}
    present = {name: capability(capabilities, path) is not None for name, path in _PRESENT.items()}
    formats = {name: "markdown" in _list(capability(capabilities, path)) for name, path in _FORMATS.items()}
    custom = capability(capabilities, "experimental.ferrodiffContent") is True
    commands = _list(capability(capabilities, "experimental.commands.commands"))
    return Abilities(
        **flags,
        **present,
        **formats,
        content=present["standard_content"] or custom,
        commands=frozenset(name for name in commands if isinstance(name, str)),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
