"""LLVM IR of Rust sources for tests: rustc is run once per source and set of flags."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest

from ferrodiff.adcore.backend.passes import canonical

AD_FLAGS = (
    "-Copt-level=3",
    "-Cno-prepopulate-passes",
    "-Ccodegen-units=1",
    "-Cdebuginfo=line-tables-only",
    "-Cpanic=abort",
)
"""What code that is to be differentiated is compiled with."""

UNOPTIMISED = ("-Copt-level=0", "-g", "-Ccodegen-units=1")
OPTIMISED = ("-Copt-level=3", "-Ccodegen-units=1", "-Ctarget-cpu=x86-64-v3")
UNWINDING = ("-Copt-level=3", "-Cno-prepopulate-passes", "-Ccodegen-units=1", "-Clinker-plugin-lto")


@lru_cache(maxsize=64)
def rust_bitcode(source: str, flags: tuple[str, ...] = AD_FLAGS, name: str = "sample") -> bytes:
    """Bitcode of a library crate; skips the test without rustc."""
    rustc = shutil.which("rustc")
    if rustc is None:
        pytest.skip("rustc is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.rs")
        path.write_text(source)
        output = Path(folder, "out.bc")
        command = [rustc, "--edition", "2024", "--crate-type", "lib", f"--emit=llvm-bc={output}", *flags]
        result = subprocess.run(
            [*command, "-Awarnings", str(path)], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        return output.read_bytes()


@lru_cache(maxsize=64)
def rust_ir(source: str, flags: tuple[str, ...] = AD_FLAGS, name: str = "sample") -> str:
    """Canonical IR text of a library crate."""
    return canonical(rust_bitcode(source, flags, name))


@lru_cache(maxsize=1)
def rust_libraries() -> tuple[str, ...]:
    """The toolchain's shared standard library."""
    command = ["rustc", "--print", "target-libdir"]
    folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return tuple(str(p) for p in Path(folder).glob("libstd-*.so"))
