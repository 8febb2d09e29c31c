"""Code actions, applied as an editor would."""

from __future__ import annotations

from typing import Any

import pytest
from lsprotocol import types as t

from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.signature import derivative_signature

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEAD = "#![feature(autodiff)]\nuse std::autodiff::{autodiff_forward, autodiff_reverse};\n"
PLAIN = HEAD + "/* é😋 */ pub fn energy(x: &[f64], n: usize, k: f64) -> f64 {\n    x[n] * k\n}\n"
NOTED = HEAD + (
    "mod inner {\n    /* é😋 */ #[autodiff_reverse(dloss, Duplicated, Active, Active)]\n"
    "    pub fn loss(w: &[f64], k: f64) -> f64 {\n        w.iter().map(|v| v * k).sum()\n    }\n}\n"
)
SIMPLE = HEAD + (
    "#[autodiff_reverse(dloss, Duplicated, Active, Active)]\n"
    "pub fn loss(w: &[f64], k: f64) -> f64 {\n    w.iter().map(|v| v * k).sum()\n}\n"
)


async def actions(lsp: Any, uri: str, needle: str, only: list[str] | None = None) -> list[t.CodeAction]:
    position = lsp.at(uri, needle, 1)
    found = await lsp.client.text_document_code_action_async(
        t.CodeActionParams(
            text_document=t.TextDocumentIdentifier(uri),
            range=t.Range(position, position),
            context=t.CodeActionContext(diagnostics=[], only=only),
        )
    )
    return list(found or [])


def chosen(found: list[t.CodeAction], words: str) -> t.CodeAction:
    matching = [action for action in found if words in action.title]
    assert matching, [action.title for action in found]
    return matching[0]


def applied(lsp: Any, uri: str, action: t.CodeAction) -> str:
    assert action.edit is not None and action.edit.changes is not None
    text: str = lsp.applied(uri, list(action.edit.changes[uri]))
    return text


async def test_a_new_derivative(lsp: Any) -> None:
    uri, _ = lsp.open(PLAIN)
    found = await actions(lsp, uri, "energy")
    for mode, wanted in (
        ("reverse", "#[autodiff_reverse(denergy, Duplicated, Const, Active, Active)]"),
        ("forward", "#[autodiff_forward(denergy, Dual, Const, Dual, Dual)]"),
    ):
        text = applied(lsp, uri, chosen(found, f"Generate the {mode} derivative"))
        assert wanted in text
        (function,) = analyse(text).functions
        assert "fn denergy(x: &[f64]" in derivative_signature(function, function.annotations[0]).text
    assert await actions(lsp, uri, "x[n]") == []


async def test_widths(lsp: Any) -> None:
    uri, _ = lsp.open(NOTED)
    text = applied(lsp, uri, chosen(await actions(lsp, uri, "Duplicated"), "width to 4"))
    assert "(dloss, 4, Duplicated, Active, Active)" in text
    lsp.change(uri, "dloss, ", "dloss, 8, ")
    text = applied(lsp, uri, chosen(await actions(lsp, uri, "Duplicated"), "width to 2"))
    assert "(dloss, 2, Duplicated" in text


async def test_an_example_and_a_test(lsp: Any) -> None:
    uri, _ = lsp.open(NOTED)
    text = applied(lsp, uri, chosen(await actions(lsp, uri, "dloss"), "example call"))
    assert (
        "    }\n\n    #[allow(dead_code, unused_variables)]\n    fn dloss_example() {\n        let w = "
        in text
    )
    assert [
        action for action in await actions(lsp, uri, "dloss") if "test of the gradient" in action.title
    ] == []
    uri, _ = lsp.open(SIMPLE)
    text = applied(lsp, uri, chosen(await actions(lsp, uri, "dloss"), "test of the gradient"))
    assert "}\n\n#[test]\nfn dloss_matches_finite_differences() {" in text
    assert {f.bare_name for f in analyse(text).all_functions} == {"loss", "dloss_matches_finite_differences"}


async def test_inputs_are_written_down(lsp: Any) -> None:
    uri, _ = lsp.open(SIMPLE)
    text = applied(lsp, uri, chosen(await actions(lsp, uri, "dloss"), "Write down the inputs"))
    assert "// ferrodiff: w = [0.5, 1.25, 0.75], k = 1.5\n#[autodiff_reverse" in text
    uri, _ = lsp.open(text)
    assert [a for a in await actions(lsp, uri, "dloss") if "Write down" in a.title] == []


LITERALS: dict[str, Any] = {
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}
}


async def test_running_is_an_action_too(start_raw: Any) -> None:
    """On the wire: lsprotocol's own client takes every action with a command for a bare command."""
    server = start_raw()
    server.initialize(capabilities=LITERALS)
    server.open("file:///c.rs", SIMPLE)
    answer = server.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": "file:///c.rs"},
            "range": {"start": {"line": 2, "character": 25}, "end": {"line": 2, "character": 25}},
            "context": {"diagnostics": [], "only": ["ferrodiff"]},
        },
    )
    assert [item["command"]["command"] for item in answer["result"]] == [
        "ferrodiff.run",
        "ferrodiff.checkGradient",
    ]


async def test_only_the_wanted_kinds(lsp: Any) -> None:
    uri, _ = lsp.open(NOTED)
    found = await actions(lsp, uri, "dloss", [t.CodeActionKind.RefactorRewrite])
    assert found and {action.kind for action in found} == {t.CodeActionKind.RefactorRewrite}
    assert await actions(lsp, uri, "dloss", [t.CodeActionKind.SourceOrganizeImports]) == []


async def test_clients_without_literals_get_commands(start_raw: Any) -> None:
    server = start_raw()
    server.initialize()
    server.open("file:///c.rs", SIMPLE)
    answer = server.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": "file:///c.rs"},
            "range": {"start": {"line": 2, "character": 25}, "end": {"line": 2, "character": 25}},
            "context": {"diagnostics": []},
        },
    )
    assert {item["command"] for item in answer["result"]} == {"ferrodiff.run", "ferrodiff.checkGradient"}


async def test_new_lines_end_as_the_others_do(lsp: Any) -> None:
    uri, _ = lsp.open(NOTED.replace("\n", "\r\n"))
    for title in ("example call", "Write down", "test of the gradient", "Generate the"):
        for action in await actions(lsp, uri, "dloss"):
            if title in action.title and action.edit is not None:
                text = applied(lsp, uri, action)
                assert "\r\n" in text and "\n" not in text.replace("\r\n", ""), action.title
