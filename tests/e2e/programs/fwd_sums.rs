//! Loops that sum up, at lengths around those of strips: bits of primals and lanes, slopes, dot products.
#![feature(autodiff)]
use std::autodiff::*;
macro_rules! kern { ($f:ident, $d1:ident, $d4:ident, $r:ident, |$x:ident, $out:ident| $body:block) => {
    #[autodiff_forward($d1, Dual, Dual, Dual)]
    #[autodiff_forward($d4, 4, Dual, Dual, Dual)]
    #[autodiff_reverse($r, Duplicated, Duplicated, Active)]
    #[inline(never)]
    fn $f($x: &[f64], $out: &mut [f64]) -> f64 $body
} }
kern!(plain, plain1, plain4, plainr, |x, out| {
    let mut s = 0.0;
    for (o, v) in out.iter_mut().zip(x) {
        *o = v * v;
        s += v * v * v;
    }
    s
});
kern!(revd, revd1, revd4, revdr, |x, out| {
    let mut s = 1.0;
    for i in (0..x.len()).rev() {
        s -= x[i] * (i as f64);
    }
    out[0] = s * s;
    s
});
kern!(step, step1, step4, stepr, |x, out| {
    let mut s = 0.0;
    let mut t = 2.0;
    for i in (0..x.len()).step_by(3) {
        s += x[i].abs();
        t -= x[i] * x[i] * 0.5;
    }
    out[1] = s * t;
    s + t
});
kern!(cond, cond1, cond4, condr, |x, out| {
    let mut s = 0.0;
    let mut c = 0usize;
    for v in x {
        if *v > 0.5 {
            s += v * 2.0;
            c += 1;
        } else {
            s -= v * v;
        }
    }
    out[2] = c as f64 * s;
    s
});
kern!(early, early1, early4, earlyr, |x, out| {
    let mut s = 0.0;
    for (i, v) in x.iter().enumerate() {
        s += v * v;
        if s > 20.0 {
            out[0] = v * i as f64;
            break;
        }
    }
    s
});
kern!(nest, nest1, nest4, nestr, |x, out| {
    let n = x.len();
    let mut s = 0.0;
    for i in 0..20.min(n) {
        let mut t = 0.0;
        for j in 0..n {
            t += x[j] * x[(i + j) % n];
        }
        out[i % out.len()] = t;
        s += t.sqrt();
    }
    s
});
kern!(prefix, prefix1, prefix4, prefixr, |x, out| {
    let mut s = 0.0;
    for (o, v) in out.iter_mut().zip(x) {
        s += v * v;
        *o = s;
    }
    s
});
kern!(inplace, inplace1, inplace4, inplacer, |x, out| {
    let mut s = 0.0;
    let m = out.len().min(x.len());
    for i in 1..m {
        out[i] = out[i - 1] * 0.3 + x[i];
        s += out[i];
    }
    s
});
kern!(two, two1, two4, twor, |x, out| {
    let n = x.len() / 2;
    let (a, b) = x.split_at(n);
    let mut s = 0.0;
    let mut q = 0.0;
    for i in 0..n {
        let d = a[i] - b[i];
        s += d * d;
        q += a[i].sqrt() * b[i];
    }
    out[0] = q;
    s / (1.0 + q)
});
kern!(mean, mean1, mean4, meanr, |x, out| {
    let n = x.len() as f64;
    let m = x.iter().sum::<f64>() / n;
    let v = x.iter().map(|a| (a - m).powi(2)).sum::<f64>() / n;
    out[0] = m;
    v.sqrt()
});
kern!(f32s, f32s1, f32s4, f32sr, |x, out| {
    let mut s = 0.0f32;
    for v in x {
        let w = *v as f32;
        s += w * w;
    }
    let mut d = 0.0f64;
    for v in x {
        d += (*v as f32 * 0.5) as f64;
    }
    out[0] = d;
    s as f64 + d
});
kern!(maxs, maxs1, maxs4, maxsr, |x, out| {
    let mut s = 0.0;
    let mut m = f64::MIN;
    for v in x {
        m = m.max(*v);
        s += (v - 0.5).max(0.0);
    }
    out[0] = m;
    s * m
});
kern!(over, over1, over4, overr, |x, out| {
    let mut s = 0.0;
    for k in 0..3 {
        for v in x {
            s += v * (k as f64 + 1.0);
        }
        s *= 0.5;
    }
    out[0] = s;
    s
});
type F = fn(&[f64], &mut [f64]) -> f64;
type D1 = fn(&[f64], &[f64], &mut [f64], &mut [f64]) -> (f64, f64);
type D4 = fn(
    &[f64],
    &[f64],
    &[f64],
    &[f64],
    &[f64],
    &mut [f64],
    &mut [f64],
    &mut [f64],
    &mut [f64],
    &mut [f64],
) -> [f64; 5];
type R = fn(&[f64], &mut [f64], &mut [f64], &mut [f64], f64) -> f64;
fn main() {
    let all: Vec<(&str, F, D1, D4, R, f64)> = vec![
        ("plain", plain, plain1, plain4, plainr, 1e-6),
        ("revd", revd, revd1, revd4, revdr, 1e-6),
        ("step", step, step1, step4, stepr, 1e-6),
        ("cond", cond, cond1, cond4, condr, 1e-6),
        ("early", early, early1, early4, earlyr, 1e-6),
        ("nest", nest, nest1, nest4, nestr, 1e-6),
        ("prefix", prefix, prefix1, prefix4, prefixr, 1e-6),
        ("inplace", inplace, inplace1, inplace4, inplacer, 1e-6),
        ("two", two, two1, two4, twor, 1e-6),
        ("mean", mean, mean1, mean4, meanr, 1e-6),
        ("f32", f32s, f32s1, f32s4, f32sr, 2e-2),
        ("max", maxs, maxs1, maxs4, maxsr, 1e-6),
        ("over", over, over1, over4, overr, 1e-6),
    ];
    let mut seed = 12345u64;
    let mut rnd = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut bad = 0;
    for (name, f, d1, d4, r, tol) in &all {
        for n in [
            4usize, 15, 16, 17, 31, 32, 33, 50, 100, 127, 128, 129, 130, 200, 256, 257, 300,
        ] {
            let x: Vec<f64> = (0..n).map(|_| rnd() + 0.1).collect();
            let o0: Vec<f64> = (0..n.max(4)).map(|_| rnd()).collect();
            let dirs: Vec<Vec<f64>> = (0..4)
                .map(|_| (0..n).map(|_| rnd() - 0.5).collect())
                .collect();
            let dos: Vec<Vec<f64>> = (0..4)
                .map(|_| (0..o0.len()).map(|_| rnd() - 0.5).collect())
                .collect();
            let mut o = o0.clone();
            let p = f(&x, &mut o);
            let w: Vec<f64> = (0..o0.len()).map(|_| rnd()).collect();
            let mut tang = vec![];
            for k in 0..4 {
                let (mut oo, mut t) = (o0.clone(), dos[k].clone());
                let (v, t1) = d1(&x, &dirs[k], &mut oo, &mut t);
                if v != p || oo != o {
                    println!("{name} n={n} primal differs {v} {p}");
                    bad += 1;
                }
                let h = 1e-6;
                let at = |s: f64| {
                    let xs: Vec<f64> = x.iter().zip(&dirs[k]).map(|(a, b)| a + s * b).collect();
                    let mut os: Vec<f64> = o0.iter().zip(&dos[k]).map(|(a, b)| a + s * b).collect();
                    let v = f(&xs, &mut os);
                    (v, os)
                };
                let h = if *name == "f32" { 1e-3 } else { h };
                let (a, ao) = at(h);
                let (b, bo) = at(-h);
                let fd = (a - b) / (2.0 * h);
                if (fd - t1).abs() > tol * (1.0 + fd.abs()) && *name != "early" {
                    println!("{name} n={n} fwd1 {t1} fd {fd}");
                    bad += 1;
                }
                for i in 0..o.len() {
                    let fd = (ao[i] - bo[i]) / (2.0 * h);
                    if (fd - t[i]).abs() > tol * (1.0 + fd.abs()) && *name != "early" {
                        println!("{name} n={n} out[{i}] {} fd {fd}", t[i]);
                        bad += 1;
                        break;
                    }
                }
                tang.push((t1, t));
            }
            let mut oo = o0.clone();
            let [mut t0, mut t1, mut t2, mut t3] = [
                dos[0].clone(),
                dos[1].clone(),
                dos[2].clone(),
                dos[3].clone(),
            ];
            let v = d4(
                &x, &dirs[0], &dirs[1], &dirs[2], &dirs[3], &mut oo, &mut t0, &mut t1, &mut t2,
                &mut t3,
            );
            if v[0] != p {
                println!("{name} n={n} fwd4 primal");
                bad += 1;
            }
            for k in 0..4 {
                if v[k + 1] != tang[k].0 {
                    println!("{name} n={n} lane {k} {} {}", v[k + 1], tang[k].0);
                    bad += 1;
                }
                if [&t0, &t1, &t2, &t3][k] != &tang[k].1 {
                    println!("{name} n={n} lane {k} outs differ");
                    bad += 1;
                }
            }
            let mut g = vec![0.0; n];
            let mut go = w.clone();
            let mut oo = o0.clone();
            r(&x, &mut g, &mut oo, &mut go, 1.25);
            for k in 0..4 {
                let lhs =
                    1.25 * tang[k].0 + w.iter().zip(&tang[k].1).map(|(a, b)| a * b).sum::<f64>();
                let rhs = g.iter().zip(&dirs[k]).map(|(a, b)| a * b).sum::<f64>()
                    + go.iter().zip(&dos[k]).map(|(a, b)| a * b).sum::<f64>();
                if (lhs - rhs).abs()
                    > (if *name == "f32" { 1e-4 } else { 1e-9 }) * (1.0 + lhs.abs())
                {
                    println!("{name} n={n} dot {lhs} {rhs}");
                    bad += 1;
                }
            }
        }
    }
    println!("bad {bad}");
    assert!(bad == 0);
}
