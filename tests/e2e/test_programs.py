"""Annotated programs that assert their own values: built, run, and expected to succeed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")


def build_and_run(source: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Builds a program by the command line and runs it; fails with what either of them printed."""
    output = folder / source.stem
    command = [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(output), *options]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, (
        f"build of {source.name} failed:\n{built.stdout[-2000:]}{built.stderr[-4000:]}"
    )
    done = subprocess.run([str(output)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{source.name} exited with {done.returncode}:\n{done.stderr[-4000:]}"
    return done


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.rs")))
def test_program(name: str, tmp_path: Path) -> None:
    build_and_run(PROGRAMS / f"{name}.rs", tmp_path)
