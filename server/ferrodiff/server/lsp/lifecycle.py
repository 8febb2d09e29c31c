"""Initialisation, settings, watched files and workspace folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as t

from ferrodiff.server.lsp.convert import path_of

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

_RUST_FILES = t.FileOperationRegistrationOptions(
    filters=[t.FileOperationFilter(pattern=t.FileOperationPattern(glob="**/*.rs"), scheme="file")]
)


def register(server: FerrodiffServer) -> None:
    server.feature_of(t.INITIALIZE, _initialize)
    server.feature_of(t.INITIALIZED, _initialized)
    server.feature_of(t.WORKSPACE_DID_CHANGE_CONFIGURATION, _settings)
    server.feature_of(t.WORKSPACE_DID_CHANGE_WATCHED_FILES, _watched)
    server.feature_of(t.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, _folders)
    server.feature_of(t.WORKSPACE_DID_RENAME_FILES, _renamed, _RUST_FILES)
    server.feature_of(t.WORKSPACE_DID_CREATE_FILES, _created, _RUST_FILES)
    server.feature_of(t.WORKSPACE_DID_DELETE_FILES, _deleted, _RUST_FILES)
    # Announced so that clients report opening, closing and saving.
    server.feature_of(t.TEXT_DOCUMENT_DID_OPEN, _nothing)
    server.feature_of(t.TEXT_DOCUMENT_DID_CLOSE, _nothing)
    server.feature_of(t.TEXT_DOCUMENT_DID_SAVE, _nothing, t.SaveOptions(include_text=False))


def _initialize(server: FerrodiffServer, params: t.InitializeParams) -> None:
    server.initialize(params)


def _initialized(server: FerrodiffServer, params: t.InitializedParams) -> None:
    server.spawn(server.initialized())


def _settings(server: FerrodiffServer, params: t.DidChangeConfigurationParams) -> None:
    server.settings_changed(params.settings)


def _nothing(server: FerrodiffServer, params: object) -> None:
    return None


def _watched(server: FerrodiffServer, params: t.DidChangeWatchedFilesParams) -> None:
    for change in params.changes:
        _touch(server, change.uri, change.type is not t.FileChangeType.Deleted)
    server.refresh()


def _renamed(server: FerrodiffServer, params: t.RenameFilesParams) -> None:
    for file in params.files:
        _touch(server, file.old_uri, False)
        _touch(server, file.new_uri, True)


def _created(server: FerrodiffServer, params: t.CreateFilesParams) -> None:
    for file in params.files:
        _touch(server, file.uri, True)


def _deleted(server: FerrodiffServer, params: t.DeleteFilesParams) -> None:
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


def _folders(server: FerrodiffServer, params: t.DidChangeWorkspaceFoldersParams) -> None:
    removed = {path_of(folder.uri) for folder in params.event.removed}
    added: list[Path] = [path for folder in params.event.added if (path := path_of(folder.uri)) is not None]
    server.index.folders = [path for path in server.index.folders if path not in removed] + added
    for path in removed:
        if path is not None:
            server.index.forget_below(path)
    if added:
        server.spawn(server.build_index(added))
