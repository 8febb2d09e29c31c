"""Clients for the language server's tests.

`lsp` speaks to a server over stdio through pytest-lsp, once per position encoding; the two servers live for
the whole run, every test has files of its own. `raw` starts a server and speaks bare JSON-RPC.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types as t
from pytest_lsp import ClientServerConfig, LanguageClient

COMMAND = [sys.executable, "-m", "ferrodiff.server", "lsp"]
PATIENCE = 240.0
CURSOR = "$0"
_numbers = itertools.count(1)


def capabilities(encoding: str, *, pull: bool = True) -> t.ClientCapabilities:
    """What a current editor announces."""
    actions = t.ClientCodeActionLiteralOptions(t.ClientCodeActionKindOptions(value_set=[]))
    return t.ClientCapabilities(
        general=t.GeneralClientCapabilities(position_encodings=[encoding]),
        window=t.WindowClientCapabilities(
            work_done_progress=True, show_document=t.ShowDocumentClientCapabilities(support=True)
        ),
        workspace=t.WorkspaceClientCapabilities(
            configuration=True,
            apply_edit=True,
            did_change_watched_files=t.DidChangeWatchedFilesClientCapabilities(dynamic_registration=False),
        ),
        text_document=t.TextDocumentClientCapabilities(
            diagnostic=t.DiagnosticClientCapabilities(related_document_support=False) if pull else None,
            publish_diagnostics=t.PublishDiagnosticsClientCapabilities(related_information=True),
            hover=t.HoverClientCapabilities(content_format=[t.MarkupKind.Markdown]),
            completion=t.CompletionClientCapabilities(
                completion_item=t.ClientCompletionItemOptions(
                    snippet_support=True, documentation_format=[t.MarkupKind.Markdown]
                )
            ),
            signature_help=t.SignatureHelpClientCapabilities(
                signature_information=t.ClientSignatureInformationOptions(
                    documentation_format=[t.MarkupKind.Markdown]
                )
            ),
            code_action=t.CodeActionClientCapabilities(code_action_literal_support=actions),
            document_symbol=t.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
            rename=t.RenameClientCapabilities(prepare_support=True),
        ),
    )


class Editor:
    """One client with shorthand for what tests do."""

    def __init__(self, client: LanguageClient, encoding: str, root: Path) -> None:
        self.client = client
        self.encoding = encoding
        self.root = root
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}

    def new_uri(self, name: str = "file") -> str:
        return (self.root / f"{name}{next(_numbers)}.rs").as_uri()

    def open(self, text: str, uri: str | None = None, language: str = "rust") -> tuple[str, t.Position]:
        """Opens a text; returns its URI and the position of the ``$0`` in it, which is taken out."""
        where = text.find(CURSOR)
        clean = text.replace(CURSOR, "", 1)
        uri = uri or self.new_uri()
        self.versions[uri], self.texts[uri] = 1, clean
        self.client.text_document_did_open(
            t.DidOpenTextDocumentParams(t.TextDocumentItem(uri, language, 1, clean))
        )
        return uri, self.position(clean, max(where, 0))

    def position(self, text: str, index: int) -> t.Position:
        """The position of a character index in the agreed encoding."""
        before = text[:index]
        line = before.count("\n")
        return t.Position(line, self.units(before.rpartition("\n")[2]))

    def units(self, text: str) -> int:
        if self.encoding == "utf-8":
            return len(text.encode())
        return len(text.encode("utf-16-le")) // 2 if self.encoding == "utf-16" else len(text)

    def at(self, uri: str, needle: str, inside: int = 0, nth: int = 0) -> t.Position:
        """The position of the `nth` occurrence of a string."""
        index = -1
        for _ in range(nth + 1):
            index = self.texts[uri].index(needle, index + 1)
        return self.position(self.texts[uri], index + inside)

    def range(self, uri: str, needle: str, nth: int = 0) -> t.Range:
        start = self.at(uri, needle, 0, nth)
        return t.Range(start, self.at(uri, needle, len(needle), nth))

    def change(self, uri: str, old: str, new: str, nth: int = 0) -> None:
        """Replaces one occurrence by an incremental edit."""
        range_ = self.range(uri, old, nth)
        index = -1
        for _ in range(nth + 1):
            index = self.texts[uri].index(old, index + 1)
        text = self.texts[uri]
        self.texts[uri] = text[:index] + new + text[index + len(old) :]
        self.versions[uri] += 1
        self.client.text_document_did_change(
            t.DidChangeTextDocumentParams(
                t.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [t.TextDocumentContentChangePartial(range_, new)],
            )
        )

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(t.DidCloseTextDocumentParams(t.TextDocumentIdentifier(uri)))

    async def diagnostics(self, uri: str) -> list[t.Diagnostic]:
        report = await self.client.text_document_diagnostic_async(
            t.DocumentDiagnosticParams(t.TextDocumentIdentifier(uri))
        )
        assert isinstance(report, t.RelatedFullDocumentDiagnosticReport)
        return list(report.items)

    def text_in(self, uri: str, range_: t.Range) -> str:
        """The text of a range, for single lines."""
        line = self.texts[uri].split("\n")[range_.start.line]
        return self._cut(line, range_.start.character, range_.end.character)

    def _cut(self, line: str, start: int, end: int) -> str:
        for codec, width in (("utf-8", 1), ("utf-16-le", 2)):
            if codec.startswith(self.encoding):
                data = line.encode(codec)
                return data[start * width : end * width].decode(codec)
        return line[start:end]

    def applied(self, uri: str, edits: list[t.TextEdit]) -> str:
        """The text after edits, which must not overlap."""
        text = self.texts[uri]
        lines = text.split("\n")
        starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))

        def index(position: t.Position) -> int:
            return starts[position.line] + len(self._cut(lines[position.line], 0, position.character))

        ordered = sorted(edits, key=lambda e: (index(e.range.start), index(e.range.end)), reverse=True)
        for edit in ordered:
            text = text[: index(edit.range.start)] + edit.new_text + text[index(edit.range.end) :]
        return text


@pytest_lsp.fixture(  # type: ignore[untyped-decorator]
    scope="session", params=["utf-8", "utf-16"], config=ClientServerConfig(server_command=COMMAND)
)
async def session(
    request: pytest.FixtureRequest,
    session_client: LanguageClient,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[None]:
    root = tmp_path_factory.mktemp("workspace")
    result = await session_client.initialize_session(
        t.InitializeParams(
            capabilities=capabilities(request.param),
            workspace_folders=[t.WorkspaceFolder(root.as_uri(), "workspace")],
        )
    )
    session_client.ferrodiff = (result, request.param, root)  # type: ignore[attr-defined]
    yield
    await session_client.shutdown_session()


@pytest.fixture
def lsp(session: LanguageClient) -> Editor:
    _, encoding, root = session.ferrodiff  # type: ignore[attr-defined]
    return Editor(session, encoding, root)


class Raw:
    """A server process and its bare wire."""

    def __init__(self, arguments: tuple[str, ...] = (), environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self.received: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.notifications: list[dict[str, Any]] = []
        self.stderr: list[bytes] = []
        self._ids = itertools.count(1)
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            self.received.put(json.loads(stream.read(length)))
        self.received.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.stderr.extend(self.process.stderr)

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any = None) -> int:
        identifier = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})
        return identifier

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """Sends a request and waits for its answer; what arrives before is kept or, if asked, answered."""
        return self.answer(self.ask(method, params))

    def answer(self, identifier: Any) -> dict[str, Any]:
        return self.wait(lambda m: m.get("id") == identifier and "method" not in m)

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self.received.get(timeout=max(0.1, deadline - time.monotonic()))
            if message is None:
                raise AssertionError(f"the server ended: {b''.join(self.stderr).decode()[-3000:]}")
            if "method" in message and "id" in message:
                result = [None] if message["method"] == "workspace/configuration" else None
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif "method" in message:
                self.notifications.append(message)
            if wanted(message):
                return message

    def notification(self, method: str) -> dict[str, Any]:
        for number, message in enumerate(self.notifications):
            if message["method"] == method:
                return self.notifications.pop(number)
        message = self.wait(lambda m: m.get("method") == method)
        self.notifications = [m for m in self.notifications if m is not message]
        return message

    def initialize(self, **params: Any) -> dict[str, Any]:
        answer = self.request(
            "initialize", {"processId": None, "rootUri": None, "capabilities": {}, **params}
        )
        self.notify("initialized", {})
        return answer

    def open(self, uri: str, text: str, language: str = "rust", version: int = 1) -> None:
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def finish(self) -> int:
        """Shuts the server down properly; returns its exit code."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@pytest.fixture
def start_raw() -> Iterator[Callable[..., Raw]]:
    started: list[Raw] = []

    def start(*arguments: str, environment: dict[str, str] | None = None) -> Raw:
        started.append(Raw(arguments, environment))
        return started[-1]

    yield start
    for server in started:
        server.kill()
    for server in started:
        log = b"".join(server.stderr).decode("utf-8", "replace")
        assert "Traceback" not in log, log[-4000:]


@pytest.fixture
def raw(start_raw: Callable[..., Raw]) -> Raw:
    """A server that has been initialised by a client that can do nothing optional."""
    server = start_raw()
    server.initialize()
    return server
