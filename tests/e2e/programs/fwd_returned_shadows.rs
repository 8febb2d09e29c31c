//! Shadows of results hold the primal's lengths, discriminants and texts, and zero where the primal has constants.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::collections::HashMap;
use std::hint::black_box;

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Real(f64),
    Tagged(i32, f32),
}

#[derive(Clone, Debug, PartialEq)]
struct Record {
    name: &'static str,
    count: usize,
    maybe: Option<f64>,
    kind: Kind,
    value: f64,
    list: Vec<f64>,
    flag: bool,
}

const DEFAULT: Record = Record {
    name: "hello",
    count: 7,
    maybe: Some(2.0),
    kind: Kind::Tagged(3, 1.5),
    value: 1.0,
    list: Vec::new(),
    flag: true,
};

static TABLE: [(f64, Option<f64>, bool, u8); 2] = [(1.0, Some(2.0), true, 5), (2.0, None, false, 6)];

#[autodiff_forward(record_jvp, Dual, DualOnly)]
fn record(x: f64) -> Record {
    let mut made = DEFAULT;
    if x > 0.0 {
        made.kind = Kind::Real(x);
    }
    made.value = x * x;
    made.list.extend([x, 2.0]);
    made
}

#[autodiff_forward(table_jvp, Dual, DualOnly)]
fn table(x: f64) -> [(f64, Option<f64>, bool, u8); 2] {
    let mut table = TABLE;
    table[1].1 = Some(x * x);
    table
}

#[autodiff_forward(map_jvp, 2, Dual, DualOnly)]
fn map(x: f64) -> HashMap<u32, Vec<f64>> {
    (0..5).map(|i| (i, vec![x * f64::from(i); 3])).collect()
}

#[autodiff_forward(owned_jvp, Dual, Dual)]
fn owned(x: f64) -> (f64, Result<f64, String>) {
    (x, if x > 0.0 { Ok(x * 3.0) } else { Err("negative".to_string()) })
}

#[autodiff_forward(borrowed_jvp, 2, Dual, DualOnly)]
fn borrowed(x: f64) -> (f64, Result<f64, &'static str>) {
    let found = match x {
        x if x > 1.0 => Ok(2.5),
        x if x > 0.0 => Err("small"),
        x if x > -1.0 => Ok(x.sin()),
        _ => Err("negative"),
    };
    (x, found)
}

/// One word is a number, a reference or the address of a box.
enum Cell<'a> {
    Number(f64),
    Reference(&'a f64),
    Text(&'static str),
    Owned(Box<f64>),
}

#[inline(never)]
fn make(x: &f64, k: usize) -> Cell<'_> {
    match k {
        0 => Cell::Number(*x * 2.0),
        1 => Cell::Reference(x),
        2 => Cell::Text("hello"),
        3 => Cell::Owned(Box::new(x * x)),
        _ => Cell::Number(4.0),
    }
}

#[inline(never)]
fn value(cell: &Cell) -> f64 {
    match cell {
        Cell::Number(v) => *v,
        Cell::Reference(v) => **v * 3.0,
        Cell::Text(text) => text.len() as f64,
        Cell::Owned(v) => **v * 5.0,
    }
}

#[autodiff_forward(cells_jvp, Dual, Dual)]
fn cells(x: f64) -> f64 {
    let mut all: Vec<Cell> = (0..5).map(|k| make(&x, k)).collect();
    all.reverse();
    all.iter().zip(1..).map(|(cell, k)| value(cell) * f64::from(k)).sum()
}

#[autodiff_forward(choice_jvp, Dual, Const, Dual)]
fn choice(x: f64, k: f64) -> f64 {
    let cell = match x {
        x if x > 1.0 => Cell::Number(k),
        x if x > 0.5 => Cell::Reference(&k),
        ref x if *x > 0.3 => Cell::Reference(x),
        _ => Cell::Number(3.0),
    };
    let both = black_box([cell, Cell::Number(x * x)]);
    value(&both[0]) * value(&both[1])
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

fn main() {
    let zeros = Record { maybe: Some(0.0), kind: Kind::Tagged(3, 0.0), value: -6.0, list: vec![1.0, 0.0], ..DEFAULT };
    assert_eq!(record_jvp(-3.0, 1.0), zeros);
    assert_eq!(record_jvp(3.0, 1.0), Record { kind: Kind::Real(1.0), value: 6.0, ..zeros });
    assert_eq!(table_jvp(3.0, 1.0), [(0.0, Some(0.0), true, 5), (0.0, Some(6.0), false, 6)]);
    let [one, two] = map_jvp(3.0, 1.0, 2.0);
    assert!(one.len() == 5 && one.iter().all(|(i, v)| *v == [f64::from(*i); 3]));
    assert!(two.len() == 5 && two.iter().all(|(i, v)| *v == [f64::from(2 * i); 3]));
    assert_eq!(owned_jvp(2.0, 1.0), ((2.0, Ok(6.0)), (1.0, Ok(3.0))));
    let ((_, Err(text)), (tangent, Err(shadow))) = owned_jvp(-2.0, 1.0) else { panic!("no text") };
    assert!(text == "negative" && shadow == text && tangent == 1.0);
    assert_eq!(borrowed_jvp(2.0, 1.0, 2.0), [(1.0, Ok(0.0)), (2.0, Ok(0.0))]);
    assert_eq!(borrowed_jvp(0.5, 1.0, 2.0), [(1.0, Err("small")), (2.0, Err("small"))]);
    assert_eq!(borrowed_jvp(-0.5, 1.0, 0.0), [(1.0, Ok(0.5f64.cos())), (0.0, Ok(0.0))]);
    assert_eq!(borrowed_jvp(-2.0, 1.0, 2.0), [(1.0, Err("negative")), (2.0, Err("negative"))]);
    let (y, d) = cells_jvp(0.7, 1.0);
    assert!(close(y, 4.0 + 2.0 * 5.0 * 0.49 + 15.0 + 4.0 * 2.1 + 5.0 * 1.4) && close(d, 14.0 + 12.0 + 10.0));
    for (x, primal, tangent) in [(1.2, 2.88, 4.8), (0.7, 2.94, 8.4), (0.4, 0.192, 1.44), (0.1, 0.03, 0.6)] {
        let (y, d) = choice_jvp(x, 1.0, 2.0);
        assert!(close(y, primal) && close(d, tangent), "{x}: {y} {d}");
    }
}
