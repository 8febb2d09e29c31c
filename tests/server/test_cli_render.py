"""Messages in rustc's shape."""

from __future__ import annotations

import pytest

from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.render import Message, Place, column, render


def shown(text: str, mark: str, **more: str) -> list[str]:
    start = len(text[: text.index(mark)].encode())
    place = Place("a.rs", SourceText(text), Span(start, start + len(mark.encode())), more.get("label", ""))
    return render(Message("error", "wrong", place, "FD001")).splitlines()


def test_one_line() -> None:
    assert shown("a\nlet x = bad;\n", "bad", label="here") == [
        "error[FD001]: wrong",
        " --> a.rs:2:9",
        "  |",
        "2 | let x = bad;",
        "  |         ^^^ here",
    ]


def test_line_numbers_widen_the_gutter() -> None:
    lines = shown("\n" * 99 + "bad", "bad")
    assert lines[1:4] == ["   --> a.rs:100:1", "    |", "100 | bad"]


@pytest.mark.parametrize(
    ("text", "caret", "col"),
    [("\tbad", 4, 2), ("größe bad", 6, 7), ("変数 bad", 5, 4), ("e\u0301 bad", 2, 4), ("\t\t変bad", 10, 4)],
)
def test_carets_stand_under_the_text(text: str, caret: int, col: int) -> None:
    lines = shown(text, "bad")
    assert lines[1] == f" --> a.rs:1:{col}"
    assert lines[4] == "  | " + " " * caret + "^^^"


def test_an_empty_span_has_one_caret() -> None:
    place = Place("a.rs", SourceText("abc"), Span(3, 3))
    assert render(Message("error", "wrong", place)).splitlines()[4] == "  |    ^"


def test_several_lines() -> None:
    text = "x\nfn f(\n    y,\n) {}\n"
    assert shown(text, "fn f(\n    y,\n) {}")[3:] == [
        "2 | / fn f(",
        "3 | |     y,",
        "4 | | ) {}",
        "  | |____^",
    ]


def test_several_lines_from_the_middle_of_one() -> None:
    text = "let a = f(\n  1,\n);\n"
    assert shown(text, "f(\n  1,\n)")[3:] == [
        "1 |   let a = f(",
        "  |  _________^",
        "2 | |   1,",
        "3 | | );",
        "  | |_^",
    ]


def test_many_lines_are_elided() -> None:
    text = "fn f() {\n" + "    g();\n" * 30 + "}"
    lines = shown(text, text)
    assert "..." in lines and len(lines) < 14
    assert "32 | | }" in lines


def test_crlf_ends_a_line_like_lf() -> None:
    assert shown("a\r\nbad\r\n", "bad")[3:5] == ["2 | bad", "  | ^^^"]


def test_a_span_that_ends_at_a_line_start_stays_on_its_line() -> None:
    place = Place("a.rs", SourceText("abc\ndef\n"), Span(0, 4))
    assert render(Message("error", "wrong", place)).splitlines()[3:5] == ["1 | abc", "  | ^^^"]


def test_notes_helps_and_related_places() -> None:
    source = SourceText("first\nsecond\n")
    message = Message(
        "warning",
        "odd",
        Place("a.rs", source, Span(0, 5)),
        related=[("see here", Place("a.rs", source, Span(6, 12)))],
        notes=["one\ntwo"],
        helps=["do this"],
    )
    assert render(message).splitlines()[5:] == [
        "  |",
        "  = note: one",
        "          two",
        "  = help: do this",
        "note: see here",
        " --> a.rs:2:1",
        "  |",
        "2 | second",
        "  | ^^^^^^",
    ]


def test_without_a_place() -> None:
    assert render(Message("error", "wrong", None, helps=["try"])).splitlines() == [
        "error: wrong",
        "  = help: try",
    ]


def test_colour_changes_no_character() -> None:
    import re

    place = Place("a.rs", SourceText("a b c"), Span(2, 3), "label")
    message = Message("error", "wrong", place, "FD001", notes=["n"])
    plain = re.sub(r"\x1b\[[0-9;]*m", "", render(message, colour=True))
    assert plain == render(message)


def test_column_is_one_based_characters() -> None:
    assert column(Place("a", SourceText("ä\n ö x"), Span(7, 8))) == (2, 4)
