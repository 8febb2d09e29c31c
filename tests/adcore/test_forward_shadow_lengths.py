"""Shadows that are too short stop the program with the parameter's name and both lengths, unless not checked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")

PROGRAM = """#![feature(autodiff)]
use std::autodiff::autodiff_forward;

#[autodiff_forward(dot_jvp, Dual, Const, Dual)]
#[autodiff_forward(dot_lanes, 2, Dual, Const, DualOnly)]
#[autodiff_forward(dot_strided, 3, Dualv, Const, DualOnly)]
fn dot(values: &[f64], weights: &[f64]) -> f64 {
    values.iter().zip(weights).map(|(v, w)| v * w).sum()
}

fn main() {
    let (x, w) = ([1.0, 2.0, 3.0, 4.0], [1.0, 10.0, 100.0, 1000.0]);
    let seeds: Vec<f64> = (0..12).map(f64::from).collect();
    match std::env::args().nth(1).as_deref() {
        Some("single") => println!("{:?}", dot_jvp(&x, &seeds[..3], &w)),
        Some("lanes") => println!("{:?}", dot_lanes(&x, &seeds[4..], &seeds[..3], &w)),
        Some("strided") => println!("{:?}", dot_strided(&x, &seeds[..11], &w)),
        _ => println!("{:?} {:?}", dot_jvp(&x, &seeds[..4], &w), dot_strided(&x, &seeds, &w)),
    }
}
"""

ENOUGH = "(4321.0, 3210.0) [3210.0, 7654.0, 12098.0]\n"
SHORT = {
    "single": ("shadow `bvalues_0` of `values` has length 3, but `values` has length 4", "(4321.0, 3210.0)"),
    "lanes": ("shadow `bvalues_1` of `values` has length 3, but `values` has length 4", "[7654.0, 3210.0]"),
    "strided": (
        "shadow `bvalues_0` of `values` has length 11, but `values` has length 4",
        "[3210.0, 7654.0, 12098.0]",
    ),
}
"""What is said of each call; what it gives unchecked, as there is memory behind the shadows."""


def build(folder: Path, *options: str) -> Path:
    source, output = folder / "lengths.rs", folder / "lengths"
    source.write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(output), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return output


def run(program: Path, case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, case], capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("checked"))


@pytest.fixture(scope="module")
def unchecked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("unchecked"), "--no-shadow-checks")


def test_long_enough_shadows(checked: Path, unchecked: Path) -> None:
    assert run(checked, "").stdout == run(unchecked, "").stdout == ENOUGH


@pytest.mark.parametrize("case", SHORT)
def test_too_short_a_shadow_panics_with_both_lengths(checked: Path, case: str) -> None:
    done = run(checked, case)
    assert done.returncode != 0 and done.stdout == ""
    assert SHORT[case][0] in done.stderr


@pytest.mark.parametrize("case", SHORT)
def test_checks_can_be_left_out(unchecked: Path, case: str) -> None:
    assert run(unchecked, case).stdout == SHORT[case][1] + "\n"


@pytest.mark.parametrize(("options", "present"), [((), True), (("--no-shadow-checks",), False)])
def test_checks_in_the_code(tmp_path: Path, options: tuple[str, ...], present: bool) -> None:
    text = build(tmp_path, "--emit", "llvm-ir", *options).read_text("utf-8")
    assert ("has length" in text) is present
