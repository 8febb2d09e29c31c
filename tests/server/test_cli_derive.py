"""`ferrodiff derive`: LLVM IR in, derivatives out."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrodiff.server.main import main

SQUARE = """
define double @square(double %x) {
  %r = fmul double %x, %x
  ret double %r
}
declare double @mystery(double)
define double @opaque(double %x) {
  %r = call double @mystery(double %x)
  ret double %r
}
"""


@pytest.fixture
def ir(tmp_path: Path) -> str:
    path = tmp_path / "square.ll"
    path.write_text(SQUARE)
    return str(path)


def test_a_derivative_under_its_name(ir: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.ll"
    asked = ["derive", ir, "-f", "square", "--mode", "reverse", "--activities", "Active", "-o", str(out)]
    assert main(asked) == 0
    text = out.read_text()
    assert "@dsquare(double %x0, double %dret)" in text
    assert "__ferrodiff" not in text
    assert "dsquare: { double, double } (double, double)" in capsys.readouterr().err


def test_an_unknown_external_is_refused_by_name(ir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", ir, "-f", "opaque", "--activities", "Dual"]) == 1
    assert "mystery" in capsys.readouterr().err


def test_nothing_asked(ir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", ir]) == 2
    assert "nothing to differentiate" in capsys.readouterr().err


def test_a_file_that_is_no_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.ll"
    path.write_bytes(b"\x00\xff not IR")
    assert main(["derive", str(path), "-f", "f"]) == 2
    assert "no LLVM IR" in capsys.readouterr().err


def test_an_object_file(ir: str, tmp_path: Path) -> None:
    out = tmp_path / "out.o"
    assert main(["derive", ir, "-f", "square", "--activities", "Dual", "--emit", "obj", "-o", str(out)]) == 0
    assert out.read_bytes()[:4] == b"\x7fELF"


def test_where_the_source_is_there_a_refusal_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.c").write_text("double mystery(double);\ndouble f(double x) { return mystery(x); }\n")
    (tmp_path / "a.ll").write_text(
        f"""
define double @f(double %x) !dbg !2 {{
  %r = call double @mystery(double %x), !dbg !4
  ret double %r
}}
declare double @mystery(double)
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!5}}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "{tmp_path}")
!2 = distinct !DISubprogram(name: "f", file: !1, line: 2, type: !3, spFlags: DISPFlagDefinition, unit: !0)
!3 = !DISubroutineType(types: !{{}})
!4 = !DILocation(line: 2, column: 29, scope: !2)
!5 = !{{i32 2, !"Debug Info Version", i32 3}}
"""
    )
    assert main(["derive", "a.ll", "-f", "f", "--activities", "Dual"]) == 1
    lines = capsys.readouterr().err.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("error"))
    assert "cannot differentiate for `df`" in lines[at] and "`mystery`" in lines[at]
    assert lines[at + 1 : at + 5] == [
        " --> a.c:2:29",
        "  |",
        "2 | double f(double x) { return mystery(x); }",
        "  |                             ^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("square.ll -f square --activities Dual -o missing/out", "cannot write `missing/out`: no such file"),
        ("square.ll -f square --activities Dual -o .", "cannot write `.`: it is a folder"),
        ("square.ll -f square --activities Dual --cpu quark", "LLVM knows no processor `quark` here"),
        ("missing.ll -f square", "cannot read `missing.ll`: no such file or directory"),
        ("broken.ll -f square", "`broken.ll` is no LLVM IR that can be read: line 3: expected type"),
        (". -f square", "`.` is a folder"),
    ],
)
def test_what_goes_wrong_is_one_message(
    ir: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    monkeypatch.chdir(Path(ir).parent)
    Path("broken.ll").write_text(SQUARE.replace("fmul double", "fmul dubble"))
    assert main(["derive", *words.split()]) == 2
    err = capsys.readouterr().err
    assert f"error: {message}" in err and "internal error" not in err


def test_standard_input(ir: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Path(ir).open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["derive", "-", "-f", "square", "--activities", "Dual"]) == 0
    assert "define { double, double } @dsquare(double %x0, double %x0.d0)" in capsys.readouterr().out
