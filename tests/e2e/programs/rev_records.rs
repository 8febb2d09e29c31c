//! Records with optional parts, strings, cells and locks; patterns on slices; polynomials.
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

mod nested_opt {
    #[allow(unused_imports)]
    use super::*;
    #[derive(Clone)]
    struct P {
        id: u8,
        v: Option<Vec<f64>>,
        w: Option<f64>,
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let ps: Vec<P> = (0..5)
            .map(|i| P {
                id: i as u8,
                v: if i % 2 == 0 { Some(vec![x[i], x[0]]) } else { None },
                w: if i > 2 { Some(x[i] * x[1]) } else { None },
            })
            .collect();
        let q = ps.clone();
        q.iter()
            .map(|p| p.v.as_ref().map_or(1.0, |v| v[0] * v[1]) + p.w.unwrap_or(p.id as f64))
            .product::<f64>()
    }
}

mod string_push {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut vs: Vec<(String, f64)> = x.iter().map(|v| (String::from("q"), *v)).collect();
        for k in 0..3 {
            for p in vs.iter_mut() {
                p.0.push_str("abcdefghijk");
                p.0 = format!("{}{}", p.0, k);
                p.1 *= 1.1;
            }
        }
        vs.iter().map(|p| p.1 * p.0.len() as f64).sum()
    }
}

mod write_str {
    #[allow(unused_imports)]
    use super::*;
    use std::fmt::Write;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut s = String::from("ab");
        let mut t = 0.0;
        let mut vs: Vec<(String, f64)> = vec![];
        for v in x {
            write!(s, "{:.1},", v).unwrap();
            t += v * v * s.len() as f64;
            vs.push((s.clone(), *v));
        }
        t + vs.iter().map(|p| p.1 * p.1).sum::<f64>()
    }
}

mod arc_mutex {
    #[allow(unused_imports)]
    use super::*;
    use std::sync::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let m = Arc::new(Mutex::new(vec![0.0; 3]));
        for (i, v) in x.iter().enumerate() {
            let mut g = m.lock().unwrap();
            g[i % 3] += v * v;
        }
        let g = m.lock().unwrap();
        g[0] * g[1] + g[2]
    }
}

mod cell_ref_swap {
    #[allow(unused_imports)]
    use super::*;
    use std::cell::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let a = RefCell::new(x.to_vec());
        let b = RefCell::new(vec![1.0; 6]);
        for _ in 0..3 {
            a.swap(&b);
            b.borrow_mut()[1] *= 1.5;
            let s: f64 = a.borrow().iter().sum();
            a.borrow_mut()[0] = s * 0.3;
        }
        let t = a.borrow()[0] * b.borrow()[1];
        t + a.take().iter().sum::<f64>()
    }
}

mod slice_pat {
    #[allow(unused_imports)]
    use super::*;
    fn s(x: &[f64]) -> f64 {
        match x {
            [] => 0.0,
            [a] => a * a,
            [a, .., b] => a * b + s(&x[1..x.len() - 1]),
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        s(x) * s(&x[1..])
    }
}

mod try_arr {
    #[allow(unused_imports)]
    use super::*;
    fn t(x: &[f64]) -> Option<[f64; 2]> {
        let a: [f64; 2] = x.get(..2)?.try_into().ok()?;
        Some(a.map(|v| v * v))
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        t(x).unwrap()[1] + t(&x[5..]).map_or(x[2], |a| a[0])
    }
}

mod poly {
    #[allow(unused_imports)]
    use super::*;
    #[derive(Clone, PartialEq)]
    struct Poly(Vec<f64>);
    impl std::ops::Mul for &Poly {
        type Output = Poly;
        fn mul(self, o: &Poly) -> Poly {
            let mut c = vec![0.0; self.0.len() + o.0.len() - 1];
            for (i, a) in self.0.iter().enumerate() {
                for (j, b) in o.0.iter().enumerate() {
                    c[i + j] += a * b;
                }
            }
            Poly(c)
        }
    }
    impl std::ops::AddAssign<&Poly> for Poly {
        fn add_assign(&mut self, o: &Poly) {
            if o.0.len() > self.0.len() {
                self.0.resize(o.0.len(), 0.0);
            }
            for (a, b) in self.0.iter_mut().zip(&o.0) {
                *a += b;
            }
        }
    }
    impl std::iter::FromIterator<f64> for Poly {
        fn from_iter<I: IntoIterator<Item = f64>>(i: I) -> Self {
            Poly(i.into_iter().collect())
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let p: Poly = x[..3].iter().copied().collect();
        let q: Poly = x[3..].iter().copied().collect();
        let mut r = &p * &q;
        r += &(&p * &p);
        r += &Poly(vec![x[0]; 7]);
        r.0.iter().rev().fold(0.0, |t, c| t * 0.7 + c)
    }
}

fn main() {
    check("nested_opt", nested_opt::value, nested_opt::gradient);
    check("string_push", string_push::value, string_push::gradient);
    check("write_str", write_str::value, write_str::gradient);
    check("arc_mutex", arc_mutex::value, arc_mutex::gradient);
    check("cell_ref_swap", cell_ref_swap::value, cell_ref_swap::gradient);
    check("slice_pat", slice_pat::value, slice_pat::gradient);
    check("try_arr", try_arr::value, try_arr::gradient);
    check("poly", poly::value, poly::gradient);
}
