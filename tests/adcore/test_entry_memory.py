"""Derivatives of plain LLVM functions that use memory and output as C does."""

from __future__ import annotations

import ctypes

import pytest

from ferrodiff.adcore.backend.passes import canonical
from ferrodiff.adcore.entry import Wanted, with_entry
from foreign_ir import Pair, compiled

ALIGNED = """
define double @f(double %x) {
entry:
  %blocks = alloca [3 x ptr]
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %i1, %fill ]
  %place = getelementptr [3 x ptr], ptr %blocks, i64 0, i64 %i
  %code = call i32 @posix_memalign(ptr %place, i64 16, i64 8)
  %block = load ptr, ptr %place
  %square = fmul double %x, %x
  store double %square, ptr %block
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 3
  br i1 %more, label %fill, label %sum
sum:
  %j = phi i64 [ 0, %fill ], [ %j1, %sum ]
  %s = phi double [ 0.0, %fill ], [ %s1, %sum ]
  %from = getelementptr [3 x ptr], ptr %blocks, i64 0, i64 %j
  %b = load ptr, ptr %from
  %v = load double, ptr %b
  call void @free(ptr %b)
  %j1 = add i64 %j, 1
  %w = uitofp i64 %j1 to double
  %t = fmul double %v, %w
  %s1 = fadd double %s, %t
  %again = icmp ult i64 %j1, 3
  br i1 %again, label %sum, label %done
done:
  ret double %s1
}
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
"""


@pytest.mark.parametrize(
    ("mode", "activity", "result"), [("reverse", "Active", "Active"), ("forward", "Dual", "Dual")]
)
def test_blocks_from_posix_memalign(mode: str, activity: str, result: str) -> None:
    text, _ = with_entry(canonical(ALIGNED), Wanted("f", "df", mode, (activity,), result))
    found = compiled(text).function("df", Pair, ctypes.c_double, ctypes.c_double)(1.5, 1.0)
    assert (found.first, found.second) == (13.5, 18.0)


# x^2 through a block, or x where there is none; what is freed is then null.
PERHAPS = """
define double @f(double %x, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %have, label %join
have:
  %m = call ptr @malloc(i64 8)
  %s = fmul double %x, %x
  store double %s, ptr %m
  br label %join
join:
  %p = phi ptr [ null, %entry ], [ %m, %have ]
  br i1 %some, label %use, label %done
use:
  %v = load double, ptr %p
  br label %done
done:
  %r = phi double [ %x, %join ], [ %v, %use ]
  call void @free(ptr %p)
  ret double %r
}
declare ptr @malloc(i64)
declare void @free(ptr)
"""


@pytest.mark.parametrize(("mode", "activity"), [("reverse", "Active"), ("forward", "Dual")])
def test_null_is_freed(mode: str, activity: str) -> None:
    text, _ = with_entry(canonical(PERHAPS), Wanted("f", "df", mode, (activity, "Const"), activity))
    kinds = [ctypes.c_double] * 2
    kinds.insert(1 if mode == "reverse" else 2, ctypes.c_int64)  # type: ignore[arg-type]
    call = compiled(text).function("df", Pair, *kinds)
    for n, expected in ((1, (9.0, 6.0)), (0, (3.0, 1.0))):
        found = call(3.0, n, 1.0) if mode == "reverse" else call(3.0, 1.0, n)
        assert (found.first, found.second) == expected


# x^n: a block grows by one number at a time, each the one before times x.
GROWN = """
define double @f(double %x, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %tail ]
  %old = phi ptr [ null, %entry ], [ %new, %tail ]
  %i1 = add i64 %i, 1
  %size = mul i64 %i1, 8
  %new = call ptr @realloc(ptr %old, i64 %size)
  %here = getelementptr double, ptr %new, i64 %i
  %first = icmp eq i64 %i, 0
  br i1 %first, label %begin, label %go
begin:
  store double %x, ptr %here
  br label %tail
go:
  %before = getelementptr double, ptr %here, i64 -1
  %v = load double, ptr %before
  %m = fmul double %v, %x
  store double %m, ptr %here
  br label %tail
tail:
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %head, label %done
done:
  %r = load double, ptr %here
  call void @free(ptr %new)
  ret double %r
}
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
"""


def test_a_block_that_grows_by_realloc() -> None:
    wanted = Wanted("f", "df", "reverse", ("Active", "Const"), "Active")
    text, _ = with_entry(canonical(GROWN), wanted)
    call = compiled(text).function("df", Pair, ctypes.c_double, ctypes.c_int64, ctypes.c_double)
    for n in (1, 2, 50):
        found = call(1.1, n, 2.0)
        assert found.first == pytest.approx(1.1**n, rel=1e-13)
        assert found.second == pytest.approx(2 * n * 1.1 ** (n - 1), rel=1e-13)


# For each k in 1..n an array of k numbers x (i + 1) on the stack, in a scope of its own, and one of words;
# the sum of the squares of the last numbers: x^2 (1 + 4 + ... + n^2). The array of words lives to the end of f.
SIZED = """
define double @f(double %x, i64 %n) {
entry:
  %words = alloca i64, i64 %n, align 8
  store i64 0, ptr %words
  br label %head
head:
  %k = phi i64 [ 1, %entry ], [ %k1, %next ]
  %s = phi double [ 0.0, %entry ], [ %s1, %next ]
  %outer = call ptr @llvm.stacksave.p0()
  %marks = alloca i64, i64 %k, align 8
  store i64 %k, ptr %marks
  %saved = call ptr @llvm.stacksave.p0()
  %t = alloca double, i64 %k, align 16
  br label %fill
fill:
  %i = phi i64 [ 0, %head ], [ %i1, %fill ]
  %place = getelementptr double, ptr %t, i64 %i
  %i1 = add i64 %i, 1
  %w = sitofp i64 %i1 to double
  %m = fmul double %x, %w
  store double %m, ptr %place
  %more = icmp slt i64 %i1, %k
  br i1 %more, label %fill, label %next
next:
  %v = load double, ptr %place
  %q = fmul double %v, %v
  %s1 = fadd double %s, %q
  call void @llvm.stackrestore.p0(ptr %saved)
  %mark = load i64, ptr %marks
  call void @llvm.stackrestore.p0(ptr %outer)
  %k1 = add i64 %mark, 1
  %again = icmp sle i64 %k1, %n
  br i1 %again, label %head, label %done
done:
  %zero = load i64, ptr %words
  %z = sitofp i64 %zero to double
  %r = fadd double %s1, %z
  ret double %r
}
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
"""


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_stack_memory_of_a_size_known_at_run_time(mode: str) -> None:
    activity = "Active" if mode == "reverse" else "Dual"
    text, _ = with_entry(canonical(SIZED), Wanted("f", "df", mode, (activity, "Const"), activity))
    orders = {"reverse": (0, 2, 1), "forward": (0, 1, 2)}
    kinds = [ctypes.c_double, ctypes.c_double, ctypes.c_int64]
    call = compiled(text).function("df", Pair, *[kinds[k] for k in orders[mode]])
    for n in (1, 4, 30):
        given = (1.5, 1.0, n)
        found = call(*[given[k] for k in orders[mode]])
        squares = n * (n + 1) * (2 * n + 1) / 6
        assert found.first == pytest.approx(2.25 * squares, rel=1e-14)
        assert found.second == pytest.approx(3 * squares, rel=1e-14)


# x^3, and the text of x^2 in the buffer.
SAID = """
@format = private constant [5 x i8] c"%.2f\\00"
define double @f(double %x, ptr %buffer) {
  %s = fmul double %x, %x
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %buffer, i64 16, ptr @format, double %s)
  %r = fmul double %s, %x
  ret double %r
}
declare i32 @snprintf(ptr, i64, ptr, ...)
"""


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_numbers_that_are_printed(mode: str) -> None:
    activity = "Active" if mode == "reverse" else "Dual"
    text, _ = with_entry(canonical(SAID), Wanted("f", "df", mode, (activity, "Const"), activity))
    buffer = ctypes.create_string_buffer(16)
    jit = compiled(text)
    if mode == "reverse":
        found = jit.function("df", Pair, ctypes.c_double, ctypes.c_char_p, ctypes.c_double)(2.0, buffer, 1.0)
    else:
        found = jit.function("df", Pair, ctypes.c_double, ctypes.c_double, ctypes.c_char_p)(2.0, 1.0, buffer)
    assert (found.first, found.second, buffer.value) == (8.0, 12.0, b"4.00")
