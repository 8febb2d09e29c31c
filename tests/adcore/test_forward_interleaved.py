"""Memory a function owns keeps the lanes of a float side by side: one vector load each, and the same numbers."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import text_after_ad
from tangents import derivative

POINTER = ctypes.c_void_p
SIZE = ctypes.c_size_t

DECLARATIONS = """
@table = private constant [4 x double] [double 1.0, double 2.0, double 3.0, double 4.0]
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare noalias ptr @malloc(i64) allockind("alloc,uninitialized") allocsize(0)
declare void @free(ptr) allockind("free")
"""


def recurrent(begin: str, body: str, end: str, array: str = "%w = alloca [4 x double]") -> str:
    """`f(x, n, out)`: a recurrence over x, whose state `%s` becomes `%t`, with scratch memory `%w`."""
    return f"""
define void @f(ptr noalias readonly %x, i64 %n, ptr noalias %out) {{
entry:
  {array}
  {begin}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 1.0, %entry ], [ %t, %loop ]
  %p = getelementptr inbounds double, ptr %x, i64 %i
  %v = load double, ptr %p
  %k = and i64 %i, 3
  {body}
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  {end}
  ret void
}}
{DECLARATIONS}
"""


CLEAR = "call void @llvm.memset.p0.i64(ptr %w, i8 0, i64 32, i1 false)"
STEP = """
  %q = getelementptr inbounds double, ptr %w, i64 %k
  %a = load double, ptr %q
  %m = fmul double %s, %v
  %b = fadd double %a, %m
  store double %b, ptr %q
  %h = fmul double %s, 5.0e-1
  %g = fmul double %b, 2.5e-1
  %t = fadd double %h, %g
"""
STORE = "store double %t, ptr %out"
AGAIN = """
  %w2 = getelementptr inbounds [4 x double], ptr %w, i64 0, i64 2
  %c = load double, ptr %w2
  %r = fadd double %t, %c
  store double %r, ptr %out
"""
COPIES = f"""
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %w, i64 32, i1 false)
  {AGAIN.replace("ptr %w,", "ptr %y,")}
"""
OUTWARDS = """
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %w, i64 32, i1 false)
"""


def reference(
    x: list[float], start: list[float], end: Callable[[float, list[float]], float]
) -> tuple[float, list[float]]:
    """What `f` makes, and its gradient by a sweep of its own: reverse accumulation written by hand."""
    w, s = list(start), 1.0
    history = []
    for i, v in enumerate(x):
        history.append((s, v))
        w[i & 3] += s * v
        s = 0.5 * s + 0.25 * w[i & 3]
    value = end(s, w)
    bar_s, bar_w = end(1.0, [0.0] * 4), [end(0.0, [float(j == k) for j in range(4)]) for k in range(4)]
    gradient = [0.0] * len(x)
    for i in range(len(x) - 1, -1, -1):
        s, v = history[i]
        bar_w[i & 3] += 0.25 * bar_s
        gradient[i] = bar_w[i & 3] * s
        bar_s = 0.5 * bar_s + bar_w[i & 3] * v
    return value, gradient


ZEROS, TABLE = [0.0] * 4, [1.0, 2.0, 3.0, 4.0]
FROM_TABLE = "call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr @table, i64 32, i1 false)"
WALK = """
  br label %walk
walk:
  %at = phi ptr [ %w, %exit ], [ %after, %walk ]
  %sum = phi double [ %t, %exit ], [ %more, %walk ]
  %e = load double, ptr %at
  %more = fadd double %sum, %e
  %after = getelementptr inbounds i8, ptr %at, i64 8
  %stop = getelementptr inbounds i8, ptr %w, i64 32
  %end = icmp eq ptr %after, %stop
  br i1 %end, label %finish, label %walk
finish:
  store double %more, ptr %out
"""
HEAP = "%w = call ptr @malloc(i64 32)"
PROGRAMS = {
    "an array on the stack": (recurrent(CLEAR, STEP, STORE), ZEROS, lambda s, w: s),
    "constant steps": (recurrent(CLEAR, STEP, AGAIN), ZEROS, lambda s, w: s + w[2]),
    "copied from a table": (recurrent(FROM_TABLE, STEP, AGAIN), TABLE, lambda s, w: s + w[2]),
    "copied to another": (
        recurrent(CLEAR, STEP, COPIES, "%w = alloca [4 x double]\n  %y = alloca [4 x double]"),
        ZEROS,
        lambda s, w: s + w[2],
    ),
    "copied to the caller": (recurrent(CLEAR, STEP, OUTWARDS), ZEROS, lambda s, w: w[0]),
    "steps in bytes": (
        recurrent(
            CLEAR,
            STEP.replace(
                "%q = getelementptr inbounds double", "%kk = shl i64 %k, 3\n  %q = getelementptr inbounds i8"
            ).replace("ptr %w, i64 %k", "ptr %w, i64 %kk"),
            AGAIN,
        ),
        ZEROS,
        lambda s, w: s + w[2],
    ),
    "an address that walks": (recurrent(CLEAR, STEP, WALK), ZEROS, lambda s, w: s + sum(w)),
    "a block on the heap": (
        recurrent(CLEAR, STEP, f"{AGAIN}\n  call void @free(ptr %w)", HEAP),
        ZEROS,
        lambda s, w: s + w[2],
    ),
}


def shadows(text: str) -> list[str]:
    """The memory that the derivative of `f` takes: what stands after `alloca`, or a block's size."""
    return re.findall(r"shadow\S* = (?:alloca |[^\n]*@(?:malloc|calloc)\((?:i64 1, )?)([^,\n)]*)", text)


def single(text: str) -> bool:
    """Whether every shadow of the function's own memory holds all four lanes."""
    found = shadows(text)
    return bool(found) and all(size in ("[128 x i8]", "i64 128") for size in found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_own_memory_is_interleaved_and_every_lane_is_right(name: str) -> None:
    source, start, end = PROGRAMS[name]
    assert single(derivative(source, 4))
    point = [random.Random(5).uniform(-1.0, 1.0) for _ in range(11)]
    directions = [[random.Random(k).uniform(-1.0, 1.0) for _ in range(11)] for k in range(5)]
    value, gradient = reference(point, start, end)
    alone: dict[int, float] = {}
    for width in (1, 3, 4, 5):
        jit = Jit(text_after_ad(derivative(source, width)), exports=["df"], cpu="generic")
        kinds = [POINTER] * (width + 1)
        outs = [(ctypes.c_double * 4)() for _ in range(width + 1)]
        arrays = [(ctypes.c_double * 11)(*v) for v in (point, *directions[:width])]
        places = [ctypes.addressof(out) for out in outs]
        jit.function("df", None, *kinds, SIZE, *kinds)(arrays[0], *arrays[1:], 11, *places)
        assert outs[0][0] == pytest.approx(value, rel=1e-14)
        for lane, (direction, out) in enumerate(zip(directions, outs[1:], strict=False)):
            expected = sum(g * d for g, d in zip(gradient, direction, strict=True))
            assert out[0] == pytest.approx(expected, rel=1e-13)
            assert out[0] == alone.setdefault(lane, out[0])


APART = {
    "its address is stored": recurrent(
        CLEAR,
        STEP,
        """
  store ptr %w, ptr %box
  %second = getelementptr ptr, ptr %box, i64 1
  store ptr %x, ptr %second
  %which = and i64 %n, 1
  %third = getelementptr ptr, ptr %box, i64 %which
  %held = load ptr, ptr %third
  %e = load double, ptr %held
  store double %e, ptr %out
""",
        "%w = alloca [4 x double]\n  %box = alloca [2 x ptr]",
    ),
    "floats of two types": recurrent(
        CLEAR, STEP, "%z = load float, ptr %w\n  %y = fpext float %z to double\n  store double %y, ptr %out"
    ),
    "steps that may be no whole floats": recurrent(
        CLEAR, STEP.replace("double, ptr %w, i64 %k", "i8, ptr %w, i64 %k"), AGAIN
    ),
    "an address chosen from the caller's": recurrent(
        CLEAR,
        STEP,
        "%c = icmp ugt i64 %n, 3\n  %z = select i1 %c, ptr %w, ptr %x\n  %e = load double, ptr %z\n"
        "  store double %e, ptr %out",
    ),
    "a loop that runs along the slice": recurrent(
        CLEAR,
        STEP.replace("fmul double %s, %v", "fmul double %v, %v")
        .replace("%h = fmul double %s, 5.0e-1", "")
        .replace("%g = fmul double %b, 2.5e-1", "")
        .replace("fadd double %h, %g", "fadd double %s, %b"),
        AGAIN,
    ),
}


@pytest.mark.parametrize("name", APART)
def test_other_memory_has_a_shadow_for_each_lane(name: str) -> None:
    found = shadows(derivative(APART[name], 4))
    assert found and "[128 x i8]" not in found
