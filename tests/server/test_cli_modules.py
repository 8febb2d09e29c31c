"""Programs of several files, and derivatives that macros make: `build`, `run`, `gradcheck` and `expand`."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ferrodiff.server.main import main

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")

MAIN = """\
mod other;
mod deep;
use std::autodiff::autodiff_reverse;

#[autodiff_reverse(d_sum, Active, Active)]
fn sum(x: f64) -> f64 { other::cube(x) + deep::inner::square(x) }

fn main() {
    assert_eq!(d_sum(2.0, 1.0), (10.0, 14.0));
    assert_eq!(other::d_cube(2.0, 1.0), (8.0, 12.0));
    assert_eq!(deep::inner::d_square(3.0, 1.0), (4.5, 3.0));
    println!("right");
}
"""
OTHER = """\
use std::autodiff::autodiff_forward;
#[cfg(feature = "plain")]
#[autodiff_forward(d_cube, Dual, Dual)]
pub fn cube(x: f64) -> f64 { x }
#[cfg(not(feature = "plain"))]
#[autodiff_forward(d_cube, Dual, Dual)]
pub fn cube(x: f64) -> f64 { x * x * x }
"""
INNER = """\
macro_rules! half {
    ($f:ident, $d:ident) => {
        #[std::autodiff::autodiff_forward($d, Dual, Dual)]
        pub fn $f(x: f64) -> f64 { 0.5 * x * x }
    };
}
half!(square, d_square);
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FERRODIFF_CACHE_DIR", str(tmp_path / "cache"))
    files = {"main.rs": MAIN, "other.rs": OTHER, "deep/mod.rs": "pub mod inner;\n", "deep/inner.rs": INNER}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["run", "main.rs", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def values(data: dict[str, Any], role: str) -> list[Any]:
    return [value["data"] for value in data["values"] if value["role"] == role]


def test_annotations_in_every_file_of_a_program(folder: Path) -> None:
    assert main(["build", "main.rs", "-o", "out"]) == 0
    assert subprocess.run([folder / "out"], capture_output=True, text=True).stdout == "right\n"


def test_a_macro_in_a_module_below_a_root_without_annotations(folder: Path) -> None:
    (folder / "main.rs").write_text(
        "mod deep;\nfn main() { assert_eq!(deep::inner::d_square(3.0, 1.0), (4.5, 3.0)); }\n"
    )
    assert main(["build", "main.rs", "-o", "out"]) == 0
    assert subprocess.run([folder / "out"]).returncode == 0


@pytest.mark.parametrize(
    ("name", "file", "line", "tangent"),
    [
        ("d_cube", "other.rs", 6, 12.0),
        ("other::d_cube", "other.rs", 6, 12.0),
        ("d_square", "deep/inner.rs", 7, 2.0),
        ("inner::d_square", "deep/inner.rs", 7, 2.0),
        ("crate::deep::inner::d_square", "deep/inner.rs", 7, 2.0),
    ],
)
def test_running_a_derivative_of_another_file(
    capsys: pytest.CaptureFixture[str], name: str, file: str, line: int, tangent: float
) -> None:
    code, data = run(capsys, name, "--arg", "x=2.0")
    assert code == 0 and values(data, "tangent") == [tangent]
    assert (data["file"], data["line"]) == (file, line)


def test_running_a_derivative_of_the_root(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = run(capsys, "d_sum", "--arg", "x=2.0")
    assert code == 0 and values(data, "gradient") == [14.0]


def test_cfg_decides_between_functions_of_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = run(capsys, "d_cube", "--arg", "x=2.0", "--cfg", 'feature="plain"')
    assert code == 0 and values(data, "tangent") == [1.0] and data["line"] == 3


def test_a_package_compiles_with_its_default_features(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "p"\nversion = "1.2.3"\nedition = "2021"\n[features]\ndefault = ["all"]\nall = ["plain"]\nplain = []\n'
    )
    code, data = run(capsys, "d_cube")
    assert code == 0 and values(data, "tangent") == [1.0]


def test_what_a_cfg_leaves_out_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.rs").write_text(OTHER.replace("not(feature", "all(test, feature"))
    assert main(["run", "main.rs", "d_cube"]) == 1
    assert (
        'error: `d_cube` is not compiled: `#[cfg(feature = "plain")]` does not hold'
        in capsys.readouterr().err
    )


def test_an_unknown_name_lists_those_of_every_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "main.rs", "nothing"]) == 1
    assert "the program has `d_sum`, `d_cube`, `d_square`" in capsys.readouterr().err


def test_checking_a_gradient_of_another_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gradcheck", "main.rs", "inner::d_square"]) == 0
    assert "passed" in capsys.readouterr().out


def test_derivatives_of_macros_are_listed_where_they_are_made(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["expand", "deep/inner.rs"]) == 0
    assert capsys.readouterr().out == (
        "// deep/inner.rs:7: forward derivative of `square`, made by `half!`\n"
        "pub fn d_square(x: f64, bx_0: f64) -> (f64, f64)\n"
    )


def test_a_macro_that_is_called_in_impls(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main.rs").write_text(INNER + "struct S;\nimpl S { half!(own, d_own); }\nfn main() {}\n")
    text = (folder / "main.rs").read_text()
    (folder / "main.rs").write_text(text.replace("half!(square, d_square);\n", ""))
    code, data = run(capsys, "S::d_own", "--arg", "x=3.0")
    assert code == 0 and values(data, "tangent") == [3.0]
    (folder / "main.rs").write_text(text)
    assert main(["build", "main.rs", "-o", "out"]) == 1
    assert "called inside and outside of an impl" in capsys.readouterr().err


def test_an_annotation_in_a_macro_is_checked_where_the_macro_is_called(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "deep/inner.rs"]) == 0
    assert capsys.readouterr().out == "1 annotation in 1 file: no problems\n"
    (folder / "wrong.rs").write_text(INNER.replace("Dual, Dual", "Dual"))
    for command in (["check"], ["expand"], ["build", "--emit", "obj"], ["run", "--json"]):
        words = [command[0], "wrong.rs", *(["d_square"] if command[0] == "run" else []), *command[1:]]
        assert main(words) == 1
        captured = capsys.readouterr()
        shown = captured.out + captured.err
        assert "error[FD005]: expected 2 activities, but found 1\n --> wrong.rs:7:1\n" in shown
        assert "in what `half!` makes of this call" in shown


def test_a_dependency_of_the_package_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "src").mkdir()
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "p"\nversion = "1.2.3"\nedition = "2021"\n[dependencies]\nmy-part = { path = "../my-part" }\n'
    )
    (folder / "src" / "main.rs").write_text("fn main() { my_part::f(); }\n")
    assert main(["build", "src/main.rs"]) == 1
    assert "  = help: `my_part` is a dependency in Cargo.toml; " in capsys.readouterr().err
    for words in (["build", "."], ["build", "Cargo.toml"], ["run", ".", "d"], ["expand", "Cargo.toml"]):
        assert main(words) == 2
        assert "name one Rust file, the root of a program: `src/main.rs`" in capsys.readouterr().err


def test_a_package_is_known_to_its_code(folder: Path) -> None:
    (folder / "Cargo.toml").write_text('[package]\nname = "p"\nversion = "1.2.3"\nedition = "2021"\n')
    (folder / "main.rs").write_text('fn main() { print!("{}", env!("CARGO_PKG_VERSION")) }\n')
    assert main(["build", "main.rs", "-o", "out"]) == 0
    assert subprocess.run([folder / "out"], capture_output=True, text=True).stdout == "1.2.3"


STRUCTS = """\
use std::autodiff::autodiff_reverse;
mod linear {
    pub mod dense {
        pub struct Matrix { pub rows: usize, pub data: Vec<f64> }
    }
    pub struct Pair(pub dense::Matrix, pub f64);
}
struct Unrelated { table: std::collections::HashMap<u8, f64> }
// ferrodiff: p = linear::Pair(linear::dense::Matrix { rows: 2, data: vec![0.5, 1.5, -0.5, 2.0] }, 3.0)
#[autodiff_reverse(d_sum, Duplicated, Active)]
fn sum(p: &linear::Pair) -> f64 {
    p.0.data.iter().map(|v| v * v * p.1.sin()).sum::<f64>() / p.0.rows as f64
}
"""


def test_checking_the_gradient_of_structs_in_modules(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "structs.rs").write_text(STRUCTS)
    assert main(["gradcheck", "structs.rs", "d_sum", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["passed"] and data["components"] == 5
