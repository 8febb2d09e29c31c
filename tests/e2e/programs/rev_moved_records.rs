//! Records of singles, doubles, arrays and variants that are moved whole within a vector.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

#[derive(Clone, Copy)]
enum Variant {
    One(f32),
    Both(f32, f32),
    Int(i32),
    Small { n: u16, x: f32 },
}

#[derive(Clone, Copy)]
struct Record {
    n: u32,
    row: [f32; 3],
    flag: (f32, bool),
    d: f64,
    variant: Variant,
}

fn make(k: usize, a: f64, b: f64) -> Record {
    let t = k as f64 + 0.5;
    let variant = match k {
        0 => Variant::One((b * t) as f32),
        1 => Variant::Both((b * t) as f32, a as f32),
        2 => Variant::Small { n: 2, x: a as f32 },
        _ => Variant::Int(3),
    };
    Record { n: k as u32, row: [(a * t) as f32; 3], flag: (0.5, k > 1), d: a * k as f64, variant }
}

fn value(record: &Record) -> f64 {
    let kind = match record.variant {
        Variant::One(a) => a.sin() as f64,
        Variant::Both(a, b) => (a * b) as f64,
        Variant::Int(i) => i as f64,
        Variant::Small { n, x } => x as f64 * (n as f64 + 1.0),
    };
    let flag = if record.flag.1 { record.flag.0 } else { 1.0 };
    (record.row[0] * record.row[2] * flag) as f64 + record.d.cos() + kind * (record.n as f64 + 1.0)
}

fn sum(records: &[Record]) -> f64 {
    records.iter().zip(1..).map(|(record, k)| value(record) * k as f64).sum()
}

#[autodiff_forward(assigned_jvp, Dual, Dual)]
#[autodiff_reverse(assigned_vjp, Duplicated, Active)]
fn assigned(x: &[f64; 2]) -> f64 {
    let mut all: Vec<Record> = (0..4).map(|k| make(k, x[0], x[1])).collect();
    all[1] = all[3];
    sum(&all)
}

#[autodiff_forward(shifted_jvp, Dual, Dual)]
#[autodiff_reverse(shifted_vjp, Duplicated, Active)]
fn shifted(x: &[f64; 2]) -> f64 {
    let mut all: Vec<Record> = (0..4).map(|k| make(k, x[0], x[1])).collect();
    let first = all.remove(0);
    all.insert(3, first);
    sum(&all)
}

/// Each record's derivatives, and where the records are in the end.
fn expected(x: &[f64; 2], places: [usize; 4]) -> [f64; 2] {
    let [a, b] = *x;
    let mut found = [0.0; 2];
    for (place, k) in (1..).zip(places) {
        let (t, n) = (k as f64 + 0.5, k as f64 + 1.0);
        let flag = if k > 1 { 0.5 } else { 1.0 };
        let mut d = [2.0 * a * t * t * flag - k as f64 * (a * k as f64).sin(), 0.0];
        match k {
            0 => d[1] += t * (b * t).cos() * n,
            1 => d = [d[0] + b * t * n, a * t * n],
            2 => d[0] += 3.0 * n,
            _ => (),
        }
        found = [found[0] + d[0] * place as f64, found[1] + d[1] * place as f64];
    }
    found
}

type Forward = fn(&[f64; 2], &[f64; 2]) -> (f64, f64);
type Reverse = fn(&[f64; 2], &mut [f64; 2], f64) -> f64;

fn check(forward: Forward, reverse: Reverse, places: [usize; 4]) {
    let x = [0.62, 0.35];
    let mut gradient = [0.0; 2];
    reverse(&x, &mut gradient, 1.0);
    let tangents = [[1.0, 0.0], [0.0, 1.0]].map(|seed| forward(&x, &seed).1);
    for (i, right) in expected(&x, places).into_iter().enumerate() {
        assert!((gradient[i] - right).abs() < 1e-4 && (tangents[i] - right).abs() < 1e-4, "{gradient:?} {tangents:?}");
    }
}

fn main() {
    check(assigned_jvp, assigned_vjp, [0, 3, 2, 3]);
    check(shifted_jvp, shifted_vjp, [1, 2, 3, 0]);
}
