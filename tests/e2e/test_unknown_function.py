"""A pointer to a function that is not in the program: the derivative stops, it never answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")

PROGRAM = """
#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

unsafe extern "C" {
    safe fn cbrt(v: f64) -> f64;
}

extern "C" fn square(v: f64) -> f64 {
    v * v
}

#[autodiff_forward(jvp, Dual, Const, Dual)]
#[autodiff_reverse(vjp, Duplicated, Const, Active)]
fn chosen(x: &[f64], table: &[extern "C" fn(f64) -> f64]) -> f64 {
    x.iter().zip(table).map(|(v, f)| f(*v)).sum()
}

fn main() {
    let mut gradient = [0.0];
    assert_eq!(vjp(&[3.0], &mut gradient, &[square], 1.0), 9.0);
    assert_eq!(gradient, [6.0]);
    assert_eq!(jvp(&[3.0], &[1.0], &[square]), (9.0, 6.0));
    assert_eq!(chosen(&[8.0], &[cbrt]), 2.0);
    println!("so far so good");
    if std::env::args().count() == 1 {
        vjp(&[8.0], &mut gradient, &[cbrt], 1.0);
    } else {
        jvp(&[8.0], &[1.0], &[cbrt]);
    }
    println!("answered");
}
"""


def test_the_derivative_of_a_function_that_is_not_there_stops_the_program(tmp_path: Path) -> None:
    source, output = tmp_path / "chosen.rs", tmp_path / "chosen"
    source.write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-m", "ferrodiff.server", "build", str(source), "-o", str(output)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    for arguments in ([], ["forward"]):
        done = subprocess.run(
            [str(output), *arguments], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode < 0
        assert "so far so good" in done.stdout and "answered" not in done.stdout, done.stdout
        assert "a function through a pointer that is not in the program" in done.stderr, done.stderr
