//! Activities mixed in one call, at many widths: by value, borrowed, strided, constant, owned; methods, options, singles.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[derive(Clone, Copy, Debug, PartialEq)]
struct P {
    id: u32,
    x: f64,
    flag: bool,
    y: f32,
    k: [f64; 2],
}
#[autodiff_forward(a_d, Dual, Const, Dual, Dual, Dual)]
#[autodiff_forward(a_4, 4, Dual, Const, Dual, Dual, Dual)]
fn a(p: P, n: usize, s: &[f64], m: &mut [f64]) -> f64 {
    for i in 0..m.len() {
        m[i] = m[i] * p.x + s[i % s.len()] * p.k[i % 2];
    }
    m[0] * p.y as f64 * n as f64 + p.k[1]
}
#[autodiff_forward(b_5, 5, Dualv, Dual, Const, DualOnly)]
#[autodiff_forward(b_2, 2, Dualv, Dual, Dual, Dual)]
#[autodiff_forward(b_c, Const, Dual, Dual, DualOnly)]
fn b(v: &[f64], k: f64, w: &[f64; 3]) -> f64 {
    v.iter().zip(w.iter().cycle()).map(|(a, b)| a * a * b).sum::<f64>() * k
}
#[autodiff_forward(c_2, 2, Dualv, Dualv)]
#[autodiff_forward(c_1, Dual, Dual)]
fn c(x: &[f64], out: &mut [f64]) {
    out[0] = x[0] * x[1];
    out[1] = x[1].sin() + x[0];
}
struct M {
    a: f64,
    b: Vec<f64>,
}
impl M {
    #[autodiff_forward(eval_d, 2, Dual, Dual, Dual)]
    fn eval(&self, x: f64) -> f64 {
        self.b.iter().rev().fold(self.a, |t, c| t * x + c)
    }
    #[autodiff_forward(step_d, Dual, Const)]
    fn step(&mut self, n: u32) {
        for _ in 0..n {
            self.a = self.a.sin() + self.b[0];
            self.b[0] *= self.a;
        }
    }
    #[autodiff_forward(into_d, 3, Dual, Dual)]
    fn into(self) -> f64 {
        self.a * self.b.iter().sum::<f64>()
    }
}
#[autodiff_forward(t_d, 16, Dual, Dual)]
fn t(x: (f64, i32, f32)) -> (f64, u8, f32) {
    (x.0 * x.2 as f64, x.1 as u8, x.2 * x.2)
}
#[autodiff_forward(o_d, 2, Dual, Dual, Dual)]
fn o(x: Option<f64>, y: &Option<f64>) -> Option<f64> {
    Some(x? * y.unwrap_or(2.0))
}
#[autodiff_forward(q_d, 12, Dual, Dual)]
fn q<const N: usize>(x: &[[f64; N]; 2]) -> f64 {
    x[0].iter().zip(&x[1]).map(|(a, b)| a * b).sum()
}
#[autodiff_forward(s_d, 2, Dual, Dual, Dual)]
fn s(x: &[&[f64]], r: &[[f64; 3]]) -> f64 {
    x.iter().map(|v| v.iter().product::<f64>()).sum::<f64>() * r[1][2]
}
#[autodiff_forward(f32_d, 8, Dualv, Dual, Dual)]
fn f32s(x: &[f32], k: f32) -> f32 {
    x.iter().map(|v| v * v).sum::<f32>() * k
}
#[autodiff_forward(k_d, Const, Dual)]
fn k(x: f64) -> f64 {
    x * x
}
#[autodiff_forward(raw_d, Dual, Const, Dual)]
unsafe fn raw(p: *const f64, n: usize) -> f64 {
    (0..n).map(|i| *p.add(i) * *p.add(i)).sum()
}
#[autodiff_forward(bx_d, 2, Dual, Dual)]
fn bx(x: Box<[f64; 2]>) -> Box<f64> {
    Box::new(x[0] * x[1])
}
fn main() {
    let p = P { id: 1, x: 2.0, flag: true, y: 0.5, k: [3.0, 4.0] };
    let dp = |x, y, k| P { id: 9, x, flag: false, y, k };
    let s = [1.0, 2.0];
    let z = [0.0, 0.0];
    let (mut m, mut dm) = ([1.0, 2.0, 3.0], [1.0, 0.0, 0.0]);
    let (y, d) = a_d(p, dp(1.0, 0.5, [0.0, 1.0]), 2, &s, &[1.0, 0.0], &mut m, &mut dm);
    // m0' = m0*x + s0*k0 = 5 ; dm0 = 1*2 + 1*1 + ds0*k0=3 + 0 = 6 ; y = 5*.5*2+4 = 9; dy = 6*.5*2 + 5*.5*2 + 1 = 12
    assert_eq!((y, d, m[0], dm[0]), (9.0, 12.0, 5.0, 6.0));
    assert_eq!((m[1], dm[1]), (12.0, 1.0 * 2.0 + 2.0 * 1.0));
    let mut mm = [1.0, 2.0, 3.0];
    let (mut d1, mut d2, mut d3, mut d4) = ([1.0, 0.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]);
    let r = a_4(
        p,
        dp(1.0, 0.5, [0.0, 1.0]),
        dp(1.0, 0.0, z),
        dp(0.0, 1.0, z),
        dp(0.0, 0.0, [1.0, 0.0]),
        2,
        &s,
        &[1.0, 0.0],
        &z,
        &z,
        &[0.0, 1.0],
        &mut mm,
        &mut d1,
        &mut d2,
        &mut d3,
        &mut d4,
    );
    assert_eq!(r, [9.0, 12.0, 1.0, 10.0, 1.0]);
    assert_eq!((d1[0], d2[0], d4[0], d4[1]), (6.0, 1.0, 1.0, 4.0));
    let v = [1.0, 2.0];
    let w = [1.0, 10.0, 5.0];
    let sh: Vec<f64> = (0..10).map(|i| i as f64).collect();
    // f = (v0^2*1 + v1^2*10)*k ; k=2: d = k*(2 v0 dv0 + 20 v1 dv1)+ dk*41
    assert_eq!(b_5(&v, &sh, 2.0, 1.0, 0.0, 0.0, 0.0, 2.0, &w), [0,1,2,3,4].map(|i| 2.0 * (2.0 * (2 * i) as f64 + 40.0 * (2 * i + 1) as f64) + [1.0, 0.0, 0.0, 0.0, 2.0][i] * 41.0));
    assert_eq!(
        b_2(&v, &sh[..4], 2.0, 0.0, 0.0, &w, &[1.0, 0.0, 0.0], &[0.0, 1.0, 9.0]),
        [82.0, 2.0 * 40.0 + 2.0, 2.0 * (4.0 + 120.0) + 8.0]
    );
    assert_eq!(b_c(&v, 2.0, 1.0, &w, &[0.0, 0.0, 1.0]), 41.0);
    let (mut o, mut ds) = ([0.0; 2], [7.0; 4]);
    c_2(&[2.0, 0.5], &[1.0, 0.0, 0.0, 1.0], &mut o, &mut ds);
    assert_eq!((o, ds), ([1.0, 0.5f64.sin() + 2.0], [0.5, 1.0, 2.0, 0.5f64.cos()]));
    let mo = M { a: 2.0, b: vec![1.0, 3.0] };
    let e = mo.eval_d(&M { a: 1.0, b: vec![0.0, 0.0] }, &M { a: 0.0, b: vec![1.0, 0.0] }, 2.0, 0.0, 1.0);
    assert_eq!(e, [15.0, 4.0, 1.0 + 4.0 * 2.0 + 3.0]);
    let (mut ma, mut mb) = (M { a: 0.5, b: vec![0.25] }, M { a: 1.0, b: vec![0.0] });
    ma.step_d(&mut mb, 3);
    let run = |a0: f64| {
        let mut m = M { a: a0, b: vec![0.25] };
        m.step(3);
        (m.a, m.b[0])
    };
    let (u, l) = (run(0.5 + 1e-6), run(0.5 - 1e-6));
    assert!((mb.a - (u.0 - l.0) / 2e-6).abs() < 1e-8 && (mb.b[0] - (u.1 - l.1) / 2e-6).abs() < 1e-8);
    assert_eq!(run(0.5), (ma.a, ma.b[0]));
    let g = |a: f64, b: [f64; 2]| M { a, b: b.to_vec() };
    assert_eq!(
        g(2.0, [1.0, 3.0]).into_d(g(1.0, [0.0; 2]), g(0.0, [1.0, 1.0]), g(0.0, [0.0; 2])),
        [8.0, 4.0, 4.0, 0.0]
    );
    let seeds: [(f64, i32, f32); 16] = std::array::from_fn(|i| (i as f64, 5, 1.0));
    let [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15] = seeds;
    let r = t_d((2.0, 300, 3.0), s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15);
    assert_eq!(r[0], (6.0, 44, 9.0));
    for i in 0..16 {
        assert_eq!((r[i + 1].0, r[i + 1].2), (3.0 * i as f64 + 2.0, 6.0));
    }
    assert_eq!(r[3], (8.0, 5, 6.0));
    assert_eq!(
        (
            o_d(Some(3.0), Some(1.0), Some(0.0), &Some(4.0), &Some(0.0), &Some(1.0)),
            o_d(None, None, None, &None, &None, &None)
        ),
        ([Some(12.0), Some(4.0), Some(3.0)], [None; 3])
    );
    let e = |i: usize, j: usize| {
        let mut m = [[0.0; 3]; 2];
        m[i][j] = 1.0;
        m
    };
    let x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(
        q_d(
            &x,
            &e(0, 0),
            &e(0, 1),
            &e(0, 2),
            &e(1, 0),
            &e(1, 1),
            &e(1, 2),
            &e(0, 0),
            &e(0, 0),
            &e(0, 0),
            &e(0, 0),
            &e(0, 0),
            &e(1, 2)
        ),
        [32.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0, 4.0, 3.0]
    );
    let (l, r3): ([&[f64]; 2], _) = ([&[1.0, 2.0], &[3.0]], [[0.0; 3], [0.0, 0.0, 2.0]]);
    assert_eq!(
        s_d(&l, &[&[1.0, 0.0], &[0.0]], &[&[0.0, 0.0], &[1.0]], &r3, &[[0.0; 3]; 2], &[[0.0; 3], [0.0, 0.0, 1.0]]),
        [10.0, 4.0, 2.0 + 5.0]
    );
    assert_eq!(
        f32_d(
            &[1.0, 2.0],
            &(0..16).map(|i| i as f32).collect::<Vec<f32>>(),
            0.5,
            1.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0
        ),
        std::array::from_fn(|i| if i == 0 {
            2.5
        } else {
            let j = 2.0 * (i as f32 - 1.0);
            0.5 * (2.0 * j + 4.0 * (j + 1.0)) + if i == 1 { 5.0 } else { 0.0 }
        })
    );
    assert_eq!(k_d(2.0), (4.0, 0.0));
    let ra = [1.0, 2.0];
    assert_eq!(unsafe { raw_d(ra.as_ptr(), [1.0, 1.0].as_ptr(), 2) }, (5.0, 6.0));
    let r = bx_d(Box::new([2.0, 3.0]), Box::new([1.0, 0.0]), Box::new([0.0, 1.0]));
    assert_eq!(r.map(|b| *b), [6.0, 3.0, 2.0]);
}
