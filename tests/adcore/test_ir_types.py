"""Types, constants and the data layout."""

from __future__ import annotations

import math
import struct

import llvmlite.binding as llvm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrodiff.adcore.backend.passes import canonical, parse
from ferrodiff.adcore.backend.target import target_machine
from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.names import quote_name, unquote_name
from ferrodiff.adcore.ir.text import parse_constant, parse_type
from ferrodiff.adcore.ir.types import ArrayType, FloatType, IntType, StructType, Type, VectorType
from ferrodiff.adcore.ir.values import (
    Constant,
    ConstFloat,
    ConstSplat,
    const,
    const_bytes,
    const_float,
    const_int,
    constant_number,
    is_zero,
    poison,
    zero,
)

X86_64 = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

scalars = st.sampled_from(
    [ty.i1, ty.i8, ty.i16, ty.i32, ty.i64, ty.i128, IntType(24), ty.f32, ty.f64, ty.ptr]
)
vectors = st.builds(VectorType, st.integers(1, 9), st.sampled_from([ty.i8, ty.i32, ty.f32, ty.f64, ty.ptr]))
all_types = st.recursive(
    st.one_of(
        scalars, vectors, st.sampled_from([FloatType("half"), FloatType("x86_fp80"), FloatType("fp128")])
    ),
    lambda inner: st.one_of(
        st.builds(ArrayType, st.integers(0, 5), inner),
        st.builds(StructType, st.lists(inner, max_size=4).map(tuple), st.booleans()),
    ),
    max_leaves=8,
)


@given(all_types)
def test_a_types_text_reads_as_the_same_object(kind: Type) -> None:
    assert parse_type(str(kind)) is kind


def test_types_are_interned() -> None:
    assert IntType(32) is ty.i32
    assert ArrayType(3, ty.f64) is ArrayType(3, ty.f64)
    assert StructType((ty.f64,)) is not StructType((ty.f64,), packed=True)
    assert ty.VoidType() is ty.void


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        (ty.f64, "f64"),
        (VectorType(4, ty.f32), "v4f32"),
        (ty.ptr, "p0"),
        (VectorType(2, ty.f64, True), "nxv2f64"),
    ],
)
def test_overload_suffixes(kind: Type, suffix: str) -> None:
    assert ty.mangled(kind) == suffix


@given(all_types)
def test_sizes_are_llvms(kind: Type) -> None:
    layout = DataLayout(X86_64)
    module = parse(f'target datalayout = "{X86_64}"\n@g = external global {kind}')
    data = llvm.create_target_data(X86_64)
    found = module.get_global_variable("g").global_value_type
    assert layout.size_of(kind) == data.get_abi_size(found)
    assert layout.align_of(kind) == data.get_abi_alignment(found)
    if isinstance(kind, StructType):
        offsets = tuple(data.get_element_offset(found, i) for i in range(len(kind.fields)))
        assert layout.offsets(kind) == offsets


def test_the_hosts_layout_is_understood() -> None:
    layout = DataLayout(str(target_machine().target_data))
    assert layout.size_of(ty.ptr) == 8
    assert layout.store_size(IntType(20)) == 3
    assert layout.size_of(IntType(20)) == 4
    assert layout.index_type() is ty.i64


def test_identified_structs_are_resolved() -> None:
    module = Module.parse(canonical("%t = type { i8, double }\n@g = external global [2 x %t]"))
    assert module.datalayout.size_of(module.globals["g"].value_type) == 32
    assert module.datalayout.field_at(ty.NamedType("t"), 1) == (8, ty.f64)
    with pytest.raises(TypeError):
        module.datalayout.size_of(ty.NamedType("unknown"))


@given(st.floats(width=64))
def test_doubles_are_exact(x: float) -> None:
    constant = const_float(ty.f64, x)
    read = parse_constant(constant.operand)
    assert read is constant
    assert isinstance(read, ConstFloat)
    assert struct.pack("<d", read.value) == struct.pack("<d", x)


@given(st.floats(width=32))
def test_singles_are_exact_and_llvm_reads_them(x: float) -> None:
    constant = const_float(ty.f32, x)
    assert constant_number(constant) == x or math.isnan(x)
    assert parse_constant(constant.operand) is constant


def test_spellings_of_one_number_are_one_object() -> None:
    assert parse_constant("double 1.000000e+00") is const_float(ty.f64, 1.0)
    assert parse_constant("float 0x3FB99999A0000000") is const_float(ty.f32, 0.1)
    assert const_float(ty.f64, 0.0) is not const_float(ty.f64, -0.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("half 0xH3C00", 1.0),
        ("bfloat 0xR3F80", 1.0),
        ("x86_fp80 0xK3FFF8000000000000000", 1.0),
        ("fp128 0xL00000000000000003FFF000000000000", 1.0),
        ("ppc_fp128 0xM40000000000000000000000000000000", 2.0),
        ("x86_fp80 0xKBFFF8000000000000000", -1.0),
        ("x86_fp80 0xK7FFF8000000000000000", math.inf),
    ],
)
def test_other_float_kinds(text: str, value: float) -> None:
    assert constant_number(parse_constant(text)) == value


@given(st.integers(-(2**70), 2**70), st.sampled_from([1, 8, 13, 32, 64, 128]))
def test_integers_wrap(value: int, bits: int) -> None:
    constant = const_int(IntType(bits), value)
    assert parse_constant(constant.operand) is constant
    assert int(constant_number(constant) or 0) % 2**bits == value % 2**bits


def test_vectors_get_splats() -> None:
    kind = VectorType(4, ty.f64)
    two = const_float(kind, 2.0)
    assert isinstance(two, ConstSplat) and constant_number(two) == 2.0
    assert two.ref == "splat (double 0x4000000000000000)"
    assert is_zero(const_float(kind, 0.0)) and not is_zero(const_float(kind, -0.0))
    assert const(VectorType(2, ty.ptr), 0) is zero(VectorType(2, ty.ptr))


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError):
        const_int(ty.f64, 1)
    with pytest.raises(TypeError):
        const_float(ty.i32, 1.0)
    with pytest.raises(TypeError):
        const_float(FloatType("fp128"), 0.1)


@given(st.binary(max_size=40))
def test_byte_strings(data: bytes) -> None:
    constant = const_bytes(data)
    assert parse_constant(constant.operand) is constant
    assert constant.data == data


@given(st.text(min_size=1, max_size=20))
def test_names_are_quoted_as_llvm_does(name: str) -> None:
    name = name.encode("utf-8", "replace").decode().replace("\0", "0")
    assert unquote_name(quote_name(name)) == name
    module = parse(f"@{quote_name(name)} = global i32 0")
    assert f"@{quote_name(name)} = global i32 0" in str(module)


def test_poison_and_zero() -> None:
    samples: list[Constant] = [
        zero(ty.i32),
        zero(ty.f64),
        zero(ty.ptr),
        zero(ArrayType(2, ty.i8)),
        poison(ty.i1),
    ]
    for constant in samples:
        assert parse_constant(constant.operand) is constant
