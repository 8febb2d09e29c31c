"""The corrected examples of the documentation are what rustc accepts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ferrodiff.analysis.diagnostics import codes


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is the oracle")
def test_rustc_expands_the_corrected_examples(tmp_path: Path) -> None:
    parts = ["#![feature(autodiff)]", "#![allow(warnings)]"]
    for code, rule in codes().items():
        text = rule.good.replace("#![feature(autodiff)]\n", "")
        if "use std::autodiff" not in text:
            text = f"use std::autodiff::*;\n{text}"
        parts.append(f"mod {code.lower()} {{\n{text}}}")
    source = tmp_path / "examples.rs"
    source.write_text("\n".join(parts) + "\nfn main() {}\n", "utf-8")
    command = ["rustc", "--edition", "2024", "-Zunpretty=expanded", str(source)]
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    errors = [line for line in run.stderr.splitlines() if line.startswith("error")]
    # 1.95 names the primal of a method without `Self::`
    assert not [e for e in errors if "cannot find value" not in e and "aborting" not in e], run.stderr
    assert run.stdout.count("rustc_autodiff") >= len(codes())
