"""The base protocol: what a broken or hostile client sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

HOVER = {"textDocument": {"uri": "file:///none.rs"}, "position": {"line": 0, "character": 0}}


def test_requests_before_initialize_are_refused(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    assert server.request("textDocument/hover", HOVER)["error"]["code"] == -32002
    assert "result" in server.initialize()
    assert server.request("textDocument/hover", HOVER)["result"] is None
    assert (
        server.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["error"][
            "code"
        ]
        == -32600
    )
    assert server.finish() == 0


def test_exit_code_without_shutdown(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize()
    server.notify("exit")
    assert server.process.wait(240) == 1


def test_closed_pipe_ends_the_server(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize()
    server.process.stdin.close()
    assert server.process.wait(240) == 1


def test_requests_after_shutdown_are_refused(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize()
    assert server.request("shutdown")["result"] is None
    assert server.request("textDocument/hover", HOVER)["error"]["code"] == -32600
    server.open("file:///a.rs", "fn f() {}")
    server.notify("exit")
    assert server.process.wait(240) == 0


MALFORMED = [
    b"garbage\r\n\r\n",
    b"Content-Length: -5\r\n\r\n",
    b"Content-Length: abc\r\n\r\n",
    b"Content-Length: 99999999999999999999\r\n\r\n",
    b"\r\n\r\n\r\n",
    b"Content-Type: x\r\n\r\n",
    b"Content-Length: 5\r\n\r\n{{{{{",
    b"Content-Length: 2\r\n\r\n[]",
    b"Content-Length: 4\r\n\r\nnull",
    b"Content-Length: 2\r\n\r\n\xff\xfe",
    b"content-length:2\r\nX-Other: 1\r\n\r\n{}",
]


def test_malformed_frames_are_survived(raw: Any) -> None:
    for fragment in MALFORMED:
        raw.send_bytes(fragment)
        assert raw.request("textDocument/hover", HOVER)["result"] is None, fragment


def test_malformed_messages_are_answered(raw: Any) -> None:
    cases: list[tuple[Any, int]] = [
        ({"jsonrpc": "2.0", "id": "a", "method": "textDocument/hover", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "id": "b", "method": "textDocument/hover", "params": [1]}, -32602),
        ({"jsonrpc": "2.0", "id": "c", "method": "textDocument/hover"}, -32602),
        ({"jsonrpc": "2.0", "id": "d", "method": "no/such"}, -32601),
        ({"jsonrpc": "2.0", "id": "e", "method": 5}, -32600),
        ({"jsonrpc": "1.0", "id": "f", "method": "shutdown"}, -32600),
        (
            {
                "jsonrpc": "2.0",
                "id": "g",
                "method": "textDocument/hover",
                "params": {**HOVER, "position": {"line": -1, "character": 0}},
            },
            -32602,
        ),
        (
            {"jsonrpc": "2.0", "id": "h", "method": "workspace/executeCommand", "params": {"command": "no"}},
            -32602,
        ),
        (
            {
                "jsonrpc": "2.0",
                "id": "i",
                "method": "workspace/executeCommand",
                "params": {"command": "ferrodiff.run", "arguments": [3]},
            },
            -32602,
        ),
    ]
    for message, code in cases:
        raw.send(message)
        answer = raw.answer(message["id"])
        assert answer["error"]["code"] == code, (message, answer)
    # Shapes that cannot be answered by id are answered with none, or ignored.
    for message in (
        {"jsonrpc": "2.0", "id": [1], "method": "shutdown"},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 99, "result": 1},
    ):
        raw.send(message)
    raw.notify("textDocument/didChange", {"nonsense": True})
    raw.notify("no/such/notification", {"a": 1})
    raw.notify("$/cancelRequest", {"id": 12345})
    raw.notify("window/workDoneProgress/cancel", {"token": "none"})
    assert raw.request("textDocument/hover", HOVER)["result"] is None


def test_deeply_nested_json(raw: Any) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    raw.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert raw.request("textDocument/hover", HOVER)["result"] is None


def test_a_stray_print_does_not_reach_the_client(raw: Any) -> None:
    """Every byte on stdout was a frame, or the reader thread would have died."""
    assert raw.finish() == 0
    assert not raw.received.queue or raw.received.queue[-1] is None


def test_lone_surrogates_in_a_document(raw: Any) -> None:
    raw.open("file:///s.rs", "// \ud800\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\n")
    symbols = raw.request("textDocument/documentSymbol", {"textDocument": {"uri": "file:///s.rs"}})
    assert [symbol["name"] for symbol in symbols["result"]] == ["df"]


def test_capabilities_are_complete(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    answer = server.initialize(
        capabilities={
            "general": {"positionEncodings": ["utf-8", "utf-16"]},
            "textDocument": {"diagnostic": {}},
        }
    )
    offered = answer["result"]["capabilities"]
    assert offered["positionEncoding"] == "utf-8"
    assert offered["textDocumentSync"]["change"] == 2
    providers = [
        "hover",
        "completion",
        "signatureHelp",
        "definition",
        "references",
        "documentHighlight",
        "documentSymbol",
        "workspaceSymbol",
        "codeAction",
        "codeLens",
        "foldingRange",
        "selectionRange",
        "callHierarchy",
        "semanticTokens",
        "inlayHint",
        "rename",
        "diagnostic",
    ]
    missing = [name for name in providers if not offered.get(f"{name}Provider")]
    assert not missing, json.dumps(offered, indent=1)
    assert "ferrodiff.run" in offered["executeCommandProvider"]["commands"]
    assert offered["workspace"]["workspaceFolders"]["supported"] is True


def test_a_request_is_answered_even_if_cancelled_before_it_begins(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize()
    run = {"command": "ferrodiff.serverInfo", "arguments": []}
    asked = {"jsonrpc": "2.0", "id": "early", "method": "workspace/executeCommand", "params": run}
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "early"}}
    # Both in one piece, so that the server reads them together.
    frames = [json.dumps(message).encode() for message in (asked, cancel)]
    server.send_bytes(b"".join(b"Content-Length: %d\r\n\r\n" % len(body) + body for body in frames))
    answer = server.answer("early")
    assert "result" in answer or answer["error"]["code"] == -32800
    assert server.finish() == 0
