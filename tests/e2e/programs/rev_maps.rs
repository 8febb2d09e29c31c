//! Hash tables made and used up inside a function.
#![feature(autodiff)]
use std::autodiff::*;
use std::collections::*;

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

mod hashmap {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut m: HashMap<u32, f64> = HashMap::new();
        for i in 0..12u32 {
            *m.entry(i % 5).or_insert(0.5) += x[(i % 6) as usize] * x[0];
        }
        let mut t = 0.0;
        for k in 0..5u32 {
            t += m[&k] * (k as f64 + 1.0).sin();
        }
        if let Some(v) = m.get(&3) {
            t *= v;
        }
        t
    }
}

mod hm_vec {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut m: HashMap<u32, Vec<f64>> = HashMap::new();
        for (i, v) in x.iter().enumerate() {
            m.entry(i as u32 % 3).or_default().push(v * v);
        }
        (0..3u32)
            .map(|k| m[&k].iter().product::<f64>() * (k as f64 + 1.0))
            .sum()
    }
}

mod hm_arg {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn put(m: &mut HashMap<u32, f64>, k: u32, v: f64) {
        *m.entry(k).or_insert(0.1) += v * v;
    }
    #[inline(never)]
    fn get(m: &HashMap<u32, f64>, k: u32) -> f64 {
        m.get(&k).copied().unwrap_or(0.5)
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut m = HashMap::new();
        for i in 0..30u32 {
            put(&mut m, i % 11, x[i as usize % 6]);
        }
        (0..12u32).map(|k| get(&m, k).sin() * (k as f64)).sum()
    }
}

fn main() {
    check("hashmap", hashmap::value, hashmap::gradient);
    check("hm_vec", hm_vec::value, hm_vec::gradient);
    check("hm_arg", hm_arg::value, hm_arg::gradient);
}
