//! Programs of numerical analysis: transforms, roots, splines, all methods, dual numbers within dual numbers.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::ops::*;
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dual2 {
    v: f64,
    d: f64,
}
impl Add for Dual2 {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Dual2 { v: self.v + o.v, d: self.d + o.d }
    }
}
impl Mul for Dual2 {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Dual2 { v: self.v * o.v, d: self.v * o.d + self.d * o.v }
    }
}
impl Dual2 {
    fn sin(self) -> Self {
        Dual2 { v: self.v.sin(), d: self.d * self.v.cos() }
    }
    fn sqrt(self) -> Self {
        let r = self.v.sqrt();
        Dual2 { v: r, d: self.d / (2.0 * r) }
    }
}
#[autodiff_forward(nested_dual_jvp, Dual, Dual)]
#[autodiff_forward(nested_dual_lanes, 3, Dualv, Dual)]
fn nested_dual(x: &[f64]) -> f64 {
    let f = |t: Dual2| (t * t + Dual2 { v: x[1], d: 0.0 }.sin()).sin() * (t * t + Dual2 { v: 2.0, d: 0.0 }).sqrt();
    let r = f(Dual2 { v: x[0], d: 1.0 });
    r.d * x[2] + r.v
}

trait Num:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    fn to(self) -> f64;
}
impl Num for f64 {
    fn to(self) -> f64 {
        self
    }
}
impl Num for f32 {
    fn to(self) -> f64 {
        self as f64
    }
}
#[autodiff_forward(fft_inplace_jvp, Dual, Dual)]
fn fft_inplace(x: &[f64]) -> f64 {
    let n = 8;
    let mut re = [0.0; 8];
    let mut im = [0.0; 8];
    re.copy_from_slice(x);
    let mut j = 0;
    for i in 1..n {
        let mut bit = n >> 1;
        while j & bit != 0 {
            j ^= bit;
            bit >>= 1;
        }
        j |= bit;
        if i < j {
            re.swap(i, j);
            im.swap(i, j);
        }
    }
    let mut len = 2;
    while len <= n {
        let a = std::f64::consts::TAU / len as f64;
        for i in (0..n).step_by(len) {
            for k in 0..len / 2 {
                let (s, c) = (a * k as f64).sin_cos();
                let (p, q) = (i + k, i + k + len / 2);
                let (tr, ti) = (re[q] * c - im[q] * s, re[q] * s + im[q] * c);
                re[q] = re[p] - tr;
                im[q] = im[p] - ti;
                re[p] += tr;
                im[p] += ti;
            }
        }
        len <<= 1;
    }
    re.iter().zip(&im).enumerate().map(|(k, (r, i))| (r * r + i * i).ln_1p() * (k + 1) as f64).sum()
}

fn lu_solve<T: Num, const N: usize>(mut a: [[T; N]; N], mut b: [T; N]) -> Option<[T; N]> {
    for k in 0..N {
        let p = (k..N).max_by(|i, j| a[*i][k].to().abs().partial_cmp(&a[*j][k].to().abs()).unwrap())?;
        if a[p][k].to() == 0.0 {
            return None;
        }
        a.swap(k, p);
        b.swap(k, p);
        for i in k + 1..N {
            let m = a[i][k] / a[k][k];
            for j in k..N {
                a[i][j] = a[i][j] - m * a[k][j];
            }
            b[i] = b[i] - m * b[k];
        }
    }
    for k in (0..N).rev() {
        for j in k + 1..N {
            b[k] = b[k] - a[k][j] * b[j];
        }
        b[k] = b[k] / a[k][k];
    }
    Some(b)
}
#[autodiff_forward(lu32_jvp, Dual, Dual)]
#[autodiff_forward(lu32_lanes, 3, Dualv, Dual)]
fn lu32(x: &[f64]) -> f64 {
    let a: [[f32; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|j| (x[(i + j) % 4] + if i == j { 3.0 } else { 0.0 }) as f32));
    lu_solve(a, [x[0] as f32, 1.0, x[1] as f32]).unwrap().iter().map(|v| v.to() * 2.0).sum()
}

struct Lcg(u64);
impl Lcg {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64) * (1.0 / (1u64 << 53) as f64)
    }
}
#[autodiff_forward(monte_carlo_jvp, Dual, Dual)]
fn monte_carlo(x: &[f64]) -> f64 {
    let mut g = Lcg(42);
    let n = 200;
    let mut s = 0.0;
    for _ in 0..n {
        let (u, v) = (g.next().max(1e-12), g.next());
        let z = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let p = (x[0] + x[1] * z).exp();
        s += if p > 1.0 { p - 1.0 } else { 0.0 } * x[2];
    }
    s / n as f64
}

#[autodiff_forward(bisect_secant_jvp, Dual, Dual)]
#[autodiff_forward(bisect_secant_lanes, 3, Dualv, Dual)]
fn bisect_secant(x: &[f64]) -> f64 {
    let f = |t: f64| t.exp() - 3.0 - x[0] * 0.2 * t - x[1] * 0.1;
    let (mut a, mut b) = (0.5, 2.0);
    let (mut fa, mut fb) = (f(a), f(b));
    for _ in 0..60 {
        let c = b - fb * (b - a) / (fb - fa);
        if !c.is_finite() || c == b {
            break;
        }
        a = b;
        fa = fb;
        b = c;
        fb = f(c);
        if fb == 0.0 || fb == fa {
            break;
        }
    }
    b
}

#[autodiff_forward(spline_jvp, Dual, Dual)]
#[autodiff_forward(spline_lanes, 3, Dualv, Dual)]
fn spline(x: &[f64]) -> f64 {
    let n = x.len();
    let h = 1.0;
    let mut c = vec![0.0; n];
    let (mut l, mut mu, mut z) = (vec![1.0; n], vec![0.0; n], vec![0.0; n]);
    for i in 1..n - 1 {
        let al = 3.0 / h * (x[i + 1] - x[i]) - 3.0 / h * (x[i] - x[i - 1]);
        l[i] = 4.0 * h - h * mu[i - 1];
        mu[i] = h / l[i];
        z[i] = (al - h * z[i - 1]) / l[i];
    }
    let (mut b, mut d) = (vec![0.0; n - 1], vec![0.0; n - 1]);
    for j in (0..n - 1).rev() {
        c[j] = z[j] - mu[j] * c[j + 1];
        b[j] = (x[j + 1] - x[j]) / h - h * (c[j + 1] + 2.0 * c[j]) / 3.0;
        d[j] = (c[j + 1] - c[j]) / (3.0 * h);
    }
    [0.3, 1.7, 3.2, 4.9]
        .iter()
        .map(|t: &f64| {
            let i = (*t as usize).min(n - 2);
            let s = t - i as f64;
            x[i] + s * (b[i] + s * (c[i] + s * d[i]))
        })
        .map(|v| v * v)
        .sum()
}

#[autodiff_forward(ackermannish_jvp, Dual, Dual)]
#[autodiff_forward(ackermannish_lanes, 3, Dualv, Dual)]
fn ackermannish(x: &[f64]) -> f64 {
    fn go(m: u32, n: u32, x: &[f64], depth: &mut f64) -> f64 {
        *depth = *depth * 0.99 + x[0];
        if m == 0 {
            (n as f64 + 1.0) * x[0]
        } else if n == 0 {
            go(m - 1, 1, x, depth)
        } else {
            let k = go(m, n - 1, x, depth);
            go(m - 1, (n + 1) % 4, x, depth) * 0.5 + k * x[1]
        }
    }
    let mut d = 0.0;
    go(2, 3, x, &mut d) + d
}

#[autodiff_forward(all_methods_jvp, Dual, Dual)]
#[autodiff_forward(all_methods_lanes, 3, Dualv, Dual)]
fn all_methods(x: &[f64]) -> f64 {
    let (a, b, c, d) = (x[0], x[1], x[2], x[3]);
    let p = a * a + 0.1;
    a.abs()
        + b.signum() * a
        + a.copysign(b)
        + a.mul_add(b, c)
        + a.div_euclid(0.7) * b
        + b.rem_euclid(0.31)
        + a.powi(-3)
        + p.powf(b)
        + p.sqrt()
        + a.exp()
        + a.exp2()
        + p.ln()
        + p.log(3.0 + c * c)
        + p.log2()
        + p.log10()
        + b.cbrt()
        + a.hypot(b)
        + a.sin()
        + a.cos()
        + (a * 0.5).tan()
        + (a * 0.5).asin()
        + (b * 0.5).acos()
        + c.atan()
        + a.atan2(b)
        + d.sin_cos().0 * c
        + a.exp_m1()
        + p.ln_1p()
        + a.sinh()
        + b.cosh()
        + c.tanh()
        + a.asinh()
        + (p + 1.5).acosh()
        + (a * 0.4).atanh()
        + a.fract() * c
        + a.trunc()
        + b.floor() * d
        + c.ceil() * a
        + d.round() * b
        + p.recip()
        + a.to_degrees() * 0.01
        + b.to_radians()
        + a.max(b)
        + c.min(d)
        + (c * 2.0).clamp(-0.5, 1.1)
        + if a.is_normal() { d } else { 0.0 }
        + a.max(f64::NAN)
        + (a % 0.25)
        + (-b)
        + a.total_cmp(&b) as i8 as f64 * d
        + c.round_ties_even() * a
}

#[path = "checks/differences.rs"]
mod differences;
use differences::check;

/// Relative tolerance of derivatives that pass single precision.
const SINGLE: f64 = 2e-3;

fn main() {
    check("nested_dual", 3, false, nested_dual, nested_dual_jvp, Some(nested_dual_lanes));
    check("fft_inplace", 8, false, fft_inplace, fft_inplace_jvp, None);
    check("lu32", 4, true, lu32, lu32_jvp, Some(lu32_lanes));
    check("monte_carlo", 3, false, monte_carlo, monte_carlo_jvp, None);
    check("bisect_secant", 2, false, bisect_secant, bisect_secant_jvp, Some(bisect_secant_lanes));
    check("spline", 6, false, spline, spline_jvp, Some(spline_lanes));
    check("ackermannish", 2, false, ackermannish, ackermannish_jvp, Some(ackermannish_lanes));
    check("all_methods", 4, false, all_methods, all_methods_jvp, Some(all_methods_lanes));
}
