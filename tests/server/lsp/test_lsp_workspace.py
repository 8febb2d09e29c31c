"""Settings, folders, files on disk, progress and the life of a server, on the bare wire."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = "#[autodiff_reverse({name}, Active, Active)]\nfn f(x: f64) -> f64 {{ x }}\n"
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-8"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
    },
}


def folders(*paths: Path) -> list[dict[str, str]]:
    return [{"uri": path.as_uri(), "name": path.name} for path in paths]


def symbols(server: Any, query: str = "") -> list[str]:
    answer = server.request("workspace/symbol", {"query": query})
    return sorted(item["name"] for item in answer["result"])


def eventually(server: Any, wanted: list[str]) -> None:
    deadline = time.monotonic() + 240
    while (found := symbols(server)) != wanted:
        assert time.monotonic() < deadline, (found, wanted)


def test_the_workspace_is_indexed(start_raw: Callable[..., Any], tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, name in ((one, "d_one"), (two, "d_two")):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "lib.rs").write_text(TEXT.format(name=name))
        (folder / "src" / "plain.rs").write_text("fn nothing() {}\n")
    (one / "target").mkdir()
    (one / "target" / "built.rs").write_text(TEXT.format(name="d_built"))
    (one / "binary.rs").write_bytes(b"autodiff\0\xff\xfe")
    server = start_raw()
    server.initialize(capabilities=CAPABILITIES, workspaceFolders=folders(one))
    registered = server.wait(lambda m: m.get("method") == "client/registerCapability")
    methods = {item["method"] for item in registered["params"]["registrations"]}
    assert methods == {"workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration"}
    eventually(server, ["d_one"])
    titles = [
        m["params"]["value"]["title"]
        for m in server.notifications
        if m["method"] == "$/progress" and m["params"]["value"]["kind"] == "begin"
    ]
    assert titles == ["Ferrodiff: indexing annotations"]

    server.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": folders(two), "removed": []}})
    eventually(server, ["d_one", "d_two"])
    server.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": folders(one)}})
    eventually(server, ["d_two"])

    # A file appears, changes and goes.
    new = two / "new.rs"
    new.write_text(TEXT.format(name="d_new"))
    for kind, wanted in ((1, ["d_new", "d_two"]), (2, ["d_newer", "d_two"]), (3, ["d_two"])):
        if kind == 2:
            new.write_text(TEXT.format(name="d_newer"))
        server.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": new.as_uri(), "type": kind}]})
        eventually(server, wanted)

    # An open file counts as the editor has it.
    library = two / "src" / "lib.rs"
    server.open(library.as_uri(), TEXT.format(name="d_unsaved"))
    eventually(server, ["d_unsaved"])
    server.notify("textDocument/didClose", {"textDocument": {"uri": library.as_uri()}})
    eventually(server, ["d_two"])

    moved = two / "src" / "moved.rs"
    library.rename(moved)
    server.notify(
        "workspace/didRenameFiles", {"files": [{"oldUri": library.as_uri(), "newUri": moved.as_uri()}]}
    )
    eventually(server, ["d_two"])
    assert server.finish() == 0


def test_bad_settings_are_reported(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize(initializationOptions={"run": {"timeLimit": "long"}, "hints": {"shadow": True}})
    messages = [server.notification("window/showMessage")["params"]["message"] for _ in range(2)]
    assert any("`ferrodiff.run.timeLimit` must be a number of seconds" in text for text in messages)
    assert any("did you mean `ferrodiff.hints.shadows`?" in text for text in messages)


def test_settings_are_asked_for_and_followed(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize(capabilities=CAPABILITIES)
    request = server.wait(lambda m: m.get("method") == "workspace/configuration")
    assert request["params"]["items"] == [{"section": "ferrodiff"}]
    server.notify("workspace/didChangeConfiguration", {"settings": None})
    server.wait(lambda m: m.get("method") == "workspace/configuration")


def test_settings_that_are_sent(raw: Any) -> None:
    raw.open("file:///l.rs", TEXT.format(name="df"))
    lenses = {"textDocument": {"uri": "file:///l.rs"}}
    assert len(raw.request("textDocument/codeLens", lenses)["result"]) == 4
    raw.notify("workspace/didChangeConfiguration", {"settings": {"ferrodiff": {"lens": {"enable": False}}}})
    assert raw.request("textDocument/codeLens", lenses)["result"] == []


def test_the_server_ends_with_its_client(start_raw: Callable[..., Any]) -> None:
    import subprocess
    import sys

    client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    server = start_raw()
    server.request("initialize", {"processId": client.pid, "rootUri": None, "capabilities": {}})
    server.notify("initialized", {})
    server.request("workspace/symbol", {"query": ""})
    client.kill()
    client.wait()
    assert server.process.wait(60) == 1


def test_status_is_told_to_clients_that_ask(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize(capabilities={"experimental": {"serverStatusNotification": True}})
    status = server.notification("experimental/serverStatus")["params"]
    assert status["health"] == "ok"


def test_server_info(raw: Any) -> None:
    answer = raw.request("workspace/executeCommand", {"command": "ferrodiff.serverInfo"})["result"]
    assert answer["diagnostics"] == "push" and answer["encoding"] == "utf-16"


def test_llvm_is_not_loaded(raw: Any) -> None:
    raw.open("file:///l.rs", TEXT.format(name="df"))
    raw.request("textDocument/codeLens", {"textDocument": {"uri": "file:///l.rs"}})
    maps = Path(f"/proc/{raw.process.pid}/maps")
    if maps.exists():
        assert "llvmlite" not in maps.read_text()


def test_tcp(start_raw: Callable[..., Any]) -> None:
    import json
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    server = start_raw("--tcp", str(free))
    deadline = time.monotonic() + 240
    while not server.stderr and time.monotonic() < deadline:
        time.sleep(0.01)
    port = int(server.stderr[0].rsplit(b":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {"processId": None, "rootUri": None, "capabilities": {}},
            }
        ).encode()
        connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stream = connection.makefile("rb")
        length = int(stream.readline().split(b":")[1])
        stream.readline()
        assert json.loads(stream.read(length))["result"]["serverInfo"]["name"] == "ferrodiff"
        stream.close()
    assert server.process.wait(60) == 1
