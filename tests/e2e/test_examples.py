"""Every program in `examples/` builds, runs, agrees with its own finite differences, and prints a table."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.rs")))
def test_example(name: str, build_and_run: Callable[[Path], subprocess.CompletedProcess[str]]) -> None:
    done = build_and_run(EXAMPLES / f"{name}.rs")
    assert len(done.stdout.splitlines()) >= 3


def test_every_example_is_described() -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    missing = [path.name for path in EXAMPLES.glob("*.rs") if f"({path.name})" not in text]
    assert not missing
