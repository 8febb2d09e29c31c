"""No block that a derivative allocates outlives it, and none is freed twice: an allocator counts."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(
    shutil.which("rustc") is None or platform.libc_ver()[0] != "glibc", reason="needs rustc and glibc"
)


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The allocator that counts, as a library to be loaded before others."""
    library = tmp_path_factory.mktemp("leaks") / "leaks.so"
    source = str(HERE / "leaks.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize(("panic", "arguments"), [("unwind", []), ("abort", ["calm"])])
def test_nothing_is_left(panic: str, arguments: list[str], counter: Path, tmp_path: Path) -> None:
    output = tmp_path / "leaks"
    command = [sys.executable, "-m", "ferrodiff.server", "build", str(HERE / "leaks.rs"), "-o", str(output)]
    built = subprocess.run(
        [*command, "--panic", panic], capture_output=True, text=True, timeout=200, check=False
    )
    assert built.returncode == 0, built.stderr[-3000:]
    done = subprocess.run(
        [str(output), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "LD_PRELOAD": str(counter)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 leaks" in done.stdout
