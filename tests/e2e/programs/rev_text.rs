//! Text made, parsed and printed beside numbers.
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

mod parse {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let k = "3".parse::<f64>().unwrap();
        let h: f64 = "0.5".parse().unwrap_or(1.0);
        x[0] * x[0] * k + h * x[1].sin()
    }
}

mod parse_int {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let k = "3".parse::<usize>().unwrap();
        x[k] * x[k] + x[0]
    }
}

mod strings {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut s = String::new();
        let mut t = 0.0;
        for (i, v) in x.iter().enumerate() {
            s.push_str("ab");
            s += &i.to_string();
            t += v * v * s.len() as f64;
        }
        t
    }
}

mod format {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = 0.0;
        let mut names = Vec::new();
        for (i, v) in x.iter().enumerate() {
            names.push(format!("n{i}:{v:.2}"));
            t += v * v;
        }
        t * names.len() as f64
    }
}

mod println {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = 0.0;
        for v in x {
            t += v * v;
            println!("now {t} {v:?}");
        }
        dbg!(t);
        eprintln!("{:?}", x);
        t
    }
}

mod result_string {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn b(v: f64) -> Result<f64, String> {
        if v < -0.8 {
            Err(format!("bad {v}"))
        } else {
            Ok(v.sin())
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = 0.0;
        for v in x {
            match b(*v) {
                Ok(v) => t += v * v,
                Err(e) => t += e.len() as f64 * x[0],
            }
        }
        t
    }
}

mod result_box_dyn {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn b(x: &[f64]) -> Result<f64, Box<dyn std::error::Error>> {
        let mut t = 0.0;
        for v in x {
            if *v < -5.0 {
                return Err("bad".into());
            }
            t += v * v;
        }
        Ok(t)
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        b(x).unwrap() * x[0]
    }
}

mod question {
    #[allow(unused_imports)]
    use super::*;
    fn a(v: f64) -> Option<f64> {
        if v > -5.0 {
            Some(v * v)
        } else {
            None
        }
    }
    fn all(x: &[f64]) -> Option<f64> {
        let mut t = a(x[0])?;
        for v in x {
            t += a(*v)? * t;
        }
        Some(t)
    }
    #[derive(Debug)]
    enum Err {
        Neg(f64),
        Nan,
    }
    fn b(v: f64) -> Result<f64, Err> {
        if v.is_nan() {
            return Err(Err::Nan);
        }
        if v < -0.8 {
            Err(Err::Neg(v))
        } else {
            Ok(v.sin())
        }
    }
    fn both(x: &[f64]) -> Result<f64, Err> {
        let mut t = 0.0;
        for v in x {
            t = t * 0.5 + b(*v)?;
        }
        Ok(t)
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let t = all(x).unwrap_or(0.0);
        match both(x) {
            Ok(v) => v * t,
            Err(Err::Neg(v)) => v * v + t,
            Err(_) => 0.0,
        }
    }
}

fn main() {
    check("parse", parse::value, parse::gradient);
    check("parse_int", parse_int::value, parse_int::gradient);
    check("strings", strings::value, strings::gradient);
    check("format", format::value, format::gradient);
    check("println", println::value, println::gradient);
    check("result_string", result_string::value, result_string::gradient);
    check("result_box_dyn", result_box_dyn::value, result_box_dyn::gradient);
    check("question", question::value, question::gradient);
}
