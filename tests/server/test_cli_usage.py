"""Wrong arguments, and outputs that cannot be written: one message in the usual shape, exit code 2."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ferrodiff.server.main import COMMANDS, main

NEEDS_RUSTC = pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
TEXT = """\
use std::autodiff::autodiff_reverse;
#[autodiff_reverse(d_f, Active, Active)]
fn f(x: f64) -> f64 {
    let mut y = x;
    for _ in 0..9 { y = y.sin(); }
    y
}
fn main() {}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FERRODIFF_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "a.rs").write_text(TEXT)
    (tmp_path / "loop.rs").symlink_to("loop.rs")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message", "help"),
    [
        ("check", "the following arguments are required: PATH", "`ferrodiff check --help` explains"),
        ("build a.rs --emit foo", "argument --emit: invalid choice: 'foo'", "`ferrodiff build --help`"),
        ("run a.rs", "the following arguments are required: DERIVATIVE", "`ferrodiff run --help`"),
        ("expand a.rs --sourc", "unrecognized arguments: --sourc", "`ferrodiff expand --help`"),
        ("lsp --tcp abc", "argument --tcp: invalid int value: 'abc'", "`ferrodiff lsp --help`"),
        ("ir a.rs d_f --json", "`--json` is a form of the report", "add `--report`"),
        ("check loop.rs", "cannot read `loop.rs`: too many levels of symbolic links", ""),
        ("chek a.rs", "no such command: `chek`", "did you mean `ferrodiff check`?"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], words: str, message: str, help: str) -> None:
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == "" and lines[0].startswith(f"error: {message}") and len(lines) <= 2
    assert help in captured.err


@NEEDS_RUSTC
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o .", "cannot write `.`: it is a folder"),
        ("-o missing/out", "cannot write `missing/out`: no such file or directory"),
        ("--cpu quark", "LLVM knows no processor `quark` here"),
        ("--linker nolinker", "no C compiler `nolinker` to link with was found"),
    ],
)
def test_outputs_that_cannot_be_made(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    before = sorted(folder.iterdir())
    assert main(["build", "a.rs", *words.split()]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"error: {message}"
    assert [path for path in sorted(folder.iterdir()) if path.name != "cache"] == before


@NEEDS_RUSTC
def test_the_processor_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "a.rs", "-o", "out", "--cpu", "native", "--timings"]) == 0
    assert capsys.readouterr().err.splitlines()[-1].split()[:2] == ["cpu", "native"]
    for fresh in (True, False):
        assert main(["run", "a.rs", "d_f", "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert data["cpu"] == "generic" and data["cached"] is not fresh


@NEEDS_RUSTC
def test_ir_shows_every_function_that_a_derivative_consists_of(capsys: pytest.CaptureFixture[str]) -> None:
    """What is called by the generated function and was itself generated: it holds the loop's cosines."""
    assert main(["ir", "a.rs", "d_f", "--stage", "derivative"]) == 0
    assert "@llvm.cos.f64" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: ferrodiff {command} ") and COMMANDS[command] in text


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line in which `$F` is the command."""
    environment = dict(os.environ, F=f"{sys.executable} -m ferrodiff.server")
    return subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("words", ["--help", "check .", "expand a.rs", "doctor --help"])
def test_a_reader_that_leaves_early_is_no_error(words: str) -> None:
    done = shell(f"{{ sleep 0.1; $F {words}; echo $? >&2; }} | true")
    assert done.stderr == "0\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", ["--help", "check a.rs", "expand a.rs"])
def test_output_that_finds_no_room(words: str) -> None:
    done = shell(f"$F {words} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: cannot write the output: no space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams(closed: str) -> None:
    assert shell(f"$F check a.rs {closed}").returncode == 0
    assert shell(f"$F check missing.rs {closed}").returncode == 2


def test_a_cache_that_cannot_be_written_is_a_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FERRODIFF_CACHE_DIR", str(folder / "a.rs" / "cache"))
    main(["doctor", "--json"])
    found = {item["subject"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["cache"]["state"] == "warning" and "not a directory" in found["cache"]["text"]


def test_the_readme_names_every_command() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"| `ferrodiff {name}" not in text] == []
