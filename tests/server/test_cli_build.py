"""`ferrodiff build` around differentiation: rustc, files, editions, outputs and their errors."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ferrodiff.server.main import main

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def execute(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program], capture_output=True, text=True, timeout=240)


def build(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["build", *words])
    captured = capsys.readouterr()
    assert captured.out == "" and "Traceback" not in captured.err
    return code, captured.err


def test_a_program_without_annotations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text('fn main() { println!("{}", std::env::args().count()); }')
    assert build(capsys, "a.rs") == (0, "")
    assert execute(folder / "a").stdout == "1\n"
    assert sorted(path.name for path in folder.iterdir()) == ["a", "a.rs"]


def test_modules_and_included_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "src/main.rs": 'mod one;\nmod two { pub mod three; }\n#[path = "odd.rs"] mod four;\n'
        'fn main() { print!("{}{}{}{}", one::name(), two::three::name(), four::name(), '
        'include_str!("../data.txt")); }',
        "src/one.rs": "mod inner; pub fn name() -> &'static str { inner::NAME }",
        "src/one/inner.rs": 'pub const NAME: &str = include_str!("text.txt");',
        "src/one/text.txt": "1",
        "src/two/three/mod.rs": "mod deep; pub fn name() -> u8 { deep::N }",
        "src/two/three/deep.rs": "pub const N: u8 = 3;",
        "src/odd.rs": "pub fn name() -> &'static str { file!() }",
        "data.txt": "end",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    assert build(capsys, "src/main.rs", "-o", "prog") == (0, "")
    assert execute(folder / "prog").stdout == "13src/odd.rsend"


def test_rustcs_errors_name_the_users_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text('fn main() {\n    let x: i32 = "a";\n}\n')
    code, err = build(capsys, "a.rs")
    assert code == 1
    assert "error[E0308]: mismatched types" in err and "a.rs:2:18" in err
    assert "ferrodiff-" not in err and not (folder / "a").exists()


def test_warnings_are_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text("fn main() { let unused_one = 1; }")
    code, err = build(capsys, "a.rs")
    assert code == 0 and "unused_one" in err


def test_panics_name_the_users_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.rs").write_text('fn main() {\n    panic!("no");\n}\n')
    assert build(capsys, "sub/a.rs")[0] == 0
    done = execute(folder / "a")
    assert done.returncode != 0 and "sub/a.rs:2:5" in done.stderr


def test_catching_panics_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'fn main() { let r = std::panic::catch_unwind(|| { panic!("x") }); println!("{}", r.is_err()); }'
    (folder / "a.rs").write_text(text)
    assert build(capsys, "a.rs")[0] == 0
    assert execute(folder / "a").stdout == "true\n"


def test_edition_2024_is_found_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'fn main() { let a = Some(1); if let Some(x) = a && x > 0 { println!("{x}") } }'
    (folder / "a.rs").write_text(text)
    assert build(capsys, "a.rs")[0] == 0
    assert execute(folder / "a").stdout == "1\n"
    code, err = build(capsys, "a.rs", "--edition", "2021")
    assert code == 1 and "2024" in err


def test_the_manifests_edition(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "Cargo.toml").write_text('[package]\nname = "a"\nedition = "2018"\n')
    (folder / "a.rs").write_text(
        "fn main() { let v: Vec<i32> = [1i32].into_iter().map(|x: &i32| *x).collect(); drop(v) }"
    )
    assert build(capsys, "a.rs")[0] == 0


def test_no_main(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text("pub fn f() {}")
    code, err = build(capsys, "a.rs")
    assert code == 1 and "no `fn main`" in err and "--emit" in err


@pytest.mark.parametrize("text", ["", "   \n\n"])
def test_empty_files(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (folder / "a.rs").write_text(text)
    code, err = build(capsys, "a.rs")
    assert code == 1 and err == "error: `a.rs` is empty: there is nothing to compile\n"


def test_unwritable_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text("fn main() {}")
    code, err = build(capsys, "a.rs", "-o", "missing/a")
    assert code == 2 and "cannot write `missing/a`: no such file or directory" in err
    (folder / "dir").mkdir()
    code, err = build(capsys, "a.rs", "-o", "dir")
    assert code == 2 and "it is a folder" in err


@pytest.mark.parametrize("name", ["nowhere.rs", "."])
def test_inputs_that_are_no_file(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, err = build(capsys, name)
    assert code == 2 and f"`{name}`" in err


LIBRARY = (
    '#[unsafe(no_mangle)] pub extern "C" fn triple(x: f64) -> f64 { let v = vec![x; 3]; v.iter().sum() }'
)


def test_shared_library(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text(LIBRARY)
    assert build(capsys, "a.rs", "--emit", "cdylib")[0] == 0
    function = ctypes.CDLL(str(folder / "liba.so")).triple
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    assert function(2.0) == 6.0


def test_static_library(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text(LIBRARY)
    (folder / "m.c").write_text(
        '#include <stdio.h>\ndouble triple(double);\nint main(void) { printf("%g\\n", triple(2)); }\n'
    )
    assert build(capsys, "a.rs", "--emit", "staticlib")[0] == 0
    subprocess.run(["cc", "m.c", "liba.a", "-lm", "-lpthread", "-ldl", "-lgcc_s", "-o", "m"], check=True)
    assert execute(folder / "m").stdout == "6\n"


@pytest.mark.parametrize(
    ("emit", "name", "start"),
    [("obj", "a.o", b"\x7fELF"), ("llvm-ir", "a.ll", b"source_filename"), ("asm", "a.s", b"\t")],
)
def test_other_outputs(
    folder: Path, capsys: pytest.CaptureFixture[str], emit: str, name: str, start: bytes
) -> None:
    (folder / "a.rs").write_text(LIBRARY)
    assert build(capsys, "a.rs", "--emit", emit)[0] == 0
    data = (folder / name).read_bytes()
    assert data.startswith(start) and b"triple" in data


def test_without_rustc(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.rs").write_text("fn main() {}")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("CARGO_HOME", str(folder))
    monkeypatch.setenv("FERRODIFF_CACHE_DIR", str(folder / "cache"))
    code, err = build(capsys, "a.rs")
    assert code == 2 and "`rustc` was not found" in err and "install Rust" in err
    assert main(["check", "a.rs"]) == 0
    assert main(["expand", "a.rs"]) == 0


def test_a_compiler_with_a_newer_llvm(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text("fn main() {}")
    script = folder / "rustc"
    script.write_text(
        "#!/bin/sh\ncase $1 in --print) echo /nowhere;; *) echo 'release: 1.130.0';"
        "echo 'LLVM version: 99.1.0';; esac\n"
    )
    script.chmod(0o755)
    code, err = build(capsys, "a.rs", "--toolchain", str(script))
    assert code == 2 and "99.1.0" in err and "llvmlite" in err and "--toolchain" in err


def test_termination_cleans_up(folder: Path) -> None:
    script = folder / "rustc"
    script.write_text(
        "#!/bin/sh\ncase $1 in -vV) echo 'release: 1.95.0'; echo 'LLVM version: 22.1.2';;"
        f" --print) echo {folder};; *) echo $$ > {folder}/pid; exec sleep 60;; esac\n"
    )
    script.chmod(0o755)
    (folder / "a.rs").write_text("fn main() {}")
    (folder / "tmp").mkdir()
    command = [sys.executable, "-m", "ferrodiff.server", "build", "a.rs", "--toolchain", str(script)]
    environment = dict(os.environ, TMPDIR=str(folder / "tmp"), FERRODIFF_CACHE_DIR=str(folder / "cache"))
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(200):
            if (folder / "pid").exists() and (folder / "pid").read_text().strip():
                break
            time.sleep(0.05)
        time.sleep(0.3)
        process.terminate()
        _, err = process.communicate(timeout=240)
    assert process.returncode == 130 and err == "error: interrupted\n"
    assert list((folder / "tmp").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_text_goes_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.rs").write_text(LIBRARY)
    assert main(["build", "a.rs", "--emit", "asm", "-o", "-"]) == 0
    assert "triple:" in capsys.readouterr().out
    assert main(["build", "a.rs", "--emit", "obj", "-o", "-"]) == 2
    assert "is binary" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["a.rs"]
