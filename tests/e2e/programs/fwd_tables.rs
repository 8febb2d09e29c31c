//! Functions called through tables, boxed closures and trait objects of several types.
#![feature(autodiff)]
use std::autodiff::*;

/// Compares tangents with central differences, one at a time and in a batch of two.
fn check(name: &str, f: fn(&[f64]) -> f64, one: One, two: Two) {
    for x in [
        [0.62, -0.35, 1.4, 0.9, 0.11, -0.73],
        [1.21, 0.77, -0.9, -0.2, 0.45, 0.33],
    ] {
        for i in 0..6 {
            let (mut seed, mut up, mut down) = ([0.0; 6], x, x);
            seed[i] = 1.0;
            up[i] += 1e-6;
            down[i] -= 1e-6;
            let slope = (f(&up) - f(&down)) / 2e-6;
            let (y, t) = one(&x, &seed);
            assert!(
                (y - f(&x)).abs() <= 1e-12 * y.abs().max(1.0),
                "{name}: {y}, not {}",
                f(&x)
            );
            assert!(
                (t - slope).abs() < 1e-5 * slope.abs().max(1.0),
                "{name}, input {i}: {t}, not {slope}"
            );
            assert_eq!(two(&x, &[0.0; 6], &seed), [y, 0.0, t], "{name}, input {i}");
        }
    }
}

type One = fn(&[f64], &[f64]) -> (f64, f64);
type Two = fn(&[f64], &[f64], &[f64]) -> [f64; 3];

mod fntab {
    #[allow(unused_imports)]
    use super::*;
    fn sq(v: f64) -> f64 {
        v * v
    }
    fn cu(v: f64) -> f64 {
        v * v * v
    }
    static T: [fn(f64) -> f64; 3] = [sq, cu, f64::sin];

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = 0.0;
        for (i, v) in x.iter().enumerate() {
            t += T[i % 3](*v) * (i as f64 + 1.0);
        }
        t
    }
}

mod fnlocal {
    #[allow(unused_imports)]
    use super::*;
    fn sq(v: f64) -> f64 {
        v * v
    }
    fn cu(v: f64) -> f64 {
        v * v * v
    }

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        let t: [fn(f64) -> f64; 2] = if x[0] > 1.0 { [sq, cu] } else { [cu, f64::exp] };
        x.iter().enumerate().map(|(i, v)| t[i % 2](*v)).sum()
    }
}

mod boxfns {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        let k = x[0];
        let fs: Vec<Box<dyn Fn(f64) -> f64>> = vec![
            Box::new(|v| v * v),
            Box::new(move |v| v.sin() * k),
            Box::new(move |v| k * v + k * k),
        ];
        let mut t = 0.0;
        for (i, v) in x.iter().enumerate() {
            t += fs[i % 3](*v);
        }
        t
    }
}

mod dyns {
    #[allow(unused_imports)]
    use super::*;
    trait S {
        fn area(&self) -> f64;
        fn grow(&mut self, k: f64);
    }
    struct C(f64);
    struct R {
        w: f64,
        h: f64,
    }
    impl S for C {
        fn area(&self) -> f64 {
            self.0 * self.0
        }
        fn grow(&mut self, k: f64) {
            self.0 *= k;
        }
    }
    impl S for R {
        fn area(&self) -> f64 {
            self.w * self.h
        }
        fn grow(&mut self, k: f64) {
            self.w += k;
        }
    }

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        let mut s: Vec<Box<dyn S>> = vec![
            Box::new(C(x[0])),
            Box::new(R { w: x[1], h: x[2] }),
            Box::new(C(x[3])),
        ];
        for p in s.iter_mut() {
            p.grow(x[4]);
        }
        s.iter()
            .enumerate()
            .map(|(i, p)| p.area() * (i as f64 + 1.0))
            .sum()
    }
}

mod dynrefs {
    #[allow(unused_imports)]
    use super::*;
    trait S {
        fn area(&self) -> f64;
    }
    struct C(f64);
    struct R {
        w: f64,
        h: f64,
    }
    impl S for C {
        fn area(&self) -> f64 {
            self.0 * self.0
        }
    }
    impl S for R {
        fn area(&self) -> f64 {
            self.w * self.h
        }
    }

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        let (c, r) = (C(x[0]), R { w: x[1], h: x[2] });
        let s: [&dyn S; 2] = [&c, &r];
        (0..5).map(|i| s[i % 2].area() * x[i]).sum()
    }
}

mod dyn_iter {
    #[allow(unused_imports)]
    use super::*;
    fn it<'a>(x: &'a [f64], up: bool) -> Box<dyn Iterator<Item = f64> + 'a> {
        if up {
            Box::new(x.iter().map(|v| v * v))
        } else {
            Box::new(x.iter().rev().map(|v| v.sin()))
        }
    }

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        it(x, x[0] > 1.0).sum::<f64>() + it(x, false).fold(1.0, |a, b| a * 0.5 + b)
    }
}

mod layers {
    #[allow(unused_imports)]
    use super::*;
    trait Layer {
        fn forward(&self, x: &[f64]) -> Vec<f64>;
    }
    struct Dense {
        w: Vec<f64>,
        n: usize,
    }
    struct Tanh;
    struct Scale(f64);
    impl Layer for Dense {
        fn forward(&self, x: &[f64]) -> Vec<f64> {
            (0..self.n)
                .map(|i| {
                    x.iter()
                        .enumerate()
                        .map(|(j, v)| v * self.w[(i + j) % self.w.len()])
                        .sum()
                })
                .collect()
        }
    }
    impl Layer for Tanh {
        fn forward(&self, x: &[f64]) -> Vec<f64> {
            x.iter().map(|v| v.tanh()).collect()
        }
    }
    impl Layer for Scale {
        fn forward(&self, x: &[f64]) -> Vec<f64> {
            x.iter().map(|v| v * self.0).collect()
        }
    }

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        let net: Vec<Box<dyn Layer>> = vec![
            Box::new(Dense { w: x.to_vec(), n: 3 }),
            Box::new(Tanh),
            Box::new(Scale(x[1])),
            Box::new(Dense {
                w: x[1..].to_vec(),
                n: 2,
            }),
        ];
        let mut v = vec![1.0, x[0], 0.5];
        for l in &net {
            v = l.forward(&v);
        }
        v.iter().sum()
    }
}

mod fnmut_tab {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_forward(one, Dual, Dual)]
    #[autodiff_forward(two, 2, Dual, Dual)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = 0.0;
        {
            let mut fs: Vec<Box<dyn FnMut(f64) + '_>> = vec![];
            let mut c = 1.0;
            fs.push(Box::new(|v| t += v * v));
            fs.push(Box::new(move |v| c = c * v));
            for (i, v) in x.iter().enumerate() {
                fs[i % 2](*v);
            }
        }
        t * t
    }
}

fn main() {
    check("fntab", fntab::value, fntab::one, fntab::two);
    check("fnlocal", fnlocal::value, fnlocal::one, fnlocal::two);
    check("boxfns", boxfns::value, boxfns::one, boxfns::two);
    check("dyns", dyns::value, dyns::one, dyns::two);
    check("dynrefs", dynrefs::value, dynrefs::one, dynrefs::two);
    check("dyn_iter", dyn_iter::value, dyn_iter::one, dyn_iter::two);
    check("layers", layers::value, layers::one, layers::two);
    check("fnmut_tab", fnmut_tab::value, fnmut_tab::one, fnmut_tab::two);
}
