"""The private Rust module at the end of a rewritten file.

It holds the two markers that the derivative compiler replaces, the layout tables, and the helpers with which
a generated body packs its parameters. Everything is `#[inline(always)]`: once a marker call has become a call
of the derivative, inlining and scalar replacement leave nothing of the packing behind.

The module works in every edition, without `std`, and without the prelude.
"""

from __future__ import annotations

from collections.abc import Iterable

MODULE = "__ferrodiff"
"""Name of the helper module."""

LINTS = (
    "warnings, unused, nonstandard_style, future_incompatible, unsafe_code, missing_docs, "
    "unsafe_op_in_unsafe_fn, unreachable_pub, unused_results, unused_qualifications, "
    "single_use_lifetimes, elided_lifetimes_in_paths, trivial_casts, missing_debug_implementations, "
    "missing_copy_implementations, unused_lifetimes, explicit_outlives_requirements, let_underscore_drop, "
    "improper_ctypes_definitions, non_ascii_idents, uncommon_codepoints, variant_size_differences, "
    "clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction"
)
"""Lints that are silenced on generated code: a user's `deny(..)` is about what the user wrote."""

_FEW_LINTS = "warnings, unsafe_code, missing_docs, clippy::all"


def lints(text: str) -> str:
    """The lints to silence in a file: all of `LINTS` only where the file denies something."""
    return LINTS if "deny" in text or "forbid" in text else _FEW_LINTS


_MARKER_PARAMETERS = (
    "request: *const u8, thunk: *const (), layout: *const usize, args: *const u8, dargs: *mut u8, "
    "result: *mut u8, dresult: *mut u8"
)

_HEAD = """\
#[doc(hidden)] #[allow(@LINTS@)]
mod __ferrodiff {
    use ::core::marker::{PhantomData, Sized};
    use ::core::mem::MaybeUninit;
    use ::core::ops::Fn;

    unsafe extern "C-unwind" {
        fn __ferrodiff_forward(@MARKER@);
        fn __ferrodiff_reverse(@MARKER@);
    }

    /// `[parameters, size of the tuple, size of the result, offset and size of each parameter...]`, in bytes.
    pub trait Layout<R> {
        const TABLE: &'static [usize];
    }
    /// Parameter number `I` of a tuple of primal parameters.
    pub trait Field<const I: usize> {
        type Type;
        const OFFSET: usize;
    }
"""

_BODY = """\
    /// One call of a derivative: the primal's parameters, and the types of its result and of the call itself.
    pub struct Call<A, R, F> {
        args: MaybeUninit<A>,
        body: PhantomData<(F, fn() -> R)>,
    }
    #[inline(always)]
    pub fn call<A, R, F: Fn(A) -> R>(args: A, _: F) -> Call<A, R, F> {
        const { ::core::assert!(::core::mem::size_of::<F>() == 0) };
        Call { args: MaybeUninit::new(args), body: PhantomData }
    }
    unsafe extern "C-unwind" fn thunk<A, R, F: Fn(A) -> R>(args: *const A, result: *mut R) {
        unsafe {
            let body = ::core::ptr::NonNull::<F>::dangling();
            result.write((*body.as_ptr())(args.read()))
        }
    }
    impl<A, R, F: Fn(A) -> R> Call<A, R, F> {
        #[inline(always)]
        pub unsafe fn shadows<const N: usize>(&self) -> [MaybeUninit<A>; N] {
            unsafe { MaybeUninit::<[MaybeUninit<A>; N]>::uninit().assume_init() }
        }
        #[inline(always)]
        pub unsafe fn result(&self) -> MaybeUninit<R> {
            MaybeUninit::uninit()
        }
        #[inline(always)]
        pub unsafe fn tangents<const N: usize>(&self) -> [MaybeUninit<R>; N] {
            unsafe { MaybeUninit::<[MaybeUninit<R>; N]>::zeroed().assume_init() }
        }
        #[inline(always)]
        pub unsafe fn seed<const N: usize>(&self, seeds: &mut [MaybeUninit<R>; N], lane: usize, seed: &R) {
            unsafe { ::core::ptr::copy_nonoverlapping(seed, seeds.as_mut_ptr().add(lane).cast::<R>(), 1) }
        }
        #[inline(always)]
        unsafe fn slot<const I: usize, const N: usize>(
            shadows: &mut [MaybeUninit<A>; N], lane: usize,
        ) -> *mut u8
        where
            A: Field<I>,
        {
            unsafe { shadows.as_mut_ptr().add(lane).cast::<u8>().add(A::OFFSET) }
        }
        #[inline(always)]
        pub unsafe fn set<const I: usize, S, const N: usize>(
            &self, shadows: &mut [MaybeUninit<A>; N], lane: usize, shadow: S,
        ) where
            A: Field<I>,
        {
            const { ::core::assert!(::core::mem::size_of::<S>() == ::core::mem::size_of::<A::Type>()) };
            unsafe { Self::slot::<I, N>(shadows, lane).cast::<S>().write(shadow) }
        }
        #[inline(always)]
        pub unsafe fn split<const I: usize, S: Slice, const N: usize>(
            &self, shadows: &mut [MaybeUninit<A>; N], lane: usize, shadow: &Lanes<S>,
        ) where
            A: Field<I>,
        {
            unsafe { self.set::<I, S, N>(shadows, lane, S::part(shadow.base, shadow.length, lane)) }
        }
        #[inline(always)]
        pub unsafe fn zero<const I: usize, const N: usize>(
            &self, shadows: &mut [MaybeUninit<A>; N], lane: usize,
        )
        where
            A: Field<I>,
        {
            unsafe { Self::slot::<I, N>(shadows, lane).cast::<A::Type>().write_bytes(0, 1) }
        }
        #[inline(always)]
        pub unsafe fn gradient<const I: usize, const N: usize>(
            &self, shadows: &mut [MaybeUninit<A>; N],
        ) -> A::Type
        where
            A: Field<I>,
        {
            unsafe { Self::slot::<I, N>(shadows, 0).cast::<A::Type>().read() }
        }
        #[inline(always)]
        pub unsafe fn forward<const N: usize>(
            &self, request: &'static str, shadows: &mut [MaybeUninit<A>; N], result: &mut MaybeUninit<R>,
            tangents: &mut [MaybeUninit<R>; N],
        ) where
            A: Layout<R>,
        {
            unsafe {
                __ferrodiff_forward(
                    request.as_ptr(), thunk::<A, R, F> as *const (), A::TABLE.as_ptr(),
                    self.args.as_ptr().cast(),
                    shadows.as_mut_ptr().cast(), result.as_mut_ptr().cast(), tangents.as_mut_ptr().cast(),
                )
            }
        }
        #[inline(always)]
        pub unsafe fn reverse<const N: usize>(
            &self, request: &'static str, shadows: &mut [MaybeUninit<A>; N], result: &mut MaybeUninit<R>,
            seeds: &mut [MaybeUninit<R>; N],
        ) where
            A: Layout<R>,
        {
            unsafe {
                __ferrodiff_reverse(
                    request.as_ptr(), thunk::<A, R, F> as *const (), A::TABLE.as_ptr(),
                    self.args.as_ptr().cast(),
                    shadows.as_mut_ptr().cast(), result.as_mut_ptr().cast(), seeds.as_mut_ptr().cast(),
                )
            }
        }
    }
    /// The tangent where the result is a float, the primal where it is not.
    #[inline(always)]
    pub fn tangent_of_float<R>(result: R, tangent: R) -> R {
        match ::core::any::type_name::<R>() {
            "f64" | "f32" | "f16" | "f128" => tangent,
            _ => result,
        }
    }

    /// A slice that holds the shadows of all lanes one after the other.
    pub struct Lanes<S: Slice> {
        base: *mut S::Element,
        length: usize,
    }
    pub trait Slice: Sized {
        type Element;
        fn base(self) -> *mut Self::Element;
        fn length(&self) -> usize;
        unsafe fn part(base: *mut Self::Element, length: usize, lane: usize) -> Self;
    }
    impl<'a, T> Slice for &'a [T] {
        type Element = T;
        #[inline(always)]
        fn base(self) -> *mut T { self.as_ptr() as *mut T }
        #[inline(always)]
        fn length(&self) -> usize { self.len() }
        #[inline(always)]
        unsafe fn part(base: *mut T, length: usize, lane: usize) -> Self {
            unsafe { ::core::slice::from_raw_parts(base.add(lane * length), length) }
        }
    }
    impl<'a, T> Slice for &'a mut [T] {
        type Element = T;
        #[inline(always)]
        fn base(self) -> *mut T { self.as_mut_ptr() }
        #[inline(always)]
        fn length(&self) -> usize { self.len() }
        #[inline(always)]
        unsafe fn part(base: *mut T, length: usize, lane: usize) -> Self {
            unsafe { ::core::slice::from_raw_parts_mut(base.add(lane * length), length) }
        }
    }
    #[inline(always)]
    pub fn lanes<S: Slice>(shadow: S, length: usize) -> Lanes<S> {
        Lanes { base: shadow.base(), length }
    }
    #[inline(always)]
    pub fn length<S: Slice>(slice: &S) -> usize {
        slice.length()
    }
    #[inline(always)]
    pub fn check(shadow: &'static str, found: usize, primal: &'static str, length: usize, lanes: usize) {
        if found < length * lanes {
            too_short(shadow, found, primal, length, lanes)
        }
    }
    #[cold]
    #[inline(never)]
    fn too_short(shadow: &'static str, found: usize, primal: &'static str, length: usize, lanes: usize) -> ! {
        if lanes == 1 {
            ::core::panic!(
                "shadow `{}` of `{}` has length {}, but `{}` has length {}",
                shadow, primal, found, primal, length
            )
        }
        ::core::panic!(
            "shadow `{}` of `{}` has length {}, but `{}` has length {} and {} lanes need {}",
            shadow, primal, found, primal, length, lanes, length * lanes
        )
    }
}
"""


def support_module(arities: Iterable[int], silenced: str) -> str:
    """The helper module's text for derivatives of functions with the given numbers of parameters."""
    head = _HEAD.replace("@LINTS@", silenced).replace("@MARKER@", _MARKER_PARAMETERS)
    tables = "".join(_tuple_impls(n) for n in sorted(set(arities)))
    return head + tables + _BODY


def _tuple_impls(arity: int) -> str:
    """`Layout` and `Field` for tuples of one arity."""
    names = [f"A{i}" for i in range(arity)]
    parameters = "".join(f", {name}" for name in names)
    tuple_type = "(" + "".join(f"{name}, " for name in names) + ")"
    entries = "".join(
        f", ::core::mem::offset_of!(Self, {i}), ::core::mem::size_of::<{name}>()"
        for i, name in enumerate(names)
    )
    lines = [
        f"    impl<R{parameters}> Layout<R> for {tuple_type} {{",
        f"        const TABLE: &'static [usize] = &[{arity}, ::core::mem::size_of::<Self>(), "
        f"::core::mem::size_of::<R>(){entries}];",
        "    }",
    ]
    lines += [
        f"    impl<{', '.join(names)}> Field<{i}> for {tuple_type} "
        f"{{ type Type = {name}; const OFFSET: usize = ::core::mem::offset_of!(Self, {i}); }}"
        for i, name in enumerate(names)
    ]
    return "\n".join(lines) + "\n"
