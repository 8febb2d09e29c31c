"""Wrong annotations: the installed rustc's errors against ours, as sets of (line, message)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ferrodiff.analysis.diagnostics import Severity
from ferrodiff.analysis.document import analyse

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is the oracle")

PRELUDE = "#![feature(autodiff)]\n#![allow(unused)]\nuse std::autodiff::{autodiff_forward, autodiff_reverse};\nfn main() {}\n"
CASES = [
    "#[autodiff_forward(df Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(df, Dual Active)]\nfn f(x: f64) -> f64 { x }",
    "#[cfg_attr(any(), autodiff_forward(df, Active, Dual))]\nfn f(x: f64) -> f64 { x }",
    "#[cfg_attr(all(), autodiff_forward(df, Active, Dual))]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual)]\nfn f(#[cfg(any())] y: f64, x: f64) {}",
    "mod m {\n pub mod n {\n use super::super::*;\n #[autodiff_reverse(df, Dual, Active)]\n fn f(x: f64) -> f64 { x }\n }\n}",
    "#[autodiff_reverse(d1, Dual, Foo)]\n#[autodiff_reverse(d2, Active, Duplicated)]\nfn f<T: Copy, const N: usize>(x: [T; N]) -> f64 { 0.0 }",
    "use std::autodiff::autodiff_forward as fw;\n#[fw(df, Dual, Reverse)]\nfn f(x: f64) -> f64 { x }",
    '#[autodiff_reverse(df, Duplicated)]\nunsafe extern "C" fn f(x: *const f64, y: *mut f64) {}',
    "#[autodiff_forward]\nfn f(x: f64) {}",
    "#[autodiff_forward()]\nfn f(x: f64) {}",
    '#[autodiff_forward = "x"]\nfn f(x: f64) {}',
    "#[autodiff_forward(df)]\nfn f(x: f64) {}",
    "#[autodiff_forward(df, Dual, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Foo, Bar)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, 4294967296, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, 4, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Duplicated, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(df, Dual, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(df, Duplicated, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(df, Duplicated, Duplicated)]\nfn f(x: &f64) -> f64 { *x }",
    "#[autodiff_forward(df, Dual, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Duplicated, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, None, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, None)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, None)]\nfn f(x: f64) { }",
    "#[autodiff_forward(df, Dual)]\nstruct S;",
    "#[autodiff_forward(df, Dual)]\nenum S {}",
    "#[autodiff_forward(df, Dual)]\nmod m {}",
    "#[autodiff_forward(df, Dual)]\nconst C: f64 = 1.0;",
    "#[autodiff_forward(df, Dual)]\nstatic C: f64 = 1.0;",
    "#[autodiff_forward(df, Dual)]\ntype C = f64;",
    "struct S;\n#[autodiff_forward(df, Dual)]\nimpl S {}",
    "#[autodiff_forward(df, Dual)]\ntrait T {}",
    'unsafe extern "C" {\n #[autodiff_forward(df, Dual, Dual)]\n fn f(x: f64) -> f64;\n}',
    "fn g() {\n #[autodiff_forward(df, Dual)]\n let x = |y: f64| y;\n}",
    "fn g() {\n let mut x = 1;\n #[autodiff_forward(df, Dual)]\n x = x + 3;\n}",
    "#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\nfn df() {}",
    "fn df() {}\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, Dual)]\n#[autodiff_reverse(df, Active, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\n#[autodiff_forward(df, Dual, Dual)]\nfn g(x: f64) -> f64 { x }",
    "#[autodiff_reverse(df, Duplicated, Const, Active)]\nfn f(x: &f64, dx_0: f64) -> f64 { *x }",
    "#[autodiff_reverse(df, Active, Active)]\nfn f(dret: f64) -> f64 { dret }",
    "#[autodiff_forward(df, 4u32, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, -1, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, , Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "mod m {\n #[autodiff_forward(df, Dual, Dual)]\n fn f(x: f64) -> f64 { x }\n}",
    "mod m {\n use super::*;\n #[autodiff_forward(df, Dual, Dual)]\n fn f(x: f64) -> f64 { x }\n}",
    "struct S { #[autodiff_forward(df)]\n x: f64 }",
    "fn g(#[autodiff_forward(df)] x: f64) {}",
    "enum E { #[autodiff_forward(df)]\n A }",
    "fn g(x: u8) { match x { #[autodiff_forward(df)]\n 0 => {} _ => {} } }",
    "trait T { fn f(&self, x: f64) -> f64; }\nstruct S;\nimpl T for S {\n #[autodiff_forward(df, Const, Dual, Dual)]\n fn f(&self, x: f64) -> f64 { x }\n}",
    "#[autodiff_forward(df, Dual(3), Dual = 1)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, Dual)]",
    "fn g() {\n #[autodiff_forward(df, Dual, Dual)]\n fn f(x: f64) -> f64 { x }\n fn df() {}\n}",
    "#[cfg(any())]\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }\n#[cfg(not(any()))]\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(\n  df,\n  Dual,\n  Frob,\n)]\nfn f(\n  x: f64,\n) -> f64 { x }",
    "#[autodiff_forward(df, Dual, ActiveOnly)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_forward(df, Dual, Dual)]\nfn f(x: &f64) -> &f64 { x }",
    "#[autodiff_forward(df, Dual, DualOnly)]\nfn f(x: &f64) -> &f64 { x }",
    "#[autodiff_forward(df, Dual, Const, Dual)]\nfn f<'a>(x: &'a f64, y: &f64) -> &'a f64 { x }",
    "#[autodiff_forward(df, Const, Dual)]\nfn f(x: &f64) -> &f64 { x }",
    "struct S<'a>(&'a f64);\n#[autodiff_forward(df, Dual, Dual)]\nfn f(x: &f64) -> S<'_> { S(x) }",
    "#[autodiff_reverse(DF, active, Active)]\nfn f(x: f64) -> f64 { x }",
]
# rustc crashes or accepts these; ours is an error all the same
OURS_ALONE = [
    "#[autodiff_forward(df, 0, Dual, Dual)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(df, Active, Active)]\nfn f((x, y): (f64, f64)) -> f64 { x }",
    "#[autodiff_reverse(df)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(a::df, Active, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(df, 2.0, Active, Active)]\nfn f(x: f64) -> f64 { x }",
    "#[autodiff_reverse(x, Active, Active)]\nfn f(x: f64) -> f64 { x }",
    '#[autodiff_forward(df, "Dual", Dual)]\nfn f(x: f64) -> f64 { x }',
    "#[autodiff_reverse(df, Active, Active)]\nfn f(x: &f64) -> f64 { *x }",
    "#[autodiff_forward(df, Dualv, Dual)]\nfn f(x: f64) -> f64 { x }",
]
# what the newer rules say differently from 1.95, and what other errors 1.95 adds
OLDER_RUSTC = "cannot find value"


def theirs(text: str, folder: Path) -> set[tuple[int, str]]:
    path = folder / f"case{abs(hash(text))}.rs"
    path.write_text(text, encoding="utf-8")
    command = ["rustc", "--edition", "2024", "--error-format=json", "-Zunpretty=expanded", str(path)]
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    found = set()
    for line in run.stderr.splitlines():
        if not line.startswith("{"):
            continue
        message = json.loads(line)
        primary = [span for span in message["spans"] if span["is_primary"]]
        if message["level"] == "error" and primary and not message["message"].startswith(OLDER_RUSTC):
            found.add((primary[0]["line_start"], message["message"]))
    return found


def ours(text: str) -> set[tuple[int, str]]:
    analysis = analyse(text)
    return {
        (analysis.source.line_col(d.span.start)[0] + 1, d.message)
        for d in analysis.diagnostics
        if d.severity is Severity.ERROR
    }


def test_same_errors_on_the_same_lines(tmp_path: Path) -> None:
    texts = [f"{PRELUDE}{case}\n" for case in CASES]
    with ThreadPoolExecutor(2) as pool:
        expected = list(pool.map(lambda text: theirs(text, tmp_path), texts))
    different = [
        f"{text[len(PRELUDE) :]}theirs {sorted(want)}\nours   {sorted(have)}\n"
        for text, want in zip(texts, expected, strict=True)
        if (have := ours(text)) != want
    ]
    assert not different, "\n".join(different)


@pytest.mark.parametrize("case", OURS_ALONE)
def test_what_rustc_crashes_on_is_an_error(case: str) -> None:
    assert ours(f"{PRELUDE}{case}\n")
