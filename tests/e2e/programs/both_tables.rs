//! Functions called through tables, boxed closures and trait objects of several types.
#![feature(autodiff)]
use std::autodiff::*;

/// Compares tangents and gradients with central differences and with each other, one at a time and two at once.
fn check(name: &str, f: fn(&[f64]) -> f64, (one, two): Forward, (gradient, gradients): Reverse) {
    for x in [
        [0.62, -0.35, 1.4, 0.9, 0.11, -0.73],
        [1.21, 0.77, -0.9, -0.2, 0.45, 0.33],
    ] {
        let (mut g, mut first, mut second) = ([0.0; 6], [0.0; 6], [1.0; 6]);
        let primal = f(&x);
        let near = |y: f64| assert!((y - primal).abs() <= 1e-12 * primal.abs().max(1.0), "{name}: {y}");
        near(gradient(&x, &mut g, 1.0));
        near(gradients(&x, &mut first, &mut second, 2.0));
        for i in 0..6 {
            let (mut seed, mut up, mut down) = ([0.0; 6], x, x);
            seed[i] = 1.0;
            up[i] += 1e-6;
            down[i] -= 1e-6;
            let slope = (f(&up) - f(&down)) / 2e-6;
            let close = |d: f64| {
                let small = 1e-5 * slope.abs().max(1.0);
                assert!((d - slope).abs() < small, "{name}, input {i}: {d}, not {slope}");
            };
            let (y, t) = one(&x, &seed);
            near(y);
            close(t);
            close(g[i]);
            assert_eq!(two(&x, &[0.0; 6], &seed), [y, 0.0, t], "{name}, input {i}");
            let scale = 1e-13 * (1.0 + g[i].abs());
            assert!((first[i] - 2.0 * g[i]).abs() <= scale, "{name}, input {i}");
            assert!((second[i] - 1.0 - first[i]).abs() <= scale, "{name}, input {i}");
        }
    }
}

type Forward = (fn(&[f64], &[f64]) -> (f64, f64), fn(&[f64], &[f64], &[f64]) -> [f64; 3]);
type Reverse = (fn(&[f64], &mut [f64], f64) -> f64, fn(&[f64], &mut [f64], &mut [f64], f64) -> f64);

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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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
    #[autodiff_reverse(gradient, Duplicated, Active)]
    #[autodiff_reverse(gradients, 2, Duplicated, Active)]
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

macro_rules! check_all {
    ($($name:ident)*) => { $(
        check(stringify!($name), $name::value, ($name::one, $name::two), ($name::gradient, $name::gradients));
    )* };
}

fn main() {
    check_all!(fntab fnlocal boxfns dyns dynrefs dyn_iter layers fnmut_tab);
}
