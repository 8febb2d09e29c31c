//! Constants that reach memory as words, by copies of tables, or by fills: none of them has a tangent.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
#[derive(Clone, Copy)]
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
struct M {
    n: u32,
    k: u32,
    f: f64,
}
#[inline(never)]
fn setp(v: &mut [P2], i: usize) {
    v[i] = P2 { a: 1.0, b: 2.0 };
}
#[inline(never)]
fn setm(v: &mut [Mix], i: usize) {
    v[i] = Mix { i: 3, f: 2.0 };
}
#[inline(never)]
fn seto(v: &mut [Option<f32>], i: usize) {
    v[i] = Some(1.5);
}
#[inline(never)]
fn setarr(v: &mut [[f32; 2]], i: usize) {
    v[i] = [1.5, 0.25];
}
const K: P2 = P2 { a: 3.0, b: 4.0 };
static S: [P2; 3] = [P2 { a: 3.0, b: 4.0 }; 3];
#[autodiff_forward(constants_jvp, Dual, Dual)]
#[autodiff_forward(constants_lanes, 3, Dualv, Dual)]
fn constants(x: &[f64]) -> f64 {
    let mut v: Vec<P2> = x.iter().map(|w| P2 { a: *w as f32, b: 1.0 }).collect();
    setp(&mut v, 1);
    v[2] = K;
    let i = (x[0].abs() * 2.0) as usize % 3;
    v[3] = S[i];
    let mut m: Vec<Mix> = x.iter().map(|w| Mix { i: 1, f: *w as f32 }).collect();
    setm(&mut m, 2);
    m.swap(2, 1);
    let mut o: Vec<Option<f32>> = x.iter().map(|w| Some(*w as f32)).collect();
    seto(&mut o, 0);
    o[2] = None;
    let mut a: Vec<[f32; 2]> = x.iter().map(|w| [*w as f32; 2]).collect();
    setarr(&mut a, 0);
    a.swap(0, 1);
    let s: f32 = v.iter().map(|p| p.a * p.a * p.b * p.b).sum::<f32>()
        + m.iter().map(|m| m.f * m.f * m.i as f32).sum::<f32>()
        + o.iter().flatten().map(|f| f * f).sum::<f32>()
        + a.iter().map(|a| a[0] * a[1] * a[0]).sum::<f32>();
    s as f64
}

#[autodiff_forward(splat_bytes_jvp, Dual, Dual)]
#[autodiff_forward(splat_bytes_lanes, 3, Dualv, Dual)]
fn splat_bytes(x: &[f64]) -> f64 {
    let mut a = [f64::from_bits(0x3f3f3f3f3f3f3f3f); 40];
    let n = (x[0].abs() * 9.0) as usize + 3;
    let mut b = vec![f32::from_bits(0x3f3f3f3f); n + 8];
    for i in 0..n {
        b[i % 5] = x[1] as f32;
    }
    a[n] = x[2];
    a[2] *= x[0];
    let s: f64 = a.iter().zip(1..).map(|(v, k)| v * v * 1e3 * k as f64).sum();
    s + std::hint::black_box(&b).iter().map(|v| *v as f64 * *v as f64).sum::<f64>() * 0.0 + b.len() as f64 * x[2]
}

#[autodiff_forward(bits_constant_jvp, Dual, Dual)]
#[autodiff_forward(bits_constant_lanes, 3, Dualv, Dual)]
fn bits_constant(x: &[f64]) -> f64 {
    let mut a = [0u64; 6];
    for i in 0..3 {
        a[i] = x[i].to_bits();
    }
    a[3] = 2.5f64.to_bits();
    a[4] = 0x4000000000000000;
    a[(x[0].abs() * 9.0) as usize % 3] = 0x4008000000000000;
    a.iter().map(|b| f64::from_bits(*b)).map(|f| f * f).sum()
}

#[autodiff_forward(halves_jvp, Dual, Dual)]
#[autodiff_forward(halves_lanes, 3, Dualv, Dual)]
fn halves(x: &[f64]) -> f64 {
    let p = (x[0] as f32, x[1] as f32);
    let w = (p.0.to_bits() as u64) << 32 | p.1.to_bits() as u64;
    let q = std::hint::black_box(&w);
    (f32::from_bits((*q >> 32) as u32) * f32::from_bits(*q as u32)) as f64
}

#[autodiff_forward(half_constant_jvp, Dual, Dual)]
#[autodiff_forward(half_constant_lanes, 3, Dualv, Dual)]
fn half_constant(x: &[f64]) -> f64 {
    let w = ((x[0] as f32).to_bits() as u64) << 32 | 1.5f32.to_bits() as u64;
    let mut b = [0u64; 3];
    let i = (x[1].abs() * 5.0) as usize % 3;
    b[i] = w;
    b[(i + 1) % 3] = 0x3f800000_40000000;
    let f = |q: u64| f32::from_bits((q >> 32) as u32).sin() * f32::from_bits(q as u32).exp();
    (f(b[i]) * f(b[(i + 1) % 3])) as f64
}

#[autodiff_forward(fills_jvp, Dual, Dual)]
#[autodiff_forward(fills_lanes, 3, Dualv, Dual)]
fn fills(x: &[f64]) -> f64 {
    let n = (x[0].abs() * 5.0) as usize + 5;
    let mut used = vec![usize::MAX; n];
    let mut flags = vec![true; n];
    let w = vec![-1i32; n];
    let mut v = vec![1.0; n];
    let mut z = vec![0.0; n];
    let mut q = vec![[-1i64; 2]; n];
    for i in 0..n {
        if flags[i] && w[i] < 0 {
            used[i] = i * 2 % n;
            v[i] *= x[i % 3];
            z[i] += x[1];
            flags[(i + 1) % n] = false;
            q[i][1] = used[i] as i64;
        }
    }
    (0..n).map(|i| v[i] * z[used[i].min(n - 1)] + q[i][1] as f64 * x[2]).sum()
}

#[autodiff_forward(mixed_fill_jvp, Dual, Dual)]
#[autodiff_forward(mixed_fill_lanes, 3, Dualv, Dual)]
fn mixed_fill(x: &[f64]) -> f64 {
    let mut v = [M { n: u32::MAX, k: u32::MAX, f: f64::from_bits(u64::MAX) }; 6];
    for i in 0..3 {
        v[i * 2] = M { n: i as u32, k: 1, f: x[i] };
    }
    v.iter().filter(|m| m.n != u32::MAX).map(|m| m.f * m.f * (m.n + m.k) as f64).sum()
}

#[autodiff_forward(struct_fill_jvp, Dual, Dual)]
#[autodiff_forward(struct_fill_lanes, 3, Dualv, Dual)]
fn struct_fill(x: &[f64]) -> f64 {
    let mut v = vec![f32::from_bits(0x3e3e3e3e); 37];
    v[3] = x[0] as f32;
    v[30] *= (x[1] * 3.0) as f32;
    std::hint::black_box(&v).iter().enumerate().map(|(i, f)| *f as f64 * (i % 5) as f64).sum::<f64>() * x[2]
}

#[autodiff_forward(none_fill_jvp, Dual, Dual)]
fn none_fill(x: &[f64]) -> f64 {
    let mut memo = vec![f64::NAN; 12];
    fn fib(n: usize, x: &[f64], m: &mut [f64]) -> f64 {
        if !m[n].is_nan() {
            return m[n];
        }
        let r = if n < 2 { x[n] } else { fib(n - 1, x, m) * x[2] + fib(n - 2, x, m) * x[3].sin() };
        m[n] = r;
        r
    }
    fib(11, x, &mut memo)
}

#[autodiff_forward(memo_option_jvp, Dual, Dual)]
fn memo_option(x: &[f64]) -> f64 {
    let mut memo: [[Option<f64>; 5]; 5] = [[None; 5]; 5];
    fn go(i: usize, j: usize, x: &[f64], m: &mut [[Option<f64>; 5]; 5]) -> f64 {
        if i == 0 || j == 0 {
            return x[(i + j) % 4];
        }
        if let Some(v) = m[i][j] {
            return v;
        }
        let r = go(i - 1, j, x, m) * 0.7 + (go(i, j - 1, x, m) * x[1]).sin();
        m[i][j] = Some(r);
        r
    }
    go(4, 4, x, &mut memo)
}

#[path = "checks/differences.rs"]
mod differences;
use differences::check;

/// Relative tolerance of derivatives that pass single precision.
const SINGLE: f64 = 4e-3;

fn main() {
    check("constants", 4, true, constants, constants_jvp, Some(constants_lanes));
    check("splat_bytes", 3, false, splat_bytes, splat_bytes_jvp, Some(splat_bytes_lanes));
    check("bits_constant", 3, false, bits_constant, bits_constant_jvp, Some(bits_constant_lanes));
    check("halves", 2, true, halves, halves_jvp, Some(halves_lanes));
    check("half_constant", 2, true, half_constant, half_constant_jvp, Some(half_constant_lanes));
    check("fills", 3, false, fills, fills_jvp, Some(fills_lanes));
    check("mixed_fill", 3, false, mixed_fill, mixed_fill_jvp, Some(mixed_fill_lanes));
    check("struct_fill", 3, true, struct_fill, struct_fill_jvp, Some(struct_fill_lanes));
    check("none_fill", 4, false, none_fill, none_fill_jvp, None);
    check("memo_option", 4, false, memo_option, memo_option_jvp, None);
}
