"""Random annotated functions: forward, batched and reverse derivatives agree, and agree with differences.

`python tests/e2e/random_programs.py FIRST COUNT > program.rs` writes the program of any stretch of seeds.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")

FAILED_ONCE: list[int] = []
"""Seeds whose functions were wrong or refused at some time."""


def generator() -> ModuleType:
    path = Path(__file__).with_name("random_programs.py")
    spec = importlib.util.spec_from_file_location("random_programs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["random_programs"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "seeds",
    [s for s in (list(range(12)), list(range(12, 24)), list(range(1000, 1012)), FAILED_ONCE) if s],
    ids=str,
)
def test_random_functions(seeds: list[int], tmp_path: Path) -> None:
    source, output = tmp_path / "random.rs", tmp_path / "random"
    source.write_text(generator().program(seeds), "utf-8")
    command = [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(output)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert built.returncode == 0, built.stderr[-4000:]
    done = subprocess.run([str(output)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
