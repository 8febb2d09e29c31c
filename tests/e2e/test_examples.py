"""Every program in `examples/` builds, runs, agrees with its own finite differences, and prints a table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.rs")))
def test_example(name: str, tmp_path: Path) -> None:
    source, output = EXAMPLES / f"{name}.rs", tmp_path / name
    command = [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(output)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-4000:]
    assert "warning" not in built.stderr
    done = subprocess.run([str(output)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(done.stdout.splitlines()) >= 3


def test_every_example_is_described() -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    missing = [path.name for path in EXAMPLES.glob("*.rs") if f"({path.name})" not in text]
    assert not missing
