"""Running code in this process."""

from __future__ import annotations

from ctypes import c_double, c_size_t, c_uint64

import pytest

from ferrodiff.adcore.backend import allocator
from ferrodiff.adcore.backend.jit import Jit, load_library
from ferrodiff.adcore.errors import BackendError, UnresolvedSymbols
from rust_ir import AD_FLAGS, UNOPTIMISED, rust_ir, rust_libraries

ALLOCATING = """
#[repr(align(64))]
#[derive(Clone, Copy)]
pub struct Aligned(f64);
#[unsafe(no_mangle)]
pub extern "C" fn grow(n: usize) -> f64 {
    let mut plain = Vec::new();
    let mut aligned = Vec::new();
    for i in 0..n {
        plain.push(i as f64);
        aligned.push(Aligned(i as f64));
    }
    assert!(aligned.as_ptr() as usize % 64 == 0);
    let zeros = vec![0.0f64; n];
    let many = vec![Aligned(0.0); n];
    plain.iter().sum::<f64>() + aligned.iter().map(|a| a.0).sum::<f64>()
        + zeros.iter().sum::<f64>() + many.iter().map(|a| a.0).sum::<f64>()
}
#[unsafe(no_mangle)]
pub extern "C" fn spread(n: u64) -> u64 {
    let handles: Vec<_> = (0..n).map(|i| std::thread::spawn(move || i * i)).collect();
    handles.into_iter().map(|h| h.join().unwrap()).sum()
}
"""


def test_mathematics_and_runtime_functions_are_found() -> None:
    text = """
declare double @llvm.tan.f64(double)
declare double @llvm.powi.f64.i32(double, i32)
declare double @cbrt(double)
define double @f(double %x) {
  %a = call double @llvm.tan.f64(double %x)
  %b = call double @llvm.powi.f64.i32(double %a, i32 3)
  %c = call double @cbrt(double %b)
  ret double %c
}
define i64 @divide(i64 %x) {
  %w = zext i64 %x to i128
  %s = shl i128 %w, 40
  %d = udiv i128 %s, 12345678901234567890123
  %r = trunc i128 %d to i64
  ret i64 %r
}"""
    with Jit(text) as jit:
        assert jit.function("f", c_double, c_double)(0.5) == pytest.approx(0.5463024898437905)
        divide = jit.function("divide", c_uint64, c_uint64)
        assert divide(1 << 63) == ((1 << 103) // 12345678901234567890123)


def test_unresolved_symbols_are_named() -> None:
    text = (
        "declare void @nobody()\ndeclare double @knows(double)\n@this = external global i32\n"
        "define i32 @f() {\n  call void @nobody()\n  %x = call double @knows(double 1.0)\n"
        "  %y = load i32, ptr @this\n  ret i32 %y\n}"
    )
    with pytest.raises(UnresolvedSymbols) as caught:
        Jit(text)
    assert caught.value.symbols == ("knows", "nobody", "this")
    assert "undefined symbols: knows, nobody, this" in str(caught.value)


def test_only_what_is_wanted_has_to_resolve() -> None:
    text = (
        "declare void @nobody()\ndefine void @f() {\n  call void @nobody()\n  ret void\n}\n"
        "define double @g(double %x) {\n  ret double %x\n}"
    )
    with Jit(text, exports=["g"]) as jit:
        assert jit.function("g", c_double, c_double)(2.0) == 2.0
        with pytest.raises(KeyError):
            jit.address("f")


def test_internal_functions_can_be_exported() -> None:
    text = "define internal double @g(double %x) {\n  ret double %x\n}"
    with Jit(text, exports=["g"], opt_level=3, cpu="generic") as jit:
        assert jit.function("g", c_double, c_double)(2.5) == 2.5


def test_wrong_exports() -> None:
    with pytest.raises(BackendError, match="no function"):
        Jit("", exports=["f"])
    with pytest.raises(BackendError, match="no body"):
        Jit("declare void @f()", exports=["f"])


def test_thread_local_variables_are_refused() -> None:
    text = "@t = thread_local global i32 0\ndefine i32 @f() {\n  %x = load i32, ptr @t\n  ret i32 %x\n}"
    with pytest.raises(BackendError, match="thread-local"):
        Jit(text)


def test_two_modules_live_side_by_side() -> None:
    one, two = (Jit(f"define double @f() {{\n  ret double {x}.0\n}}") for x in (1, 2))
    first, second = one.function("f", c_double), two.function("f", c_double)
    assert (first(), second()) == (1.0, 2.0)
    one.close()
    assert second() == 2.0
    two.close()


@pytest.mark.parametrize("flags", [AD_FLAGS, UNOPTIMISED], ids=["AD", "O0"])
def test_rust_code_with_its_library(flags: tuple[str, ...]) -> None:
    with Jit(
        rust_ir(ALLOCATING, flags), exports=["grow", "spread"], libraries=rust_libraries(), opt_level=2
    ) as jit:
        assert jit.function("grow", c_double, c_size_t)(100) == 99.0 * 100.0
        assert jit.function("spread", c_uint64, c_uint64)(4) == 14


def test_the_allocators_names() -> None:
    assert allocator.role_of("_RNvCsfLfy6EI15iL_7___rustc14___rust_dealloc") == "__rust_dealloc"
    assert allocator.role_of("__rust_alloc") == "__rust_alloc"
    assert allocator.role_of("my__rust_alloc") is None
    assert allocator.definitions(["sin"]) is None


def test_a_missing_library() -> None:
    with pytest.raises(BackendError, match="cannot load"):
        load_library("/nowhere/libnothing.so")
