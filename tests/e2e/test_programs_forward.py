"""Annotated programs that assert their own values, in forward mode or in both: built, run, expected to succeed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in PROGRAMS.glob("*.rs") if path.stem.startswith(("fwd_", "both_")))
)
def test_forward_program(
    name: str, build_and_run: Callable[[Path], subprocess.CompletedProcess[str]]
) -> None:
    build_and_run(PROGRAMS / f"{name}.rs")
