"""Derivatives of plain LLVM functions, compiled and ready to be called."""

from __future__ import annotations

import ctypes

from ferrodiff.adcore.backend.inlining import inline_for_reverse
from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical, text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.foreign import replace_foreign_calls

SQUARE = """
define double @square(double %x) noinline optnone {
  %r = fmul double %x, %x
  ret double %r
}
"""


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_double), ("second", ctypes.c_double)]


def compiled(text: str) -> Jit:
    done = differentiate_module(inline_for_reverse(text_before_ad(text)))
    assert done.errors == []
    return Jit(text_after_ad(done.text))


def array(*values: float) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * len(values))(*values)


def served(text: str) -> Jit:
    return compiled(replace_foreign_calls(canonical(text))[0])
