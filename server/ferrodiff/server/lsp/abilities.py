"""What this client can do, read once from its `initialize` request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsprotocol import types as t
from pygls.capabilities import get_capability


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


def abilities_of(capabilities: t.ClientCapabilities) -> Abilities:
    def has(path: str) -> bool:
        return bool(get_capability(capabilities, path, False))

    def formats(path: str) -> bool:
        return t.MarkupKind.Markdown in (get_capability(capabilities, path, None) or ())

    experimental = _mapping(capabilities.experimental)
    return Abilities(
        pull=get_capability(capabilities, "text_document.diagnostic") is not None,
        configuration=has("workspace.configuration"),
        configuration_registration=has("workspace.did_change_configuration.dynamic_registration"),
        watching=has("workspace.did_change_watched_files.dynamic_registration"),
        progress=has("window.work_done_progress"),
        snippets=has("text_document.completion.completion_item.snippet_support"),
        markdown=formats("text_document.hover.content_format"),
        completion_markdown=formats("text_document.completion.completion_item.documentation_format"),
        signature_markdown=formats("text_document.signature_help.signature_information.documentation_format"),
        apply_edit=has("workspace.apply_edit"),
        show_document=has("window.show_document.support"),
        action_literals=has("text_document.code_action.code_action_literal_support"),
        refresh_diagnostics=has("workspace.diagnostics.refresh_support"),
        refresh_hints=has("workspace.inlay_hint.refresh_support"),
        refresh_lenses=has("workspace.code_lens.refresh_support"),
        standard_content=get_capability(capabilities, "workspace.text_document_content") is not None,
        content=get_capability(capabilities, "workspace.text_document_content") is not None
        or experimental.get("ferrodiffContent") is True,
        related=has("text_document.publish_diagnostics.related_information"),
        links=has("text_document.publish_diagnostics.code_description_support"),
        nested_symbols=has("text_document.document_symbol.hierarchical_document_symbol_support"),
        commands=frozenset(_commands(experimental)),
        status=experimental.get("serverStatusNotification") is True,
    )


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    fields = getattr(value, "_asdict", None)
    return dict(fields()) if callable(fields) else {}


def _commands(experimental: dict[str, Any]) -> list[str]:
    listed = experimental.get("commands")
    names = _mapping(listed).get("commands") if listed is not None else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, (list, tuple)) else []
