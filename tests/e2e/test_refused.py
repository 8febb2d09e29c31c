"""What cannot be differentiated is refused at the user's line, in both modes, never answered with a number.

A comment `//~ words` marks the line; the words stand in what is printed about every derivative of the file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REFUSED = Path(__file__).parent / "refused"
MARK = re.compile(r"//~ (.*)$", re.MULTILINE)
NAME = re.compile(r"#\[autodiff_\w+\((\w+)")

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")


@pytest.mark.parametrize("name", sorted(path.stem for path in REFUSED.glob("*.rs")))
def test_refusal(name: str, tmp_path: Path) -> None:
    source = REFUSED / f"{name}.rs"
    text = source.read_text("utf-8")
    command = [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(tmp_path / name)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 1, built.stderr
    assert "internal error" not in built.stderr
    assert not (tmp_path / name).exists()
    blocks = built.stderr.split("\nerror: ")
    for derivative in NAME.findall(text):
        (block,) = [block for block in blocks if f"`{derivative}`" in block]
        for found in MARK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            assert f"{name}.rs:{line}:" in block and found.group(1) in block, block
