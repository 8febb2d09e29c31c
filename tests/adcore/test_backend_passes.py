"""The pipelines before and after differentiation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ferrodiff.adcore.backend.objects import emit_assembly, emit_ir, emit_object
from ferrodiff.adcore.backend.passes import (
    after_ad,
    before_ad,
    canonical,
    drop_unused,
    parse,
    text_after_ad,
    text_before_ad,
)
from ferrodiff.adcore.backend.target import cpu_and_features, target_machine
from ferrodiff.adcore.errors import BackendError
from ferrodiff.adcore.ir.instructions import Call, Phi
from ferrodiff.adcore.ir.module import Module
from rust_ir import rust_bitcode, rust_ir

SOURCE = (Path(__file__).parent / "data" / "kernels.rs").read_text()
VECTOR = re.compile(r"<\d+ x (?:double|float|i\d+)>")


def prepared() -> Module:
    return Module.parse(text_before_ad(rust_ir(SOURCE)))


def test_before_ad_neither_vectorises_nor_unrolls() -> None:
    module = prepared()
    for name in ("axpy", "product", "largest"):
        text = "\n".join(str(i) for i in module.function(name).instructions())
        assert not VECTOR.search(text)
    product = module.function("product")
    loops = [b for b in product.blocks if any(b in s.successors for s in product.blocks) and b.phis]
    assert len(loops) >= 3, "the loops of known trip count stand"
    loads = [i for i in product.instructions() if i.opcode == "load"]
    assert len(loads) <= 4


def test_before_ad_inlines_and_promotes() -> None:
    module = prepared()
    axpy = module.function("axpy")
    assert not any(i.opcode == "alloca" for i in axpy.instructions())
    called = [i.callee_name or "" for i in axpy.instructions() if isinstance(i, Call)]
    assert all(name.startswith(("llvm.assume", "llvm.experimental.noalias")) for name in called)


def test_loops_are_in_simplified_and_closed_form() -> None:
    product = prepared().function("product")
    predecessors = product.predecessors()
    order = {b: i for i, b in enumerate(product.blocks)}
    for block in product.blocks:
        latches = [p for p in predecessors[block] if block in p.successors and order[p] >= order[block]]
        assert len(latches) <= 1
        if latches and len(predecessors[block]) == 2:
            entering = next(p for p in predecessors[block] if p is not latches[0])
            assert entering.successors == [block], "every loop has a preheader"


def test_after_ad_vectorises() -> None:
    text = text_after_ad(rust_ir(SOURCE), opt_level=3)
    axpy = Module.parse(text).function("axpy")
    assert VECTOR.search("\n".join(str(i) for i in axpy.instructions()))


def test_levels() -> None:
    text = rust_ir(SOURCE)
    plain = Module.parse(text_after_ad(text, opt_level=0)).function("axpy")
    best = Module.parse(text_after_ad(text, opt_level=3)).function("axpy")
    assert any(i.opcode == "alloca" for i in plain.instructions())
    assert any(isinstance(i, Phi) for i in best.instructions())


def test_bitcode_and_text_are_read() -> None:
    text = canonical(rust_bitcode(SOURCE))
    assert canonical(text).endswith(text)
    with pytest.raises(BackendError):
        canonical(b"no bitcode")
    with pytest.raises(BackendError):
        canonical("define nonsense")
    with pytest.raises(BackendError):
        parse("define i32 @f() {\n  %a = add i32 %b, 1\n  %b = add i32 1, 1\n  ret i32 %a\n}")


def test_in_place_and_as_text_are_the_same() -> None:
    text = rust_ir(SOURCE)
    module = parse(text)
    before_ad(module)
    assert str(module) == text_before_ad(text)
    module = parse(text)
    after_ad(module, opt_level=1)
    assert str(module) == text_after_ad(text, opt_level=1)


def test_unused_functions_are_dropped() -> None:
    module = parse("define internal void @a() {\n  ret void\n}\ndefine void @b() {\n  ret void\n}")
    drop_unused(module)
    assert [f.name for f in module.functions] == ["b"]


def test_machine_code() -> None:
    module = parse(text_after_ad(rust_ir(SOURCE)))
    data = emit_object(module)
    assert data[:4] == b"\x7fELF" and b"mathematics" in data
    assembly = emit_assembly(module)
    assert "axpy:" in assembly
    assert emit_ir(module) == str(module)


def test_processors() -> None:
    assert cpu_and_features("generic") == ("", "")
    assert cpu_and_features("x86-64-v3") == ("x86-64-v3", "")
    name, features = cpu_and_features("native")
    assert name and features
    text = (
        "define <8 x double> @f(<8 x double> %x) {\n  %y = fadd <8 x double> %x, %x\n  ret <8 x double> %y\n}"
    )
    assert "%ymm" in emit_assembly(parse(text), cpu="x86-64-v3")
    assert "%ymm" not in emit_assembly(parse(text), cpu="generic")
    with pytest.raises(BackendError):
        target_machine(triple="nowhere-unknown-none")
