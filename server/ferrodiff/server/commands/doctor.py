"""`ferrodiff doctor`: what is installed, what works, what is missing and how to get it."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass

from ferrodiff.server.errors import EXIT_PROBLEMS, Failure
from ferrodiff.server.paths import cache_folder
from ferrodiff.server.toolchain import check_llvm, find_linker, find_toolchain
from ferrodiff.server.version import version

PACKAGES = ("llvmlite", "numpy", "lark", "tree-sitter", "tree-sitter-rust", "rich")

_PROBE = """
#[inline(never)]
fn square(x: f64) -> f64 { x * x }
fn main() { assert!(square(std::env::args().count() as f64) >= 1.0); }
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `state` is `ok`, `missing` or `warning`."""

    subject: str
    state: str
    text: str
    remedy: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "--toolchain", metavar="NAME", help="a rustup toolchain, a toolchain folder or a rustc"
    )
    parser.add_argument("--json", action="store_true", help="the findings as a list of objects")


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when something that compiling needs is missing."""
    findings = examine(options.toolchain)
    if options.json:
        print(json.dumps([asdict(item) for item in findings], indent=2))
    else:
        _print(findings)
    return EXIT_PROBLEMS if any(item.state == "missing" for item in findings) else 0


def examine(toolchain: str | None = None) -> list[Finding]:
    """Looks at everything the commands use."""
    findings = [_python(), *map(_package, PACKAGES), _backend(), *_rust(toolchain), _cargo(), _linker()]
    findings.append(_cache())
    if all(item.state != "missing" for item in findings):
        findings.append(_compiles(toolchain))
    return findings


def _python() -> Finding:
    text = f"{platform.python_version()} ({sys.executable}), ferrodiff {version()}"
    good = sys.version_info >= (3, 11)
    return Finding(
        "python", "ok" if good else "missing", text, "" if good else "install Python 3.11 or newer"
    )


def _package(name: str) -> Finding:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return Finding(name, "ok", installed(name))
    except PackageNotFoundError:
        return Finding(name, "missing", "not installed", f"pip install {name}")


def _llvm_version() -> tuple[int, ...]:
    import llvmlite.binding as llvm

    return tuple(llvm.llvm_version_info)


def _backend() -> Finding:
    try:
        number = ".".join(map(str, _llvm_version()))
    except (ImportError, OSError) as error:
        return Finding(
            "LLVM", "missing", f"llvmlite cannot be loaded: {error}", "pip install --force-reinstall llvmlite"
        )
    return Finding("LLVM", "ok", f"{number} in llvmlite")


def _rust(choice: str | None) -> list[Finding]:
    try:
        found = find_toolchain(choice)
    except Failure as failure:
        return [Finding("rustc", "missing", failure.message, failure.help or "")]
    text = f"{found.release} with LLVM {found.llvm_text} for {found.host} ({found.rustc})"
    try:
        check_llvm(found, _llvm_version())
    except Failure as failure:
        return [Finding("rustc", "missing", failure.message, failure.help or "")]
    except (ImportError, OSError):
        return [Finding("rustc", "ok", text)]
    return [Finding("rustc", "ok", text)]


def _cargo() -> Finding:
    path = shutil.which("cargo")
    if path is None:
        return Finding("cargo", "warning", "not found; only needed for packages", "comes with rustup")
    done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace")
    return Finding("cargo", "ok" if done.returncode == 0 else "warning", (done.stdout or done.stderr).strip())


def _linker() -> Finding:
    try:
        return Finding("linker", "ok", find_linker())
    except Failure as failure:
        return Finding("linker", "missing", failure.message, failure.help or "")


def _cache() -> Finding:
    import tempfile

    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding("cache", "ok", str(folder))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        remedy = "set FERRODIFF_CACHE_DIR to another folder; without one, every run compiles anew"
        return Finding("cache", "warning", f"{folder} cannot be written: {reason}", remedy)


def _compiles(toolchain: str | None) -> Finding:
    """Compiles and runs a program of one line through the whole pipeline."""
    import tempfile
    import time
    from pathlib import Path

    from ferrodiff.server.compile.options import BuildOptions
    from ferrodiff.server.compile.pipeline import build
    from ferrodiff.server.errors import Reported
    from ferrodiff.server.worker import run as run_program

    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "probe"
            build("probe.rs", program, BuildOptions(toolchain=toolchain), text=_PROBE)
            result = run_program([str(program)])
    except Reported as problem:
        return Finding("compiling", "missing", problem.text)
    except Failure as failure:
        return Finding("compiling", "missing", failure.message, failure.help or "")
    seconds = time.monotonic() - started
    if not result.ok:
        return Finding("compiling", "missing", result.sentence)
    return Finding("compiling", "ok", f"a program was compiled, linked and run in {seconds:.2f} s")


def _print(findings: list[Finding]) -> None:
    width = max(len(item.subject) for item in findings)
    for item in findings:
        print(f"{item.subject:<{width}}  {item.state:<7}  {item.text}")
        if item.remedy:
            print(f"{'':<{width}}           -> {item.remedy}")
    missing = [item.subject for item in findings if item.state == "missing"]
    print()
    if missing:
        print(
            f"missing: {', '.join(missing)}. "
            f"`check`, `expand` and `lsp` work; the other commands need the above."
        )
    else:
        print("everything works")
