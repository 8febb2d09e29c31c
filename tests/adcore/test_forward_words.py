"""Forward mode: words of memory that are not typed - constants, fills, tables, addresses as numbers, atomics, sret."""

from __future__ import annotations

import ctypes
import math
import struct

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical, text_after_ad
from ferrodiff.adcore.differentiate import Differentiated, differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry
from ferrodiff.adcore.forward.images import without_floats

DECLARATIONS = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
POINTER = ctypes.c_void_p


def differentiated(source: str, width: int) -> Differentiated:
    """The module with `df` for `void f(ptr x, ptr y)`; no pass has changed what is to be differentiated."""
    wanted = Wanted("f", "df", "forward", ("Dual", "Dual"), "None", width)
    text, _ = with_entry(canonical(source + DECLARATIONS), wanted)
    return differentiate_module(canonical(text))


def words(source: str, x: list[float], seeds: list[list[float]], count: int) -> tuple[bytes, list[bytes]]:
    """What `f` and its lanes write to ``count`` bytes of memory that is full of ones before."""
    done = differentiated(source, len(seeds))
    assert done.errors == [], [str(e) for e in done.errors]
    jit = Jit(text_after_ad(done.text), exports=["df"], cpu="generic")
    outs = [ctypes.create_string_buffer(b"\x01" * count, count) for _ in range(len(seeds) + 1)]
    inputs = [(ctypes.c_double * len(v))(*v) for v in (x, *seeds)]
    jit.function("df", None, *[POINTER] * (2 * len(inputs)))(*inputs, *outs)
    return outs[0].raw, [out.raw for out in outs[1:]]


def floats(data: bytes) -> tuple[float, ...]:
    """Doubles in memory."""
    return struct.unpack(f"<{len(data) // 8}d", data)


FILLED = """
define void @f(ptr %x, ptr %y) {
  %v = load double, ptr %x
  call void @llvm.memset.p0.i64(ptr %y, i8 BYTE, i64 24, i1 false)
  %p = getelementptr i8, ptr %y, i64 8
  store double %v, ptr %p
  ret void
}
"""


@pytest.mark.parametrize("byte", [0x3F, 0x40, 0xBF, 0x7F])
def test_fills_by_the_byte_of_a_float_have_no_tangent(byte: int) -> None:
    primal, lanes = words(FILLED.replace("BYTE", str(byte)), [2.0], [[1.0], [3.0]], 24)
    assert primal == bytes([byte] * 8) + struct.pack("<d", 2.0) + bytes([byte] * 8)
    assert [floats(lane) for lane in lanes] == [(0.0, 1.0, 0.0), (0.0, 3.0, 0.0)]


@pytest.mark.parametrize("byte", [0, 1, 0x80, 0xFF])
def test_fills_of_integers_hold_in_the_shadow(byte: int) -> None:
    primal, (lane,) = words(FILLED.replace("BYTE", str(byte)), [2.0], [[1.0]], 24)
    assert lane[:8] == primal[:8] == bytes([byte] * 8) and floats(lane)[1] == 1.0


TABLE = """
@text = private constant [4 x i8] c"word"
@table = private constant <{ [24 x i8], ptr, [8 x i8] }> <{ [24 x i8] c"BYTES", ptr @text, [8 x i8] c"\\04\\00\\00\\00\\00\\00\\00\\00" }>, align 8
define void @f(ptr %x, ptr %y) {
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr @table, i64 40, i1 false)
  %v = load double, ptr %x
  store double %v, ptr %y
  ret void
}
"""


def test_copies_of_tables_keep_all_but_floats() -> None:
    data = struct.pack("<ddq", math.pi, -1e-300, 7)
    source = TABLE.replace("BYTES", "".join(f"\\{byte:02X}" for byte in data))
    primal, lanes = words(source, [2.0], [[1.0], [3.0]], 40)
    assert primal[:24] == struct.pack("<ddq", 2.0, -1e-300, 7)
    for lane, tangent in zip(lanes, (1.0, 3.0), strict=True):
        assert lane == struct.pack("<ddq", tangent, 0.0, 7) + primal[24:]


CHOSEN_ENTRY = """
@table = private constant [4 x { i64, double }] [{ i64, double } { i64 3, double 2.0 }, { i64, double } { i64 5, double 4.0 },
  { i64, double } { i64 6, double 1.0 }, { i64, double } { i64 9, double 8.0 }], align 8
define void @f(ptr %x, ptr %y) {
  %v = load double, ptr %x
  %k = fptosi double %v to i64
  %p = getelementptr { i64, double }, ptr @table, i64 %k
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %p, i64 16, i1 false)
  %q = getelementptr i8, ptr %y, i64 8
  %w = load double, ptr %q
  %s = fmul double %w, %v
  store double %s, ptr %q
  %l = load i64, ptr %p
  %r = getelementptr i8, ptr %y, i64 16
  store i64 %l, ptr %r
  ret void
}
"""


def test_entries_of_tables_found_at_run_time() -> None:
    primal, (lane,) = words(CHOSEN_ENTRY, [3.5], [[0.5]], 24)
    assert primal == struct.pack("<qdq", 9, 28.0, 9)
    assert lane == struct.pack("<qdq", 9, 4.0, 9)


@pytest.mark.parametrize(
    ("table", "align", "kept"),
    [
        (struct.pack("<qd", 1, 2.5), 8, struct.pack("<qd", 1, 0.0)),
        (struct.pack("<if", 1, 2.5), 4, struct.pack("<if", 1, 0.0)),
        (struct.pack("<fi", 2.5, 1), 8, struct.pack("<fi", 0.0, 1)),
        (struct.pack("<qQ", -1, 1 << 63), 8, struct.pack("<qQ", -1, 1 << 63)),
        (struct.pack("<dd", math.inf, math.nan), 8, bytes(16)),
        (struct.pack("<d", 5e300), 8, bytes(8)),
        (b"some text", 1, b"some text"),
        (struct.pack("<Bd", 1, 2.5), 1, bytes(9)),
    ],
)
def test_what_of_a_table_may_be_a_float(table: bytes, align: int, kept: bytes) -> None:
    assert without_floats(table, align) == kept


MERGED = """
@text = private constant [4 x i8] c"word"
define void @f(ptr %x, ptr %y) {
  %v = load double, ptr %x
  %c = fcmp ogt double %v, 0.0
  %t = fcmp ogt double %v, 3.0
  br i1 %c, label %number, label %other
number:
  %m = select i1 %t, double 2.5, double %v
  %b = bitcast double %m to i64
  br label %join
other:
  %a = ptrtoint ptr @text to i64
  br label %join
join:
  %w = phi i64 [ %b, %number ], [ %a, %other ]
  %n = phi i64 [ 4613937818241073152, %number ], [ 4, %other ]
  store i64 %w, ptr %y
  %p = getelementptr i8, ptr %y, i64 8
  store i64 %n, ptr %p
  ret void
}
"""


def test_words_that_are_floats_by_one_way_and_addresses_by_another() -> None:
    primal, lanes = words(MERGED, [2.0], [[1.0], [3.0]], 16)
    assert floats(primal) == (2.0, 3.0) and [floats(lane) for lane in lanes] == [(1.0, 0.0), (3.0, 0.0)]
    primal, lanes = words(MERGED, [4.0], [[1.0]], 16)
    assert floats(primal) == (2.5, 3.0) and floats(lanes[0]) == (0.0, 0.0)
    primal, lanes = words(MERGED, [-1.0], [[1.0], [3.0]], 16)
    assert lanes == [primal, primal] and struct.unpack("<qq", primal)[1] == 4


ATOMIC = """
define void @f(ptr %x, ptr %y) {
  %a = alloca i64
  %v = load i64, ptr %x
  store i64 %v, ptr %a
  OPERATION
  %r = bitcast i64 %o to double
  %s = fmul double %r, 3.0
  store double %s, ptr %y
  ret void
}
"""


@pytest.mark.parametrize(
    "operation",
    [
        "%o = atomicrmw xchg ptr %a, i64 0 seq_cst",
        "%o = atomicrmw add ptr %a, i64 0 seq_cst",
        "%e = cmpxchg ptr %a, i64 0, i64 1 seq_cst seq_cst\n  %o = extractvalue { i64, i1 } %e, 0",
        "%e = cmpxchg ptr %a, i64 %v, i64 0 seq_cst seq_cst\n  %o = extractvalue { i64, i1 } %e, 0",
    ],
)
def test_what_atomic_operations_read_has_a_tangent(operation: str) -> None:
    primal, lanes = words(ATOMIC.replace("OPERATION", operation), [2.0], [[1.0], [0.5]], 8)
    assert floats(primal) == (6.0,) and [floats(lane) for lane in lanes] == [(3.0,), (1.5,)]


EXCHANGED = """
define void @f(ptr %x, ptr %y) {
  %v = load i64, ptr %x
  %p = getelementptr i8, ptr %x, i64 8
  %w = load i64, ptr %p
  %e = cmpxchg ptr %y, i64 EXPECTED, i64 %w seq_cst seq_cst
  ret void
}
"""


@pytest.mark.parametrize(("expected", "lane"), [(0x0101010101010101, 0.25), (5, None)])
def test_the_shadow_is_exchanged_where_the_primal_is(expected: int, lane: float | None) -> None:
    source = EXCHANGED.replace("EXPECTED", str(expected))
    primal, (shadow,) = words(source, [2.0, 7.0], [[1.0, 0.25]], 8)
    if lane is None:
        assert primal == shadow == b"\x01" * 8
    else:
        assert floats(primal) == (7.0,) and floats(shadow) == (lane,)


def test_floats_exchanged_by_atomic_operations_are_refused() -> None:
    source = """
define void @f(ptr %x, ptr %y) {
  %v = load double, ptr %x
  %b = bitcast double %v to i64
  %e = cmpxchg ptr %y, i64 0, i64 %b seq_cst seq_cst
  ret void
}
"""
    (error,) = differentiated(source, 1).errors
    assert "exchanged" in str(error) and error.help is not None


RETURNED = """
define internal void @made(ptr noalias sret({ double, i64, [2 x float] }) %r, double %v, float %s) noinline {
  %q = fmul double %v, %v
  store double %q, ptr %r
  %n = getelementptr i8, ptr %r, i64 8
  store i64 3, ptr %n
  %p = getelementptr i8, ptr %r, i64 16
  store float %s, ptr %p
  %l = getelementptr i8, ptr %r, i64 20
  store float 1.5, ptr %l
  ret void
}
define void @f(ptr %x, ptr %y) {
  %r = alloca { double, i64, [2 x float] }
  %v = load double, ptr %x
  %s = fptrunc double %v to float
  call void @made(ptr noalias sret({ double, i64, [2 x float] }) %r, double %v, float %s)
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %r, i64 24, i1 false)
  ret void
}
"""


def test_results_in_memory() -> None:
    primal, lanes = words(RETURNED, [2.0], [[1.0], [0.5]], 24)
    assert primal == struct.pack("<dqff", 4.0, 3, 2.0, 1.5)
    assert lanes == [struct.pack("<dqff", 4.0, 3, 1.0, 0.0), struct.pack("<dqff", 2.0, 3, 0.5, 0.0)]
