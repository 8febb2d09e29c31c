"""Every feature over stdio, in both position encodings."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from lsprotocol import types as t

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEAD = "#![feature(autodiff)]\nuse std::autodiff::{autodiff_forward, autodiff_reverse};\n"
LOSS = HEAD + (
    "/* é😋 */ #[autodiff_reverse(dloss, Duplicated, Active, Active)]\n"
    "pub fn loss(w: &[f64], k: f64) -> f64 {\n    w.iter().map(|v| v * k).sum()\n}\n"
    "fn main() {\n    let mut dw = [0.0; 2];\n"
    '    /* 😋 */ let r = dloss(&[1.0, 2.0], &mut dw, 3.0, 1.0);\n    println!("dloss {r:?}"); // dloss\n}\n'
)
BATCH = HEAD + (
    "#[autodiff_forward(df, 2, Dual, Const, Dual)]\nfn f(x: &[f64], k: f64) -> f64 { x[0] * k }\n"
    "fn g() { df(&[1.0], &[1.0], &[0.0], 2.0); }\n"
)


def place(uri: str, position: t.Position) -> dict[str, Any]:
    return {"text_document": t.TextDocumentIdentifier(uri), "position": position}


async def hover(lsp: Any, uri: str, position: t.Position) -> str | None:
    answer = await lsp.client.text_document_hover_async(t.HoverParams(**place(uri, position)))
    return None if answer is None else answer.contents.value


async def test_encoding_is_the_agreed_one(lsp: Any) -> None:
    result, encoding, _ = lsp.client.ferrodiff
    assert result.capabilities.position_encoding == encoding


# -- hover ---------------------------------------------------------------------------------------------


async def test_hover_on_every_part(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    signature = "pub fn dloss(w: &[f64], dw_0: &mut [f64], k: f64, dret: f64) -> (f64, f64)"
    for needle, wanted in (
        ("autodiff_reverse(dloss", signature),
        ("dloss", signature),
        ("Duplicated", "`w: &[f64]`"),
        ("Active", "`k: f64`"),
        ("loss(w", "dloss"),
    ):
        text = await hover(lsp, uri, lsp.at(uri, needle, 2))
        assert text is not None and wanted in text, (needle, text)
    returned = await hover(lsp, uri, lsp.at(uri, "Active)", 1))
    assert returned is not None and "return value `f64`" in returned


async def test_hover_range_and_table(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    answer = await lsp.client.text_document_hover_async(
        t.HoverParams(**place(uri, lsp.at(uri, "dloss(&", 1)))
    )
    assert lsp.text_in(uri, answer.range) == "dloss"
    value = answer.contents.value
    assert "| `dw_0: &mut [f64]` | shadow: gradient of `w` | Duplicated |" in value
    assert "`w`: Pass `w`, then `dw_0`" in value and "The caller zeroes `dw_0`" in value
    assert "Pass `dret`, a `f64`, last" in value


async def test_silence_about_ordinary_rust(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    for needle in ("println", "dloss {r", "// dloss", "iter", "feature", "let r"):
        assert await hover(lsp, uri, lsp.at(uri, needle, len(needle) - 2)) is None, needle


async def test_hover_across_files(lsp: Any) -> None:
    name = f"far_{lsp.encoding.replace('-', '')}"
    lsp.open(LOSS.replace("dloss", name))
    uri, position = lsp.open(f"fn main() {{ {name}$0(1); }}")
    text = await hover(lsp, uri, position)
    assert text is not None and f"fn {name}(w" in text and "in `file" in text


# -- navigation ----------------------------------------------------------------------------------------


async def test_definition(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    for needle, wanted in (
        ("dloss(&", "dloss"),
        ("dloss,", "loss"),
        ("Duplicated", "w: &[f64]"),
        ("Active,", "k: f64"),
    ):
        found = await lsp.client.text_document_definition_async(
            t.DefinitionParams(**place(uri, lsp.at(uri, needle, 1)))
        )
        assert [lsp.text_in(uri, item.range) for item in found] == [wanted], needle


async def test_references_and_highlights(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    found = await lsp.client.text_document_references_async(
        t.ReferenceParams(context=t.ReferenceContext(True), **place(uri, lsp.at(uri, "dloss", 1)))
    )
    assert [lsp.text_in(uri, item.range) for item in found if item.uri == uri] == ["dloss", "dloss"]
    marks = await lsp.client.text_document_document_highlight_async(
        t.DocumentHighlightParams(**place(uri, lsp.at(uri, "dloss(&", 1)))
    )
    assert [mark.kind for mark in marks] == [t.DocumentHighlightKind.Write, t.DocumentHighlightKind.Read]


async def test_references_in_closed_files(lsp: Any) -> None:
    name = f"closed_{lsp.encoding.replace('-', '')}"
    closed = lsp.root / f"{name}.rs"
    closed.write_text(f"/* é */ fn use_it() {{ {name}(1.0); }}\n", "utf-8")
    uri, _ = lsp.open(LOSS.replace("dloss", name))
    found = await lsp.client.text_document_references_async(
        t.ReferenceParams(context=t.ReferenceContext(False), **place(uri, lsp.at(uri, name, 1)))
    )
    assert {item.uri for item in found} == {uri, closed.as_uri()}


async def test_rename(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    position = lsp.at(uri, "dloss(&", 1)
    prepared = await lsp.client.text_document_prepare_rename_async(
        t.PrepareRenameParams(**place(uri, position))
    )
    assert prepared.placeholder == "dloss" and lsp.text_in(uri, prepared.range) == "dloss"
    edit = await lsp.client.text_document_rename_async(
        t.RenameParams(new_name="gradient", **place(uri, position))
    )
    renamed = lsp.applied(uri, edit.changes[uri])
    assert renamed == LOSS.replace("dloss,", "gradient,").replace("dloss(&", "gradient(&")
    for bad in ("loss", "1x", "fn", "a b", ""):
        with pytest.raises(Exception, match=r"identifier|keyword|already"):
            await lsp.client.text_document_rename_async(t.RenameParams(new_name=bad, **place(uri, position)))
    nothing = await lsp.client.text_document_prepare_rename_async(
        t.PrepareRenameParams(**place(uri, lsp.at(uri, "println", 1)))
    )
    assert nothing is None


async def test_symbols(lsp: Any) -> None:
    name = f"sym_{lsp.encoding.replace('-', '')}"
    uri, _ = lsp.open(LOSS.replace("dloss", name))
    found = await lsp.client.text_document_document_symbol_async(
        t.DocumentSymbolParams(t.TextDocumentIdentifier(uri))
    )
    assert [(item.name, item.detail) for item in found] == [(name, "reverse derivative of loss")]
    everywhere = await lsp.client.workspace_symbol_async(t.WorkspaceSymbolParams("sy" + name[-2:]))
    assert name in [item.name for item in everywhere]


async def test_call_hierarchy(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    items = await lsp.client.text_document_prepare_call_hierarchy_async(
        t.CallHierarchyPrepareParams(**place(uri, lsp.at(uri, "dloss", 1)))
    )
    assert [item.name for item in items] == ["dloss"]
    outgoing = await lsp.client.call_hierarchy_outgoing_calls_async(
        t.CallHierarchyOutgoingCallsParams(items[0])
    )
    assert [call.to.name for call in outgoing] == ["loss"]
    incoming = await lsp.client.call_hierarchy_incoming_calls_async(
        t.CallHierarchyIncomingCallsParams(items[0])
    )
    assert [call.from_.name for call in incoming if call.from_.uri == uri] == ["main"]
    primal = await lsp.client.call_hierarchy_incoming_calls_async(
        t.CallHierarchyIncomingCallsParams(outgoing[0].to)
    )
    assert [call.from_.name for call in primal] == ["dloss"]


# -- typing --------------------------------------------------------------------------------------------


async def complete(lsp: Any, text: str) -> tuple[str, list[Any]]:
    uri, position = lsp.open(text)
    answer = await lsp.client.text_document_completion_async(t.CompletionParams(**place(uri, position)))
    return uri, sorted(answer.items, key=lambda item: item.sort_text)


async def test_completion_of_activities(lsp: Any) -> None:
    uri, items = await complete(lsp, LOSS.replace("Duplicated, Active, Active", "Dup$0"))
    assert items[0].label == "Duplicated" and "Active" in [item.label for item in items[1:]]
    assert "pub fn dloss(w: &[f64], dw_0: &mut [f64]" in items[0].documentation.value
    assert lsp.text_in(uri, items[0].text_edit.range) == "Dup"
    _, items = await complete(lsp, LOSS.replace("Duplicated, Active, Active", "Duplicated, $0"))
    assert items[0].label == "Active" and items[0].detail == "k: f64"
    _, items = await complete(lsp, LOSS.replace("Duplicated, Active, Active", "Duplicated, Active, $0"))
    assert items[0].label == "Active" and items[0].detail == "-> f64"


async def test_completion_of_names_and_widths(lsp: Any) -> None:
    _, items = await complete(lsp, LOSS.replace("dloss, Duplicated, Active, Active", "$0"))
    assert items[0].label == "dloss"
    _, items = await complete(lsp, LOSS.replace("Duplicated, Active, Active", "$0"))
    assert "4" in [item.label for item in items]


async def test_completion_of_an_unclosed_annotation(lsp: Any) -> None:
    _, items = await complete(lsp, HEAD + "#[autodiff_forward(df, $0\nfn f(x: f64) -> f64 { x }\n")
    assert items and items[0].label == "Dual"


async def test_completion_of_whole_annotations(lsp: Any) -> None:
    _, items = await complete(lsp, HEAD + "#[auto$0\npub fn f(x: &[f64], n: usize) -> f64 { x[n] }\n")
    texts = [item.text_edit.new_text for item in items]
    assert any(
        "autodiff_reverse(${1:df}, ${2:Duplicated}, ${3:Const}, ${4:Active})" in text for text in texts
    ), texts
    _, items = await complete(lsp, HEAD + "struct S;\nlet x = auto$0\n")
    assert items == []


async def signature(lsp: Any, text: str) -> Any:
    uri, position = lsp.open(text)
    return await lsp.client.text_document_signature_help_async(t.SignatureHelpParams(**place(uri, position)))


async def test_signature_help(lsp: Any) -> None:
    help_ = await signature(lsp, LOSS.replace("Duplicated, Active, Active", "Duplicated, $0"))
    assert help_ is not None
    assert help_.signatures[0].label == "autodiff_reverse(name, w: &[f64], k: f64, -> f64)"
    assert help_.active_parameter == 2
    help_ = await signature(
        lsp, LOSS.replace("dloss(&[1.0, 2.0], &mut dw, 3.0, 1.0)", "dloss(&[1.0, 2.0], $0)")
    )
    assert help_ is not None and help_.active_parameter == 1
    parameter = help_.signatures[0].parameters[1]
    assert (
        parameter.label == "dw_0: &mut [f64]"
        and "gradient with respect to `w`" in parameter.documentation.value
    )
    assert await signature(lsp, "fn main() { other($0) }") is None


# -- decoration ----------------------------------------------------------------------------------------


def everything(lsp: Any, uri: str) -> t.Range:
    return t.Range(t.Position(0, 0), lsp.position(lsp.texts[uri], len(lsp.texts[uri])))


async def test_inlay_hints(lsp: Any) -> None:
    uri, _ = lsp.open(BATCH)
    hints = await lsp.client.text_document_inlay_hint_async(
        t.InlayHintParams(t.TextDocumentIdentifier(uri), everything(lsp, uri))
    )
    assert [hint.label for hint in hints] == ["x:", "k:", "->", "bx[0]:", "bx[1]:"]
    uri, _ = lsp.open(LOSS)
    hints = await lsp.client.text_document_inlay_hint_async(
        t.InlayHintParams(t.TextDocumentIdentifier(uri), everything(lsp, uri))
    )
    assert [hint.label for hint in hints] == ["w:", "k:", "->", "dw:", "seed:"]
    assert hints[3].position == lsp.at(uri, "&mut dw")


async def test_code_lenses(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    lenses = await lsp.client.text_document_code_lens_async(t.CodeLensParams(t.TextDocumentIdentifier(uri)))
    assert [lens.command.command for lens in lenses] == [
        "ferrodiff.run",
        "ferrodiff.checkGradient",
        "ferrodiff.showIr",
        "ferrodiff.showTape",
    ]
    assert list(lenses[0].command.arguments) == [{"uri": uri, "derivative": "dloss"}]


async def test_semantic_tokens(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    whole = await lsp.client.text_document_semantic_tokens_full_async(
        t.SemanticTokensParams(t.TextDocumentIdentifier(uri))
    )
    result, _, _ = lsp.client.ferrodiff
    legend = result.capabilities.semantic_tokens_provider.legend.token_types
    line = character = 0
    words = []
    for at in range(0, len(whole.data), 5):
        down, right, length, kind, _ = whole.data[at : at + 5]
        line, character = line + down, right if down else character + right
        range_ = t.Range(t.Position(line, character), t.Position(line, character + length))
        words.append((lsp.text_in(uri, range_), legend[kind]))
    assert words == [
        ("autodiff_reverse", "macro"),
        ("dloss", "function"),
        ("Duplicated", "enumMember"),
        ("Active", "enumMember"),
        ("Active", "enumMember"),
    ]
    part = await lsp.client.text_document_semantic_tokens_range_async(
        t.SemanticTokensRangeParams(
            t.TextDocumentIdentifier(uri), t.Range(t.Position(4, 0), t.Position(5, 0))
        )
    )
    assert list(part.data) == []


async def test_folding_and_selection(lsp: Any) -> None:
    text = LOSS.replace(
        "(dloss, Duplicated, Active, Active)", "(\n    dloss,\n    Duplicated,\n    Active, Active\n)"
    )
    uri, _ = lsp.open(text)
    folds = await lsp.client.text_document_folding_range_async(
        t.FoldingRangeParams(t.TextDocumentIdentifier(uri))
    )
    assert [(fold.start_line, fold.end_line) for fold in folds] == [(2, 6)]
    (selection,) = await lsp.client.text_document_selection_range_async(
        t.SelectionRangeParams(t.TextDocumentIdentifier(uri), [lsp.at(uri, "Duplicated", 2)])
    )
    steps = []
    while selection is not None:
        steps.append(selection.range)
        selection = selection.parent
    assert lsp.text_in(uri, steps[0]) == "Duplicated" and len(steps) >= 4
    assert all(inner.start >= outer.start and inner.end <= outer.end for inner, outer in pairwise(steps))


# -- documents -----------------------------------------------------------------------------------------


async def test_expansion_follows_edits(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    answer = await lsp.client.workspace_execute_command_async(
        t.ExecuteCommandParams("ferrodiff.showExpansion", arguments=[{"uri": uri}])
    )
    assert "pub fn dloss(w: &[f64], dw_0: &mut [f64]" in answer["text"]
    shown = answer["uri"] if isinstance(answer, dict) else answer.uri
    assert lsp.client.shown_documents[-1].uri == shown
    lsp.change(uri, "dloss, Dup", "changed, Dup")
    again = await lsp.client.workspace_execute_command_async(
        t.ExecuteCommandParams("ferrodiff.showExpansion", arguments=[{"uri": uri}])
    )
    assert "fn changed(w" in again["text"]


async def test_edits_arrive_in_order(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    for number in range(30):
        lsp.change(uri, "/* é😋", f"/* {number} é😋")
        lsp.change(uri, f"/* {number} é😋", "/* é😋")
    lsp.change(uri, "dloss, Dup", "renamed, Dup")
    text = await hover(lsp, uri, lsp.at(uri, "renamed", 1))
    assert text is not None and "fn renamed(" in text


async def test_closed_documents_are_forgotten(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    lsp.close(uri)
    assert await hover(lsp, uri, lsp.at(uri, "dloss", 1)) is None


async def test_other_languages_are_left_alone(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS, language="markdown")
    assert await hover(lsp, uri, lsp.at(uri, "dloss", 1)) is None


async def test_cancelled_requests(lsp: Any) -> None:
    uri, _ = lsp.open(LOSS)
    requests = [asyncio.ensure_future(hover(lsp, uri, lsp.at(uri, "dloss", 1))) for _ in range(20)]
    for request in requests[::2]:
        request.cancel()
    results = await asyncio.gather(*requests, return_exceptions=True)
    assert all(isinstance(result, (str, asyncio.CancelledError)) for result in results)
