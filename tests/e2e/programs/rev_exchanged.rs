//! Containers, arrays and fields exchanged, taken and replaced; words and bytes of floats moved.
#![feature(autodiff)]
use std::autodiff::*;

/// Compares a gradient with central differences.
fn check(name: &str, f: fn(&[f64]) -> f64, gradient: fn(&[f64], &mut [f64], f64) -> f64) {
    for x in [
        [0.62, -0.35, 1.4, 0.9, 0.11, -0.73],
        [1.21, 0.77, -0.9, -0.2, 0.45, 0.33],
    ] {
        let mut g = [0.0; 6];
        let y = gradient(&x, &mut g, 1.0);
        assert!(
            (y - f(&x)).abs() <= 1e-12 * y.abs().max(1.0),
            "{name}: {y}, not {}",
            f(&x)
        );
        for i in 0..6 {
            let (mut up, mut down) = (x, x);
            up[i] += 1e-6;
            down[i] -= 1e-6;
            let slope = (f(&up) - f(&down)) / 2e-6;
            assert!(
                (g[i] - slope).abs() < 1e-5 * slope.abs().max(1.0),
                "{name}, input {i}: {}, not {slope}",
                g[i]
            );
        }
    }
}

mod swap_vecs {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn step(a: &mut Vec<f64>, b: &mut Vec<f64>) {
        for i in 0..a.len() {
            b[i] = a[i] * a[i] * 0.5 + 0.1;
        }
        std::mem::swap(a, b);
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut a = x.to_vec();
        let mut b = vec![0.0; x.len()];
        for _ in 0..3 {
            step(&mut a, &mut b);
        }
        a.iter().sum::<f64>() + b[0]
    }
}

mod swap_arrays {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn step(a: &mut [f64; 6], b: &mut [f64; 6]) {
        for i in 0..6 {
            b[i] = a[i] * a[(i + 1) % 6];
        }
        std::mem::swap(a, b);
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut a = [0.0; 6];
        a.copy_from_slice(x);
        let mut b = [0.0; 6];
        for _ in 0..3 {
            step(&mut a, &mut b);
        }
        a.iter().sum::<f64>() + b[0]
    }
}

mod swap_boxes {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn step(a: &mut Box<[f64]>, b: &mut Box<[f64]>) {
        for i in 0..a.len() {
            b[i] = a[i] * a[(i + 1) % 6];
        }
        std::mem::swap(a, b);
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut a: Box<[f64]> = x.into();
        let mut b: Box<[f64]> = vec![0.0; 6].into_boxed_slice();
        for _ in 0..3 {
            step(&mut a, &mut b);
        }
        a.iter().sum::<f64>() + b[0]
    }
}

mod swap_struct {
    #[allow(unused_imports)]
    use super::*;
    #[derive(Clone)]
    struct S {
        a: Vec<f64>,
        k: usize,
        s: f64,
    }
    #[inline(never)]
    fn go(p: &mut S, q: &mut S) {
        std::mem::swap(p, q);
        p.s *= 1.5;
        p.a[p.k] *= q.s;
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut p = S {
            a: x.to_vec(),
            k: 1,
            s: x[0],
        };
        let mut q = S {
            a: x.iter().map(|v| v * v).collect(),
            k: 2,
            s: x[1],
        };
        for _ in 0..3 {
            go(&mut p, &mut q);
        }
        p.a.iter().sum::<f64>() * q.s + q.a[2] * p.s
    }
}

mod swap_fields {
    #[allow(unused_imports)]
    use super::*;
    struct S {
        a: Vec<f64>,
        b: Vec<f64>,
    }
    impl S {
        fn step(&mut self) {
            for i in 0..self.a.len() {
                self.b[i] = self.a[i] * self.a[(i + 1) % self.a.len()] + 0.1;
            }
            std::mem::swap(&mut self.a, &mut self.b);
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut s = S {
            a: x.to_vec(),
            b: vec![0.0; 6],
        };
        for _ in 0..4 {
            s.step();
        }
        s.a.iter().sum::<f64>() + s.b[0]
    }
}

mod swap_tuple {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut p = (x[0], x[1], 3u32);
        let mut q = (x[2], x[3], 7u32);
        for _ in 0..3 {
            std::mem::swap(&mut p, &mut q);
            p.0 *= q.1;
            q.1 += p.0 * p.2 as f64;
            (p.1, q.0) = (q.0, p.1);
        }
        p.0 * q.1 + p.1 * q.0
    }
}

mod swap_refs {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut a = [x[0], x[1]];
        let mut b = [x[2], x[3]];
        {
            let (mut p, mut q) = (&mut a, &mut b);
            for i in 0..5 {
                q[i % 2] = p[0] * p[1] + q[1 - i % 2];
                if i % 3 != 1 {
                    std::mem::swap(&mut p, &mut q);
                }
            }
        }
        a[0] * b[1] + a[1] * b[0]
    }
}

mod take {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut v = x.to_vec();
        let mut t = 0.0;
        for _ in 0..3 {
            let w = std::mem::take(&mut v);
            t += w[0] * w[1];
            v = w.iter().map(|a| a * 0.9 + t * 0.1).collect();
        }
        let old = std::mem::replace(&mut v[2], x[0]);
        t + old * v[2]
    }
}

mod take_arg {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn grab(v: &mut Vec<f64>) -> f64 {
        let w = std::mem::take(v);
        let t = w.iter().map(|a| a * a).sum::<f64>();
        v.extend(w.iter().map(|a| a.sin()));
        t
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut v = x.to_vec();
        let a = grab(&mut v);
        let b = grab(&mut v);
        a * b + v[0]
    }
}

mod replace {
    #[allow(unused_imports)]
    use super::*;
    #[derive(Default, Clone)]
    struct S {
        v: Vec<f64>,
        w: f64,
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut s = S {
            v: x.to_vec(),
            w: x[0],
        };
        let mut t = 0.0;
        for k in 0..3 {
            let old = std::mem::replace(
                &mut s,
                S {
                    v: vec![x[k]; 2 + k],
                    w: t,
                },
            );
            t += old.v.iter().map(|a| a * a).sum::<f64>() * old.w;
        }
        let z = std::mem::take(&mut s);
        t + z.v[0] * z.w + s.w
    }
}

mod insert_remove {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut v = x.to_vec();
        v.insert(2, x[0] * x[1]);
        let a = v.remove(4);
        v.swap_remove(0);
        v.truncate(5);
        v.extend([a, a * a]);
        v.dedup();
        v.retain(|b| *b > -50.0);
        v.drain(1..3).map(|c| c * c).sum::<f64>()
            + v.iter().product::<f64>()
            + v.splice(0..1, [x[2], x[3]]).sum::<f64>()
    }
}

mod concat {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let a = [x.to_vec(), x.iter().map(|v| v.sin()).collect::<Vec<_>>()].concat();
        let b: Vec<Vec<f64>> = a.chunks(3).map(|c| c.to_vec()).collect();
        let c: Vec<f64> = b.into_iter().flatten().rev().collect();
        let (l, r) = c.split_at(5);
        l.iter().chain(r).enumerate().map(|(i, v)| v * v * i as f64).sum()
    }
}

mod sort_cached {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut v: Vec<(String, f64)> = x
            .iter()
            .enumerate()
            .map(|(i, a)| (format!("{}", (i * 7) % 5), a * a))
            .collect();
        v.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        v.iter().enumerate().map(|(i, p)| p.1 * i as f64).sum()
    }
}

mod u8s {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut buf = Vec::new();
        for v in x {
            buf.extend_from_slice(&v.to_le_bytes());
        }
        let mut t = 0.0;
        for c in buf.chunks_exact(8) {
            let v = f64::from_le_bytes(c.try_into().unwrap());
            t += v * v;
        }
        t
    }
}

mod transmute {
    #[allow(unused_imports)]
    use super::*;
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct V3 {
        x: f64,
        y: f64,
        z: f64,
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let a: [V3; 2] = unsafe { std::mem::transmute::<[f64; 6], _>(x.try_into().unwrap()) };
        let s = unsafe { std::slice::from_raw_parts(a.as_ptr() as *const f64, 6) };
        a[0].y * a[1].x + s.iter().sum::<f64>()
    }
}

mod maybe_uninit {
    #[allow(unused_imports)]
    use super::*;
    use std::mem::MaybeUninit;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut a: [MaybeUninit<f64>; 6] = unsafe { MaybeUninit::uninit().assume_init() };
        for i in 0..6 {
            a[i] = MaybeUninit::new(x[i] * x[i]);
        }
        let b: [f64; 6] = unsafe { std::mem::transmute(a) };
        b.iter().enumerate().map(|(i, v)| v * i as f64).sum()
    }
}

fn main() {
    check("swap_vecs", swap_vecs::value, swap_vecs::gradient);
    check("swap_arrays", swap_arrays::value, swap_arrays::gradient);
    check("swap_boxes", swap_boxes::value, swap_boxes::gradient);
    check("swap_struct", swap_struct::value, swap_struct::gradient);
    check("swap_fields", swap_fields::value, swap_fields::gradient);
    check("swap_tuple", swap_tuple::value, swap_tuple::gradient);
    check("swap_refs", swap_refs::value, swap_refs::gradient);
    check("take", take::value, take::gradient);
    check("take_arg", take_arg::value, take_arg::gradient);
    check("replace", replace::value, replace::gradient);
    check("insert_remove", insert_remove::value, insert_remove::gradient);
    check("concat", concat::value, concat::gradient);
    check("sort_cached", sort_cached::value, sort_cached::gradient);
    check("u8s", u8s::value, u8s::gradient);
    check("transmute", transmute::value, transmute::gradient);
    check("maybe_uninit", maybe_uninit::value, maybe_uninit::gradient);
}
