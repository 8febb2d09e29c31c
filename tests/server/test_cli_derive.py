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
