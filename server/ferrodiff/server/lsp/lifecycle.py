"""Initialisation, settings, watched files and workspace folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import path_of

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer


def settings(server: FerrodiffServer, params: t.DidChangeConfigurationParams) -> None:
    server.settings_changed(params.settings)


def nothing(server: FerrodiffServer, params: object) -> None:
    return None


def watched(server: FerrodiffServer, params: t.DidChangeWatchedFilesParams) -> None:
    for change in params.changes:
        _touch(server, change.uri, change.type is not t.FileChangeType.Deleted)
    server.refresh()


def renamed(server: FerrodiffServer, params: t.RenameFilesParams) -> None:
    for file in params.files:
        _touch(server, file.old_uri, False)
        _touch(server, file.new_uri, True)


def created(server: FerrodiffServer, params: t.CreateFilesParams) -> None:
    for file in params.files:
        _touch(server, file.uri, True)


def deleted(server: FerrodiffServer, params: t.DeleteFilesParams) -> None:
    for file in params.files:
        _touch(server, file.uri, False)


def _touch(server: FerrodiffServer, uri: str, exists: bool) -> None:
    path = path_of(uri)
    if path is None or path.suffix != ".rs":
        return
    if exists:
        server.index.read(path)
    else:
        server.index.forget(path)


def folders(server: FerrodiffServer, params: t.DidChangeWorkspaceFoldersParams) -> None:
    removed = {path_of(folder.uri) for folder in params.event.removed}
    added: list[Path] = [path for folder in params.event.added if (path := path_of(folder.uri)) is not None]
    server.index.folders = [path for path in server.index.folders if path not in removed] + added
    for path in removed:
        if path is not None:
            server.index.forget_below(path)
    if added:
        server.spawn(server.build_index(added))
