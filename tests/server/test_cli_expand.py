"""`ferrodiff expand`: signatures, JSON, and the rewritten source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ferrodiff.server.main import main

TEXT = """#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[autodiff_reverse(df, Duplicated, Active)]
#[autodiff_forward(df4, 4, Dual, Dual)]
fn f(x: &[f64]) -> f64 {
    x.iter().sum()
}

fn main() {}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.rs").write_text(TEXT)
    return "a.rs"


def test_signatures(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expand", file]) == 0
    out = capsys.readouterr().out
    assert "fn df(x: &[f64], dx_0: &mut [f64], dret: f64) -> f64" in out
    assert "// a.rs:5: forward derivative of `f`, width 4" in out


def test_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expand", file, "--json"]) == 0
    items = {item["derivative"]: item for item in json.loads(capsys.readouterr().out)}
    assert items["df"] == {
        "function": "f",
        "derivative": "df",
        "mode": "reverse",
        "width": 1,
        "line": 4,
        "signature": "fn df(x: &[f64], dx_0: &mut [f64], dret: f64) -> f64",
    }
    assert items["df4"]["width"] == 4 and items["df4"]["signature"].endswith("-> [f64; 5]")


def test_source_is_plain_rust_with_the_same_lines(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expand", file, "--source"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any("autodiff" in line and "#" in line and "ferrodiff" not in line for line in lines[:9])
    assert lines[5].endswith("fn f(x: &[f64]) -> f64 {")
    assert lines[6] == "    x.iter().sum()"


def test_a_broken_annotation_is_reported_and_the_rest_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    broken = "\n#[autodiff_forward(dg, Nonsense)]\nfn g(x: f64) {}\n"
    (tmp_path / "a.rs").write_text(TEXT + broken)
    assert main(["expand", "a.rs"]) == 1
    captured = capsys.readouterr()
    assert "fn df(" in captured.out and "dg" not in captured.out
    assert "error[FD" in captured.err and "Nonsense" in captured.err


def test_nothing_to_expand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "a.rs"
    empty.write_text("")
    assert main(["expand", str(empty)]) == 0
    assert "no autodiff annotations" in capsys.readouterr().out
    assert main(["expand", str(empty), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expand", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
