"""Building and running programs by the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[[Path], subprocess.CompletedProcess[str]]


@pytest.fixture
def build_and_run(tmp_path: Path) -> Run:
    """Builds a program and runs it; fails with what either of them printed."""

    def run(source: Path) -> subprocess.CompletedProcess[str]:
        output = tmp_path / source.stem
        command = [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(output)]
        built = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
        assert built.returncode == 0, f"build of {source.name} failed:\n{built.stderr[-4000:]}"
        assert "warning" not in built.stderr, built.stderr
        done = subprocess.run([str(output)], capture_output=True, text=True, timeout=60, check=False)
        printed = done.stdout[-3000:] + done.stderr[-3000:]
        assert done.returncode == 0, f"{source.name} exited with {done.returncode}:\n{printed}"
        return done

    return run
