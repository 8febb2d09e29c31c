"""The server object: one client's documents, settings and background work."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.abilities import Abilities, abilities_of, encoding_of
from ferrodiff.server.lsp.capabilities import offered
from ferrodiff.server.lsp.convert import path_of, same_uri, uri_of
from ferrodiff.server.lsp.diagnostics import Pusher
from ferrodiff.server.lsp.documents import Documents
from ferrodiff.server.lsp.features import FEATURES, PULL, preload, register
from ferrodiff.server.lsp.index import WorkspaceIndex
from ferrodiff.server.lsp.progress import Progress
from ferrodiff.server.lsp.protocol import JsonRpc
from ferrodiff.server.lsp.results import ResultStore
from ferrodiff.server.lsp.settings import SECTION, Settings, parse_settings
from ferrodiff.server.lsp.transport import ReaderThread
from ferrodiff.server.lsp.virtual import VirtualDocuments

if TYPE_CHECKING:
    import tempfile

    from ferrodiff.analysis.document import FileAnalysis
    from ferrodiff.server.lsp.execute import Executor
    from ferrodiff.server.lsp.index import Derivative

logger = logging.getLogger(__name__)

_PARENT_CHECK_SECONDS = 5.0
_CONFIGURATION_SECONDS = 5.0
_STEP_SECONDS = 0.015


class _Writer:
    """The client's input; writes come from the event loop's thread alone but are locked all the same."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        with self._lock:
            self._stream.write(data)
            self._stream.flush()

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.close()


class FerrodiffServer:
    """Holds the state that features share."""

    def __init__(self) -> None:
        self.protocol = JsonRpc(lambda: self.stop(1))
        self.settings = Settings()
        self.abilities = Abilities()
        self.encoding = "utf-16"
        """The position encoding agreed with the client."""
        self.cancellations: dict[int | str, asyncio.Event] = {}
        """What a client sets by cancelling a progress token."""
        self.workspace_folders: list[Path] = []
        self._executor: Executor | None = None
        self.on_text: list[Callable[[str, bool], None]] = []
        """Called with a URI and whether it was just opened, whenever a text changed."""
        self.on_close: list[Callable[[str], None]] = []
        self.on_settings: list[Callable[[], None]] = []
        self.on_results: list[Callable[[], None]] = []
        self.on_initialized: list[Callable[[], None]] = []
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopped: asyncio.Event | None = None
        self._exit_code = 0
        self._parent: int | None = None
        self._initialization_options: Any = None
        self.documents = Documents()
        self.index = WorkspaceIndex()
        self.results = ResultStore()
        self.virtual = VirtualDocuments(self)
        pusher = Pusher(self)
        self.on_text += [pusher.changed, self.virtual.text_changed]
        self.on_close.append(pusher.closed)
        self.on_settings.append(pusher.everything)
        self.on_results.append(pusher.everything)

    # -- features ------------------------------------------------------------------------------------

    def register_all(self) -> None:
        """Registers everything but what depends on the client."""
        handle = self.protocol.handle
        handle(t.INITIALIZE, self.initialize)
        handle(t.INITIALIZED, lambda params: self.spawn(self.initialized()))
        handle(t.SHUTDOWN, lambda params: self.shut_down())
        handle(t.EXIT, lambda params: self.stop(0 if self.protocol.shut_down else 1))
        handle(t.TEXT_DOCUMENT_DID_OPEN, self.did_open)
        handle(t.TEXT_DOCUMENT_DID_CHANGE, self.did_change)
        handle(t.TEXT_DOCUMENT_DID_CLOSE, self.did_close)
        handle(t.WORKSPACE_EXECUTE_COMMAND, self.execute)
        register(self, FEATURES)

    async def execute(self, params: t.ExecuteCommandParams) -> Any:
        """`workspace/executeCommand`."""
        if self._executor is None:
            from ferrodiff.server.lsp.execute import Executor

            self._executor = Executor(self)
        return await self._executor.execute(params)

    def ask(self, method: str, params: Any = None) -> None:
        """Asks the client for something whose answer does not matter."""
        self.protocol.ask(method, params).add_done_callback(_unheeded)

    def show_message(self, kind: t.MessageType, text: str) -> None:
        self.protocol.notify(t.WINDOW_SHOW_MESSAGE, t.ShowMessageParams(kind, text))

    # -- documents -----------------------------------------------------------------------------------

    def did_open(self, params: t.DidOpenTextDocumentParams) -> None:
        if self.documents.open(params.text_document) is not None:
            self._text_changed(params.text_document.uri, True)

    def did_change(self, params: t.DidChangeTextDocumentParams) -> None:
        if self.documents.change(params.text_document, params.content_changes, self.encoding) is not None:
            self._text_changed(params.text_document.uri, False)

    def did_close(self, params: t.DidCloseTextDocumentParams) -> None:
        if self.documents.close(params.text_document.uri) is not None:
            self.call(self.on_close, params.text_document.uri)

    def _text_changed(self, uri: str, opened: bool) -> None:
        self.call(self.on_text, uri, opened)

    def call(self, listeners: list[Callable[..., None]], *arguments: Any) -> None:
        for listener in listeners:
            try:
                listener(*arguments)
            except Exception:
                logger.exception("a listener failed")

    def analyses(self) -> list[tuple[str, int | None, FileAnalysis]]:
        """URI, version and analysis of every file with annotations; open files as the editor has them."""
        opened = [(document.uri, document.version, document.analysis) for document in self.documents]
        known = {same_uri(uri) for uri, _, _ in opened}
        closed = [(uri, None, analysis) for uri, analysis in self.index.files() if same_uri(uri) not in known]
        return [*opened, *closed]

    def derivatives(self) -> list[Derivative]:
        """Every derivative of the workspace."""
        return self.index.derivatives((document.uri, document.analysis) for document in self.documents)

    def derivatives_named(self, name: str, uri: str | None = None) -> list[Derivative]:
        """The derivatives called `name`; those of file `uri` alone if it has any."""
        from ferrodiff.analysis.local import derivatives_called
        from ferrodiff.server.lsp.index import Derivative

        found: list[Derivative] = []
        for known, _, analysis in self.analyses():
            here = [Derivative(known, analysis.source, *pair) for pair in derivatives_called(analysis, name)]
            if here and uri is not None and same_uri(known) == same_uri(uri):
                return here
            found += here
        return found

    def derivative_names(self) -> frozenset[str]:
        """The names of every derivative of the workspace."""
        from ferrodiff.analysis.local import derivative_names

        return frozenset().union(*(derivative_names(analysis) for _, _, analysis in self.analyses()))

    async def build_index(self, folders: list[Path] | None = None) -> None:
        """Reads the workspace's Rust files, in steps so that requests are answered in between."""
        from ferrodiff.server.lsp.index import rust_files

        chosen = self.index.folders if folders is None else folders
        if not self.settings.index_enable or not chosen:
            self.index.complete = True
            return
        self.status("ok", "indexing", quiescent=False)
        async with Progress(self, "Ferrodiff: indexing annotations") as progress:
            files = await asyncio.to_thread(rust_files, chosen, self.settings.index_files)
            paused = time.monotonic()
            for number, path in enumerate(files):
                if progress.cancelled.is_set():
                    break
                self.index.read(path)
                if time.monotonic() - paused > _STEP_SECONDS:
                    progress.report(f"{number + 1}/{len(files)}", (number + 1) * 100 // len(files))
                    await asyncio.sleep(0)
                    paused = time.monotonic()
            progress.finish(f"{len(self.index)} files with annotations")
        self.index.complete = True
        self.status("ok")
        self.refresh()

    # -- settings and life ---------------------------------------------------------------------------

    def initialize(self, params: t.InitializeParams) -> dict[str, Any]:
        """Takes what `initialize` says, and says what is offered."""
        self.protocol.initialized = True
        self.abilities = abilities_of(params.capabilities)
        self.encoding = encoding_of(params.capabilities)
        if self.abilities.pull:
            register(self, PULL)
        self._initialization_options = params.initialization_options
        self.workspace_folders = [path for uri in _folder_uris(params) if (path := path_of(uri)) is not None]
        self.index.folders = list(self.workspace_folders)
        pid = params.process_id
        # A client in another process namespace names a process that does not exist here.
        if pid is not None and pid > 0 and os.name == "posix" and _alive(pid):
            self._parent = pid
        self._take_settings(params.initialization_options, report=False)
        return {
            "capabilities": offered(params.capabilities),
            "serverInfo": {"name": "ferrodiff", "version": _version()},
        }

    def shut_down(self) -> None:
        """`shutdown`: what runs is stopped, and only `exit` is heard from now on."""
        self.protocol.shut_down = True
        self.cancel_work()

    async def initialized(self) -> None:
        """What needs the client to listen: reports, registrations, the settings it holds, the index."""
        self._take_settings(self._initialization_options, report=True)
        await self._register()
        await self.fetch_settings()
        self.call(self.on_initialized)
        self._watch_parent()
        self.status("ok")
        self.spawn(preload())
        await self.build_index()

    async def fetch_settings(self) -> None:
        """Asks the client for its settings, if it can be asked."""
        if not self.abilities.configuration:
            return
        item = t.ConfigurationItem(section=SECTION)
        try:
            request = self.protocol.ask(t.WORKSPACE_CONFIGURATION, t.ConfigurationParams(items=[item]))
            answer = await asyncio.wait_for(request, _CONFIGURATION_SECONDS)
        except Exception as error:
            logger.warning("the client did not give its settings: %s", str(error) or "no answer")
            return
        if isinstance(answer, list) and answer and answer[0] is not None:
            self._take_settings(answer[0], report=True)

    def settings_changed(self, raw: Any) -> None:
        """`workspace/didChangeConfiguration`: pull if possible, else take what was sent."""
        if self.abilities.configuration:
            self.spawn(self.fetch_settings())
        elif raw is not None:
            self._take_settings(raw, report=True)

    def _take_settings(self, raw: Any, report: bool) -> None:
        before = self.settings
        self.settings, problems = parse_settings(raw)
        if report:
            for message in [problem.message for problem in problems] + self._unknown_codes():
                self.show_message(t.MessageType.Warning, f"Ferrodiff: {message}")
        if self.settings != before:
            self.call(self.on_settings)

    def _unknown_codes(self) -> list[str]:
        from ferrodiff.server.lsp.diagnostics import unknown_codes

        found = unknown_codes(self.settings)
        return [f"`ferrodiff.diagnostics.severity`: there is no diagnostic `{code}`" for code in found]

    async def _register(self) -> None:
        wanted: list[t.Registration] = []
        if self.abilities.watching:
            watchers = [t.FileSystemWatcher(glob_pattern=glob) for glob in ("**/*.rs", "**/Cargo.toml")]
            options = t.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
            wanted.append(t.Registration("ferrodiff-files", t.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
        if self.abilities.configuration_registration:
            registration = t.DidChangeConfigurationRegistrationOptions(section=SECTION)
            wanted.append(
                t.Registration("ferrodiff-settings", t.WORKSPACE_DID_CHANGE_CONFIGURATION, registration)
            )
        if not wanted:
            return
        try:
            request = self.protocol.ask(t.CLIENT_REGISTER_CAPABILITY, t.RegistrationParams(wanted))
            await asyncio.wait_for(request, _CONFIGURATION_SECONDS)
        except Exception as error:
            logger.warning("the client refused a registration: %s", str(error) or "no answer")

    def status(self, health: str, message: str | None = None, quiescent: bool = True) -> None:
        """rust-analyzer's status notification, to clients that ask for it."""
        if self.abilities.status:
            params = {"health": health, "quiescent": quiescent, "message": message}
            self.protocol.notify("experimental/serverStatus", params)

    @property
    def reads_virtual(self) -> bool:
        """Whether the client shows `ferrodiff:` documents."""
        return self.abilities.content

    def scratch(self, name: str, text: str) -> Path:
        """A file for a client that shows nothing but files; it lives as long as the server."""
        if self._scratch is None:
            import tempfile

            self._scratch = tempfile.TemporaryDirectory(prefix="ferrodiff-")
        path = Path(self._scratch.name) / re.sub(r"[^\w.-]", "_", name)
        path.write_text(text, "utf-8", "replace")
        return path

    def refresh(self) -> None:
        """Asks the client to ask again for what depends on results or settings."""
        if self.abilities.refresh_diagnostics and self.abilities.pull:
            self.ask(t.WORKSPACE_DIAGNOSTIC_REFRESH)
        if self.abilities.refresh_hints:
            self.ask(t.WORKSPACE_INLAY_HINT_REFRESH)
        if self.abilities.refresh_lenses:
            self.ask(t.WORKSPACE_CODE_LENS_REFRESH)

    # -- background work -----------------------------------------------------------------------------

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs a coroutine in the background; a failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("background work failed", exc_info=error)

    def cancel_work(self) -> None:
        """Cancels everything in the background; runs kill their process groups when cancelled."""
        self.protocol.cancel_all()
        for task in list(self._tasks):
            task.cancel()

    def _watch_parent(self) -> None:
        """Ends the server when the editor that started it died without closing the pipe."""
        if self._parent is not None:
            self.spawn(self._parent_loop(self._parent))

    async def _parent_loop(self, pid: int) -> None:
        while _alive(pid):
            await asyncio.sleep(_PARENT_CHECK_SECONDS)
        logger.warning("the client's process is gone")
        self.stop(1)

    # -- the conversation ----------------------------------------------------------------------------

    def stop(self, code: int) -> None:
        """Ends the conversation."""
        self._exit_code = code
        if self._stopped is not None:
            self._stopped.set()

    def _stream_ended(self) -> None:
        self.stop(0 if self.protocol.shut_down else 1)

    async def converse(self, incoming: BinaryIO, outgoing: BinaryIO) -> int:
        """Serves one client until it leaves; returns the exit code the specification asks for."""
        loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self.protocol.connect(_Writer(outgoing))

        def deliver(body: bytes) -> None:
            loop.call_soon_threadsafe(self.protocol.receive, body)

        def ended() -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._stream_ended)

        ReaderThread(incoming, deliver, ended).start()
        await self._stopped.wait()
        self.cancel_work()
        if working := self._tasks | self.protocol.running:
            await asyncio.wait(working, timeout=2.0)
        return self._exit_code


def _version() -> str:
    """The installed version, without loading `importlib.metadata` where its folder is in plain sight."""
    for folder in sys.path:
        if folder.endswith("site-packages"):
            for name in _entries(folder):
                if name.startswith("ferrodiff-") and name.endswith(".dist-info"):
                    return name.removeprefix("ferrodiff-").removesuffix(".dist-info")
    from ferrodiff.server.version import version

    return version()


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _unheeded(answer: asyncio.Future[Any]) -> None:
    """Takes note of an answer that nobody waits for, lest the loop complain."""
    if not answer.cancelled() and (error := answer.exception()) is not None:
        logger.debug("the client refused: %s", error)


def _folder_uris(params: t.InitializeParams) -> list[str]:
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    if params.root_uri:
        return [params.root_uri]
    return [uri_of(params.root_path)] if params.root_path else []
