//! Single precision beside integers, moved whole: as words, in options, enums, vectors, by value, by copies of memory.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::mem::MaybeUninit;
// f32 data moved in bulk
#[derive(Clone, Copy, Debug, PartialEq)]
struct P2 {
    a: f32,
    b: f32,
}
#[derive(Clone, Copy)]
struct Mix {
    i: i32,
    f: f32,
}
#[derive(Clone, Copy)]
struct Mix3 {
    f: f32,
    i: u32,
    g: f32,
    b: bool,
}
#[derive(Clone, Copy)]
enum E {
    A(f32),
    B(f32, f32),
    C(i32),
    D { x: f32, n: u16 },
    N,
}
#[derive(Clone)]
struct Big {
    n: u32,
    v: [f32; 5],
    o: Option<f32>,
    t: (f32, bool),
    w: Vec<f32>,
    d: f64,
}
#[autodiff_forward(pairs_jvp, Dual, Dual)]
fn pairs(x: &[f64]) -> f64 {
    let mut v: Vec<P2> = x.windows(2).map(|w| P2 { a: w[0] as f32, b: (w[0] * w[1]) as f32 }).collect();
    v.swap(0, 2);
    let c = v.clone();
    v.extend(c.iter().rev().copied());
    v.rotate_left(1);
    let o: Option<P2> = v.pop();
    let p = o.unwrap_or(v[0]);
    v.iter().zip(1..).map(|(q, k)| (q.a * q.b.sin()) as f64 * k as f64).sum::<f64>() + (p.a - p.b) as f64
}

#[autodiff_forward(mixed3_jvp, Dual, Dual)]
#[autodiff_forward(mixed3_lanes, 3, Dualv, Dual)]
fn mixed3(x: &[f64]) -> f64 {
    let mut v = [Mix3 { f: 0.0, i: 1, g: 1.0, b: false }; 4];
    for (i, s) in x.chunks(2).enumerate() {
        v[i] = Mix3 { f: s[0] as f32, i: i as u32 + 2, g: s[1] as f32, b: s[0] > 0.0 };
    }
    let w = v;
    v[3] = w[1];
    v.swap(0, 1);
    let z: Vec<Mix3> = v.iter().chain(w.iter()).filter(|m| m.i > 1).copied().collect();
    z.iter().map(|m| (if m.b { m.f * m.g } else { m.f - m.g * m.i as f32 }) as f64).sum()
}

fn mk(i: usize, v: f64) -> E {
    match i % 5 {
        0 => E::A(v as f32),
        1 => E::B(v as f32, (v * v) as f32),
        2 => E::C(7),
        3 => E::D { x: v.sin() as f32, n: 3 },
        _ => E::N,
    }
}
fn ev(e: &E) -> f64 {
    match *e {
        E::A(a) => a as f64,
        E::B(a, b) => (a * b) as f64,
        E::C(i) => i as f64,
        E::D { x, n } => (x * n as f32) as f64,
        E::N => 1.0,
    }
}
#[autodiff_forward(enums_jvp, Dual, Dual)]
fn enums(x: &[f64]) -> f64 {
    let mut v: Vec<E> = x.iter().enumerate().map(|(i, w)| mk(i, *w)).collect();
    v.swap(0, 1);
    v.push(v[3]);
    let q = v.clone();
    v.rotate_left(2);
    v.insert(1, q[5]);
    let o: Option<E> = v.get(2).copied();
    let r: Result<E, f32> = if x[0] > 0.2 { Ok(v[1]) } else { Err(x[1] as f32) };
    v.iter().zip(1..).map(|(e, k)| ev(e) * k as f64).sum::<f64>()
        + o.as_ref().map_or(0.0, ev)
        + match r {
            Ok(e) => ev(&e),
            Err(f) => f as f64 * 3.0,
        }
}

#[inline(never)]
fn arr2(a: [f32; 2]) -> [f32; 2] {
    [a[1] * a[0], a[0] - 2.0 * a[1]]
}
#[inline(never)]
fn optf(a: f32, k: bool) -> Option<f32> {
    if k {
        Some(a * a)
    } else {
        None
    }
}
#[inline(never)]
fn fb(a: f32) -> (f32, bool) {
    (a.cos(), a > 0.0)
}
#[inline(never)]
fn mixf(m: Mix) -> Mix {
    Mix { i: m.i + 1, f: m.f * m.i as f32 }
}
#[inline(never)]
fn four(a: [f32; 4], b: P2) -> (P2, f32) {
    (P2 { a: a[0] * b.a, b: a[3] }, a[1] - a[2] * b.b)
}
#[inline(never)]
fn ef(e: E) -> E {
    match e {
        E::A(a) => E::B(a, a * a),
        E::B(a, b) => E::A(a - b),
        e => e,
    }
}
#[autodiff_forward(byvalue_jvp, Dual, Dual)]
#[autodiff_forward(byvalue_lanes, 3, Dualv, Dual)]
fn byvalue(x: &[f64]) -> f64 {
    let a = arr2([x[0] as f32, x[1] as f32]);
    let o = optf(x[2] as f32, x[3] > 0.0);
    let (c, k) = fb(x[3] as f32);
    let m = mixf(Mix { i: 4, f: x[4] as f32 });
    let (p, f) = four([a[0], a[1], c, m.f], P2 { a: x[5] as f32, b: x[0] as f32 });
    let e = ef(ef(mk(0, x[1])));
    (a[0] + a[1] * o.unwrap_or(0.5) + if k { c } else { -c } + m.f * m.i as f32 + p.a * p.b + f) as f64 + ev(&e)
}

#[autodiff_forward(bigs_jvp, Dual, Dual)]
fn bigs(x: &[f64]) -> f64 {
    let mk = |i: usize| Big {
        n: i as u32,
        v: std::array::from_fn(|j| x[(i + j) % 6] as f32),
        o: (i % 2 == 0).then_some(x[i] as f32),
        t: (x[i] as f32, i > 1),
        w: vec![x[i] as f32; i + 1],
        d: x[i],
    };
    let mut v: Vec<Big> = (0..4).map(mk).collect();
    v.swap(0, 3);
    let b = Box::new(v.remove(1));
    let c = (*b).clone();
    v.push(c);
    v.insert(0, *b);
    v.iter()
        .map(|b| {
            b.d * b.v.iter().sum::<f32>() as f64
                + (b.o.unwrap_or(1.0) * b.t.0) as f64
                + b.w.iter().product::<f32>() as f64 * b.n as f64
        })
        .sum()
}

union U {
    f: f32,
    i: u32,
}
union V {
    a: [f32; 2],
    d: u64,
}
#[autodiff_forward(unions_jvp, Dual, Dual)]
#[autodiff_forward(unions_lanes, 3, Dualv, Dual)]
fn unions(x: &[f64]) -> f64 {
    let u = U { f: x[0] as f32 };
    let w = U { i: unsafe { u.i } };
    let v = V { a: [x[1] as f32, x[2] as f32] };
    let z = V { d: unsafe { v.d } };
    unsafe { (w.f * z.a[0] + z.a[1].sin()) as f64 }
}

#[autodiff_forward(uninit_jvp, Dual, Dual)]
#[autodiff_forward(uninit_lanes, 3, Dualv, Dual)]
fn uninit(x: &[f64]) -> f64 {
    let mut a: [MaybeUninit<f64>; 4] = [const { MaybeUninit::uninit() }; 4];
    for (i, s) in a.iter_mut().enumerate() {
        s.write(x[i] * x[(i + 1) % 4]);
    }
    let a: [f64; 4] = unsafe { std::mem::transmute(a) };
    let mut b = MaybeUninit::<[f64; 6]>::uninit();
    unsafe {
        let p = b.as_mut_ptr() as *mut f64;
        std::ptr::copy_nonoverlapping(a.as_ptr(), p, 4);
        p.add(4).write(x[0]);
        p.add(5).write_unaligned(x[1]);
        std::ptr::copy(p, p.add(1), 4);
        std::ptr::swap(p, p.add(5));
    }
    let b = unsafe { b.assume_init() };
    b.iter().enumerate().map(|(i, v)| v * (i + 1) as f64).sum::<f64>() + a.iter().product::<f64>()
}

#[autodiff_forward(bytes_jvp, Dual, Dual)]
#[autodiff_forward(bytes_lanes, 3, Dualv, Dual)]
fn bytes(x: &[f64]) -> f64 {
    let b = x[0].to_ne_bytes();
    let c: [u8; 8] = b;
    let f = f64::from_ne_bytes(c);
    let be = f64::from_be_bytes(x[1].to_be_bytes());
    let bits = f64::from_bits(x[0].to_bits() ^ (1 << 63));
    let hi = (x[0].to_bits() >> 32) as u32;
    let ab = f64::from_bits(x[1].to_bits() & !(1 << 63));
    f * be + bits * 2.0 + ab + (hi & 0) as f64
}

#[path = "checks/differences.rs"]
mod differences;
use differences::check;

/// Relative tolerance of derivatives that pass single precision.
const SINGLE: f64 = 4e-3;

fn main() {
    check("pairs", 6, true, pairs, pairs_jvp, None);
    check("mixed3", 6, true, mixed3, mixed3_jvp, Some(mixed3_lanes));
    check("enums", 8, true, enums, enums_jvp, None);
    check("byvalue", 6, true, byvalue, byvalue_jvp, Some(byvalue_lanes));
    check("bigs", 6, true, bigs, bigs_jvp, None);
    check("unions", 3, true, unions, unions_jvp, Some(unions_lanes));
    check("uninit", 4, false, uninit, uninit_jvp, Some(uninit_lanes));
    check("bytes", 2, false, bytes, bytes_jvp, Some(bytes_lanes));
}
