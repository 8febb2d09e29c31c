"""`ferrodiff run`, `gradcheck` and `ir`: one derivative, from file to numbers."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ferrodiff.server.main import main

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")

TEXT = """#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

// ferrodiff: x = [0.5, 1.0], k = 2.0
#[autodiff_forward(jvp, Dual, Const, Dual)]
#[autodiff_reverse(grad, Duplicated, Const, Active)]
fn energy(x: &[f64], k: f64) -> f64 {
    x.iter().map(|v| 0.5 * k * v * v).sum()
}

#[autodiff_forward(troubled_jvp, Const, Dual, Dual)]
fn troubled(kind: u32, x: f64) -> f64 {
    match kind {
        0 => panic!("no such \\"kind\\""),
        1 => loop { std::hint::black_box(x); },
        2 => {
            let mut all: Vec<Vec<f64>> = vec![];
            loop { all.push(vec![x; 1 << 22]); std::hint::black_box(&all); }
        }
        3 => std::process::exit(7),
        4 => { println!("printed"); 2.0 * x }
        6 => std::process::exit(0),
        _ => unsafe { *(8 as *const f64) },
    }
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FERRODIFF_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "a.rs").write_text(TEXT)
    return tmp_path


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_forward_derivative_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = as_json(capsys, "run", "a.rs", "jvp")
    assert code == 0 and data["outcome"] == "ok" and not data["cached"]
    values = {(item["name"], item["role"]): item["data"] for item in data["values"]}
    assert values["x", "input"] == [0.5, 1.0]
    assert values["return", "primal"] == 1.25
    assert values["return", "tangent"] == 1.0
    assert (data["mode"], data["width"], data["line"], data["file"]) == ("forward", 1, 5, "a.rs")


def test_a_second_run_is_cached(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = as_json(capsys, "run", "a.rs", "jvp"), as_json(capsys, "run", "a.rs", "jvp")
    assert not first[1]["cached"] and second[1]["cached"]
    assert first[1]["values"] == second[1]["values"]
    assert not as_json(capsys, "run", "a.rs", "jvp", "--arg", "k=3.0")[1]["cached"]
    assert not as_json(capsys, "run", "a.rs", "jvp", "--fresh")[1]["cached"]


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "a.rs", "grad", "--arg", "x=vec![3.0, 4.0]"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["grad:", "reverse", "derivative", "of", "`energy`"]
    assert ["primal", "return", "25.0"] in lines
    assert ["gradient", "dx_0", "[6.0,", "8.0]"] in lines


@pytest.mark.parametrize(
    ("kind", "outcome", "words"),
    [
        (0, "panic", 'panicked at a.rs:14:14: no such "kind"'),
        (1, "timeout", "stopped after 1 seconds"),
        (2, "out of memory", "out of memory (limit 256 MiB)"),
        (3, "exit", "exit code 7"),
        (5, "crash", "SIGSEGV"),
        (6, "exit", "exit code 0 before the derivative returned"),
    ],
)
def test_troubles_are_told_apart(
    capsys: pytest.CaptureFixture[str], kind: int, outcome: str, words: str
) -> None:
    seconds = "1" if outcome == "timeout" else "100"
    options = ["--arg", f"kind={kind}", "--timeout", seconds, "--memory", "256"]
    code, data = as_json(capsys, "run", "a.rs", "troubled_jvp", *options)
    assert code == 1
    assert data["outcome"] == outcome and words in data["message"]


def test_a_tape_that_finds_no_memory_is_no_crash(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "long.rs").write_text(
        """use std::autodiff::autodiff_reverse;
#[autodiff_reverse(d_long, Active, Const, Active)]
fn long(x: f64, n: u64) -> f64 {
    let (mut s, mut i) = (x, 0);
    while i < n && s < 10.0 { s = (s * 1.1).sin() + 0.3; i += 1; }
    s
}
"""
    )
    options = ["--arg", "n=1_000_000_000_000", "--memory", "128"]
    code, data = as_json(capsys, "run", str(folder / "long.rs"), "d_long", *options)
    assert code == 1 and data["outcome"] == "out of memory"


def test_what_the_program_prints_is_kept_apart(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = as_json(capsys, "run", "a.rs", "troubled_jvp", "--arg", "kind=4", "--arg", "x=1.5")
    assert code == 0 and set(data["printed"].split()) == {"printed"}
    assert {"name": "return", "role": "primal", "lane": 0, "text": "3.0", "data": 3.0} in data["values"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["a.rs", "nothing"], 1, "no derivative is called `nothing`"),
        (["a.rs", "jvp", "--arg", "nothing=1"], 1, "no parameter `nothing`"),
        (["a.rs", "jvp", "--arg", "x"], 2, "NAME=EXPRESSION"),
        (["a.rs", "jvp", "--arg", "x=[1.0,"], 1, "error"),
        (["a.rs", "jvp", "--timeout", "0"], 2, "seconds"),
        (["b.rs", "jvp"], 2, "cannot read `b.rs`"),
    ],
)
def test_wrong_requests(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert main(["run", *words]) == code
    captured = capsys.readouterr()
    assert (
        message in captured.err and "Traceback" not in captured.err and "internal error" not in captured.err
    )


def test_an_unsaved_buffer(folder: Path) -> None:
    text = TEXT.replace("0.5 * k", "1.5 * k")
    command = [sys.executable, "-m", "ferrodiff.server", "run", "a.rs", "jvp", "--unsaved", "--json"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    values = {(item["name"], item["role"]): item["data"] for item in json.loads(done.stdout)["values"]}
    assert values["return", "tangent"] == 3.0


def test_gradcheck_passes(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("jvp", "grad"):
        code, data = as_json(capsys, "gradcheck", "a.rs", name)
        assert code == 0 and data["passed"] and data["components"] == 2
        assert len(data["curve"]) >= 5


def test_gradcheck_sees_a_function_that_is_not_smooth(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "use std::autodiff::*;\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x.abs() }\n"
    (folder / "b.rs").write_text(text)
    code, data = as_json(capsys, "gradcheck", "b.rs", "df", "--arg", "x=0.0")
    assert code == 1 and not data["passed"]
    assert data["worst"]["input"] == "x" and "differences say 0" in data["message"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--stage", "primal"], ["define", "energy"]),
        (["--stage", "derivative"], ["define", "grad"]),
        (["--stage", "optimized"], ["define", "; a.rs:"]),
        (["--raw"], ["!dbg", "attributes #"]),
        (["--module"], ["target datalayout"]),
        (["--asm"], [".text"]),
        (["--report"], ["grad keeps"]),
    ],
)
def test_ir(capsys: pytest.CaptureFixture[str], options: list[str], words: list[str]) -> None:
    assert main(["ir", "a.rs", "grad", *options]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in words)


def test_optimized_code_has_no_trace_of_the_markers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ir", "a.rs", "jvp", "--module"]) == 0
    assert "__ferrodiff_forward" not in capsys.readouterr().out


def test_ir_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ir", "a.rs", "jpv"]) == 1
    assert "did you mean `jvp`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expression", "error", "place"),
    [
        ('"text"', "error[E0308]: mismatched types", 1),
        ("nothing + 1.0", "error[E0425]: cannot find value `nothing` in this scope", 1),
        ("1.0 + )", "error: unexpected closing delimiter: `)`", 7),
    ],
)
def test_rustc_errors_in_an_input_name_the_option(
    capsys: pytest.CaptureFixture[str], expression: str, error: str, place: int
) -> None:
    assert main(["run", "a.rs", "jvp", "--arg", f"k={expression}"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == error and lines[1].strip() == f"--> --arg k:1:{place}"
    assert lines[3].strip() == f"1 | {expression}"


def test_a_panic_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "a.rs", "jvp", "--arg", "k={ assert_eq!(1, 2); 0.0 }"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: the program panicked at --arg k:1:3: assertion `left == right` failed",
        "  left: 1",
        " right: 2",
    ]


ENDLESS = """\
use std::autodiff::autodiff_forward;
#[autodiff_forward(d_wait, Dual, Dual)]
fn wait(x: f64) -> f64 {
    let child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    std::fs::write("started.tmp", format!("{} {}", std::process::id(), child.id())).unwrap();
    std::fs::rename("started.tmp", "started").unwrap();
    loop { std::thread::sleep(std::time::Duration::from_secs(1)); std::hint::black_box(x); }
}
"""


def runs(process: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing_behind(folder: Path, number: signal.Signals) -> None:
    (folder / "wait.rs").write_text(ENDLESS)
    command = [sys.executable, "-m", "ferrodiff.server", "run", "wait.rs", "d_wait", "--timeout", "600"]

    def listen() -> None:
        """What the tests run under may ignore signals (a background job does), and children inherit that."""
        signal.signal(number, signal.SIG_DFL)

    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=listen
    ) as process:
        while not (folder / "started").exists():
            assert process.poll() is None
            time.sleep(0.02)
        started = [int(word) for word in (folder / "started").read_text().split()]
        process.send_signal(number)
        _, err = process.communicate()
    assert process.returncode == 130 and err == "error: interrupted\n"
    while any(map(runs, started)):  # they have been told to end; the test's own limit is the limit
        time.sleep(0.02)


def test_a_refused_derivative_does_not_hide_another(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two.rs").write_text(
        """#![feature(autodiff)]
use std::autodiff::autodiff_reverse;
#[autodiff_reverse(d_good, Active, Active)]
fn good(x: f64) -> f64 { x * x }
#[autodiff_reverse(d_bad, Active, Active)]
fn bad(x: f64) -> f64 { unsafe { *(std::hint::black_box(8usize) as *const f64) + x } }
fn main() {}
"""
    )
    for words in (["--stage", "optimized"], ["--asm"], ["--report"]):
        assert main(["ir", "two.rs", "d_good", *words]) == 0
    capsys.readouterr()
    assert main(["ir", "two.rs", "d_bad"]) == 1
    assert "cannot differentiate for `d_bad`" in capsys.readouterr().err


def test_a_module_is_run_as_a_part_of_its_package(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may use the rest of the crate, unsaved or not; alone, the rest need not even compile."""
    source = folder / "part" / "src"
    (source / "deep").mkdir(parents=True)
    (folder / "part" / "Cargo.toml").write_text('[package]\nname = "part"\nedition = "2021"\n')
    (source / "lib.rs").write_text(f"mod deep;\nmod other;\n{IMPORT}{derived('same', '2.0 * x')}")
    (source / "other.rs").write_text("pub fn cube(x: f64) -> f64 { x * x * x }\n")
    (source / "deep" / "mod.rs").write_text("pub mod leaf;\n")
    leaf = source / "deep" / "leaf.rs"
    leaf.write_text(IMPORT + derived("same", "crate::other::cube(x)"))

    def tangent(*words: str) -> float:
        code, data = as_json(capsys, "run", str(leaf), "d_same", "--arg", "x=2.0", *words)
        assert code == 0
        return float(next(item["data"] for item in data["values"] if item["role"] == "tangent"))

    assert tangent() == 12.0
    unsaved = IMPORT + derived("same", "crate::other::cube(x) * x")
    with io.TextIOWrapper(io.BytesIO(unsaved.encode())) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert tangent("--unsaved") == 32.0
    (source / "other.rs").write_text("pub fn cube(x: f64) -> f64 { nonsense }\n")
    leaf.write_text(IMPORT + derived("same", "x * x"))
    assert tangent() == 4.0


IMPORT = "use std::autodiff::autodiff_forward;\n"


def derived(name: str, body: str) -> str:
    return f"#[autodiff_forward(d_{name}, Dual, Dual)]\npub fn {name}(x: f64) -> f64 {{ {body} }}\n"
