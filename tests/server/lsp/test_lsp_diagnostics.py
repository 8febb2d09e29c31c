"""Diagnostics: pulled, pushed, for the workspace; their fixes; severities that a user chose."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from lsprotocol import types as t

HEAD = "#![feature(autodiff)]\nuse std::autodiff::{autodiff_forward, autodiff_reverse};\n"
WRONG = HEAD + (
    "/* é😋 */ #[autodiff_forward(df, Duel, Dual)]\npub fn f(x: f64) -> f64 { x }\n"
    "#[autodiff_reverse(dg, Duplicated)]\npub fn g(x: &[f64], k: f64) -> f64 { x[0] * k }\n"
)


async def actions(lsp: Any, uri: str, range_: t.Range, only: list[str] | None = None) -> list[Any]:
    found = await lsp.client.text_document_code_action_async(
        t.CodeActionParams(
            text_document=t.TextDocumentIdentifier(uri),
            range=range_,
            context=t.CodeActionContext(diagnostics=[], only=only),
        )
    )
    return [item for item in found or [] if isinstance(item, t.CodeAction)]


@pytest.mark.asyncio(loop_scope="session")
async def test_pull(lsp: Any) -> None:
    uri, _ = lsp.open(WRONG)
    found = {item.code: item for item in await lsp.diagnostics(uri)}
    unknown, count = found["FD004"], found["FD005"]
    assert unknown.message.startswith("did not recognize Activity: `Duel`")
    assert lsp.text_in(uri, unknown.range) == "Duel"
    assert count.message.startswith("expected 3 activities, but found 1")
    assert {item.source for item in found.values()} == {"ferrodiff"}
    assert all(item.severity == t.DiagnosticSeverity.Error for item in (unknown, count))
    page = unknown.code_description.href
    assert page.startswith("file://") and page.endswith("FD004.md")
    written = Path(url2pathname(urlsplit(page).path)).read_text(encoding="utf-8")
    assert written.startswith("# FD004: unknown-activity\n")


@pytest.mark.asyncio(loop_scope="session")
async def test_an_unchanged_report_is_not_sent_again(lsp: Any) -> None:
    uri, _ = lsp.open(WRONG)

    async def pull(previous: str | None) -> Any:
        return await lsp.client.text_document_diagnostic_async(
            t.DocumentDiagnosticParams(t.TextDocumentIdentifier(uri), previous_result_id=previous)
        )

    first = await pull(None)
    assert isinstance(await pull(first.result_id), t.RelatedUnchangedDocumentDiagnosticReport)
    lsp.change(uri, "Duel", "Dual")
    second = await pull(first.result_id)
    assert isinstance(second, t.RelatedFullDocumentDiagnosticReport)
    assert [item.code for item in second.items] == ["FD005"]


@pytest.mark.asyncio(loop_scope="session")
async def test_quick_fixes(lsp: Any) -> None:
    uri, _ = lsp.open(WRONG)
    found = await actions(lsp, uri, lsp.range(uri, "Duel"), [t.CodeActionKind.QuickFix])
    assert [a.title for a in found if a.is_preferred] == ["Replace by `Dual`"]
    best = next(a for a in found if a.is_preferred)
    assert [d.code for d in best.diagnostics] == ["FD004"]
    text = lsp.applied(uri, list(best.edit.changes[uri]))
    assert text == WRONG.replace("Duel", "Dual")


@pytest.mark.asyncio(loop_scope="session")
async def test_fix_all(lsp: Any) -> None:
    uri, _ = lsp.open(WRONG)
    (fix,) = await actions(lsp, uri, lsp.range(uri, "use"), ["source.fixAll"])
    text = lsp.applied(uri, list(fix.edit.changes[uri]))
    assert "(df, Dual, Dual)" in text and "(dg, Duplicated, Active, Active)" in text
    again, _ = lsp.open(text)
    assert await lsp.diagnostics(again) == []
    assert await actions(lsp, again, lsp.range(again, "use"), ["source.fixAll"]) == []


@pytest.mark.asyncio(loop_scope="session")
async def test_an_import_is_added(lsp: Any) -> None:
    text = "#[autodiff_forward(df, Dual, Dual)]\npub fn f(x: f64) -> f64 { x }\n"
    uri, _ = lsp.open(text)
    codes = [item.message for item in await lsp.diagnostics(uri)]
    assert any("cannot find attribute `autodiff_forward`" in message for message in codes), codes
    found = await actions(lsp, uri, lsp.range(uri, "autodiff_forward"), [t.CodeActionKind.QuickFix])
    assert any(
        "use std::autodiff::autodiff_forward;" in lsp.applied(uri, list(a.edit.changes[uri])) for a in found
    )


@pytest.mark.asyncio(loop_scope="session")
async def test_every_fix_of_every_kind_can_be_applied(lsp: Any) -> None:
    uri, _ = lsp.open(WRONG)
    for needle in ("Duel", "dg", "Duplicated", "autodiff_reverse(", "pub fn g"):
        for action in await actions(lsp, uri, lsp.range(uri, needle)):
            if action.edit is not None:
                assert lsp.applied(uri, list(action.edit.changes[uri])) != WRONG, action.title


# -- push ----------------------------------------------------------------------------------------------


def pushed(server: Any, version: int) -> list[dict[str, Any]]:
    """The diagnostics of a version; older ones that arrive before are skipped."""
    while True:
        params = server.notification("textDocument/publishDiagnostics")["params"]
        assert params["version"] <= version
        if params["version"] == version:
            items: list[dict[str, Any]] = params["diagnostics"]
            return items


def change(server: Any, uri: str, version: int, text: str) -> None:
    server.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]},
    )


def test_push(raw: Any) -> None:
    uri = "file:///pushed.rs"
    raw.open(uri, WRONG)
    first = pushed(raw, 1)
    assert [item["code"] for item in first] == ["FD004", "FD005"]
    # This client shows no related information: it stands in the message.
    assert "relatedInformation" not in first[1] and "\nline " in first[1]["message"]
    start = first[0]["range"]["start"]
    assert (start["line"], start["character"]) == (2, len("/* é😋 */ #[autodiff_forward(df, ") + 1)
    change(raw, uri, 2, WRONG.replace("Duel", "Dual"))
    assert [item["code"] for item in pushed(raw, 2)] == ["FD005"]
    raw.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert raw.notification("textDocument/publishDiagnostics")["params"]["diagnostics"] == []


def test_a_burst_of_edits_is_answered_once(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize(initializationOptions={"diagnostics": {"debounce": 2000}})
    uri = "file:///burst.rs"
    server.open(uri, WRONG)
    pushed(server, 1)
    for version in range(2, 22):
        change(server, uri, version, WRONG + f"// {version}\n")
    assert len(pushed(server, 21)) == 2
    server.request("workspace/symbol", {"query": ""})
    assert not [m for m in server.notifications if m["method"] == "textDocument/publishDiagnostics"]


def test_severities(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    chosen = {"FD004": "hint", "activity-count": "off", "FD999": "error"}
    server.initialize(initializationOptions={"diagnostics": {"severity": chosen}})
    message = server.notification("window/showMessage")["params"]["message"]
    assert "FD999" in message
    server.open("file:///severity.rs", WRONG)
    found = {item["code"]: item["severity"] for item in pushed(server, 1)}
    assert found["FD004"] == 4 and "FD005" not in found, found


def test_workspace_diagnostics(start_raw: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "closed.rs"
    file.write_text(WRONG)
    (tmp_path / "fine.rs").write_text("fn nothing() {}\n")
    server = start_raw()
    server.initialize(
        capabilities={"textDocument": {"diagnostic": {}}},
        workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "w"}],
    )

    def pull(previous: list[dict[str, str]]) -> list[dict[str, Any]]:
        answer = server.request("workspace/diagnostic", {"previousResultIds": previous})
        items: list[dict[str, Any]] = answer["result"]["items"]
        return items

    deadline = time.monotonic() + 240
    while not (reports := pull([])):
        assert time.monotonic() < deadline
    assert [(r["uri"], r["kind"], r["version"], len(r["items"])) for r in reports] == [
        (file.as_uri(), "full", None, 2)
    ]
    known = [{"uri": file.as_uri(), "value": reports[0]["resultId"]}]
    assert [report["kind"] for report in pull(known)] == ["unchanged"]
    server.open(file.as_uri(), WRONG.replace("Duel", "Dual"), version=7)
    assert [(r["version"], len(r["items"])) for r in pull(known)] == [(7, 1)]
    # Pulling clients are not pushed to.
    assert not [m for m in server.notifications if m["method"] == "textDocument/publishDiagnostics"]


def test_silenced_at_one_place(raw: Any) -> None:
    raw.open(
        "file:///silent.rs",
        WRONG.replace("#[autodiff_reverse(dg", "// ferrodiff: allow(FD005)\n#[autodiff_reverse(dg"),
    )
    assert [item["code"] for item in pushed(raw, 1)] == ["FD004"]
