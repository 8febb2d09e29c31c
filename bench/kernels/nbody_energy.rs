#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(always)]
fn energy<T: Real>(q: &[[T; 3]], mass: &[f64]) -> T {
    let mut e = T::of(0.0);
    for i in 0..q.len() {
        for j in 0..i {
            let d = [q[i][0] - q[j][0], q[i][1] - q[j][1], q[i][2] - q[j][2]];
            let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + T::of(1e-4)).sqrt();
            e = e - T::of(mass[i] * mass[j]) / r;
        }
    }
    e
}

#[autodiff_forward(fwd1, Dual, Const, Dual)]
#[autodiff_forward(fwd4, 4, Dualv, Const, Dual)]
#[autodiff_forward(fwd8, 8, Dualv, Const, Dual)]
#[autodiff_forward(fwd16, 16, Dualv, Const, Dual)]
#[autodiff_reverse(rev, Duplicated, Const, Active)]
fn primal(q: &[[f64; 3]], mass: &[f64]) -> f64 { energy(q, mass) }

#[inline(never)]
fn by_dual(q: &[[DualNumber; 3]], mass: &[f64]) -> DualNumber { energy(q, mass) }

fn main() {
    let n = 40;
    let mut s = Stream::new();
    let mut place = |n: usize| -> Vec<[f64; 3]> { (0..n).map(|_| [s.next(), s.next(), s.next()]).collect() };
    let (q, t) = (place(n), place(16 * n));
    let mass = s.vec(n);
    let both: Vec<[DualNumber; 3]> = (0..n).map(|i| std::array::from_fn(|c| DualNumber { v: q[i][c], t: t[i][c] })).collect();
    agree("forward", &[fwd1(&q, &t[..n], &mass).1], &[by_dual(&both, &mass).t], 1e-10);
    let batch = fwd16(&q, &t, &mass);
    for k in 0..16 {
        agree("lane", &[batch[k + 1]], &[fwd1(&q, &t[k * n..(k + 1) * n], &mass).1], 1e-10);
    }
    let mut g = vec![[0.0; 3]; n];
    rev(&q, &mut g, &mass, 1.0);
    let dotted: f64 = g.iter().flatten().zip(t.iter().flatten()).map(|(a, b)| a * b).sum();
    agree("reverse against forward", &[dotted], &[fwd1(&q, &t[..n], &mass).1], 1e-10);

    let bench = Bench;
    bench.time("primal", || primal(black_box(&q), black_box(&mass)));
    bench.time("fwd1", || fwd1(black_box(&q), black_box(&t[..n]), black_box(&mass)));
    bench.time("fwd4", || fwd4(black_box(&q), black_box(&t[..4 * n]), black_box(&mass)));
    bench.time("fwd8", || fwd8(black_box(&q), black_box(&t[..8 * n]), black_box(&mass)));
    bench.time("fwd16", || fwd16(black_box(&q), black_box(&t), black_box(&mass)));
    bench.time("rev", || rev(black_box(&q), black_box(&mut g), black_box(&mass), 1.0));
    bench.time("dual numbers", || by_dual(black_box(&both), black_box(&mass)));
    let (mut up, mut down) = (q.clone(), q.clone());
    bench.time("finite differences", || {
        for i in 0..n {
            for c in 0..3 {
                up[i][c] = q[i][c] + 1e-6 * t[i][c];
                down[i][c] = q[i][c] - 1e-6 * t[i][c];
            }
        }
        (primal(black_box(&up), &mass) - primal(black_box(&down), &mass)) / 2e-6
    });
}
