"""`ferrodiff check`: formats, exit codes, and inputs that are not what they should be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ferrodiff.analysis.diagnostics import codes
from ferrodiff.server.main import main

GOOD = "#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x * x }\n"
BAD = (
    "use std::autodiff::autodiff_forward;\n\n"
    "#[autodiff_forward(df, Dual, Wrong)]\nfn f(x: f64) -> f64 { x }\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["check", *words])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


def test_a_good_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text(f"use std::autodiff::*;\n{GOOD}")
    code, out, err = check(capsys, "a.rs")
    assert code == 0 and err == ""
    assert out.splitlines()[-1] == "1 annotation in 1 file: no problems"


def test_an_error_in_rustcs_shape(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text(BAD)
    code, out, _ = check(capsys, "a.rs")
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith("error[FD") and "]: " in lines[0]
    assert lines[1] == " --> a.rs:3:30"
    assert lines[3] == "3 | #[autodiff_forward(df, Dual, Wrong)]"
    assert lines[4].rstrip().startswith("  |" + " " * 30 + "^^^^^")


def test_columns_count_characters_and_carets_count_cells(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    annotation = "\t/* größe 変 */ #[autodiff_forward(df, Dual, Wrong)]"
    text = f"use std::autodiff::*;\n{annotation}\nfn f(x: f64) -> f64 {{ x }}\n"
    (folder / "a.rs").write_text(text)
    code, out, _ = check(capsys, "a.rs")
    assert code == 1
    lines = out.splitlines()
    assert lines[1] == f" --> a.rs:2:{text.splitlines()[1].index('Wrong') + 1}"
    shown, carets = lines[3], lines[4]
    assert "\t" not in shown
    assert carets.index("^") == shown.index("Wrong") + 1  # one character of two cells before it


def test_crlf_is_not_seen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_bytes(BAD.replace("\n", "\r\n").encode())
    code, out, _ = check(capsys, "a.rs")
    assert code == 1 and "\r" not in out and "a.rs:3:30" in out


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text(BAD)
    code, out, _ = check(capsys, "a.rs", "--format", "json")
    (item, *_) = json.loads(out)
    assert code == 1
    assert (item["file"], item["line"], item["column"], item["endColumn"]) == ("a.rs", 3, 30, 35)
    start, end = item["bytes"]
    assert BAD.encode()[start:end] == b"Wrong"


def test_json_of_nothing_is_a_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text("")
    assert check(capsys, "a.rs", "--format", "json") == (0, "[]\n", "")


def test_sarif(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a b.rs").write_text(BAD)
    code, out, _ = check(capsys, "a b.rs", "--format", "sarif")
    document = json.loads(out)
    result = document["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert code == 1 and document["version"] == "2.1.0"
    assert place["artifactLocation"]["uri"] == "a%20b.rs"
    assert place["region"] == {"startLine": 3, "startColumn": 30, "endLine": 3, "endColumn": 35}
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert result["ruleId"] in [rule["id"] for rule in rules]


def test_github(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a,b.rs").write_text(BAD)
    code, out, _ = check(capsys, "a,b.rs", "--format", "github")
    assert code == 1
    assert out.startswith("::error file=a%2Cb.rs,line=3,endLine=3,col=30,endColumn=35,title=FD")


def test_folders_are_searched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("src/a.rs", "src/deep/b.rs", "target/c.rs", ".hidden/d.rs", "src/notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(BAD)
    code, out, _ = check(capsys, ".")
    assert code == 1 and "in 2 files" in out
    assert "src/a.rs" in out and "src/deep/b.rs" in out


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "not UTF-8 text: invalid byte 0xff on line 1"),
        (b"fn f() {}\n\0", "a NUL byte on line 2"),
        ("fn f() {}".encode("utf-16"), "UTF-16"),
    ],
)
def test_files_that_are_no_text(
    folder: Path, capsys: pytest.CaptureFixture[str], data: bytes, words: str
) -> None:
    (folder / "a.rs").write_bytes(data)
    code, _, err = check(capsys, "a.rs")
    assert code == 2 and words in err and "`a.rs`" in err


def test_missing_files_and_empty_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = check(capsys, "nowhere.rs")
    assert code == 2 and err == "error: cannot read `nowhere.rs`: no such file or directory\n"
    (folder / "empty").mkdir()
    code, _, err = check(capsys, "empty")
    assert code == 2 and "no Rust source files (*.rs) under `empty`" in err


def test_the_others_are_still_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text(BAD)
    code, out, err = check(capsys, "nowhere.rs", "a.rs")
    assert code == 2 and "a.rs:3:30" in out and "nowhere.rs" in err


@pytest.mark.parametrize(
    "text",
    [
        "#[autodiff_forward(",
        "#[autodiff_forward(df, Dual\nfn f(x: f64) -> f64 { x }",
        "#[autodiff_reverse]\nfn",
        "#[autodiff_forward(df, 4, )]\nfn f(x: f64",
        "fn f(x: f64) -> f64 { #[autodiff_reverse(df, Active, Active)] let y = 2; y }",
        "\ufeff#[autodiff_reverse(df, Active, Active)]\nfn f(größe: f64) -> f64 { größe }",
        "{" * 3000,
        "#[autodiff_forward(" * 500,
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_half_typed_files_never_crash(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, form: str
) -> None:
    (folder / "a.rs").write_text(text)
    code, _, err = check(capsys, "a.rs", "--format", form)
    assert code in (0, 1) and "internal error" not in err


def test_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ferrodiff.server", "check", "-"], input=BAD, capture_output=True, text=True
    )
    assert done.returncode == 1 and "<stdin>:3:30" in done.stdout


def test_usage_errors_exit_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert main(["chek"]) == 2 and "did you mean `ferrodiff check`" in capsys.readouterr().err
    assert main([]) == 2


@pytest.mark.parametrize("name", ["FD005", "fd005", "activity-count"])
def test_explaining_a_code(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["explain", name]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# FD005: ") and "expected {expected} activities, but found {found}" in text


def test_explaining_all_codes_and_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(codes())
    assert main(["explain", "FD099"]) == 2
    assert (
        "error: no diagnostic is called `FD099`\n  = help: `ferrodiff explain` lists them"
        in capsys.readouterr().err
    )
