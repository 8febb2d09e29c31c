//! Trees, arenas, closures that are returned, drops, locks, packed structs, words of memory.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::cell::*;
use std::mem::*;
use std::rc::*;
fn adder(k: f64) -> impl Fn(f64) -> f64 {
    move |v| v * k + k.sin()
}
fn compose<A, B, C>(f: impl Fn(A) -> B, g: impl Fn(B) -> C) -> impl Fn(A) -> C {
    move |a| g(f(a))
}
#[autodiff_forward(closures_jvp, Dual, Dual)]
#[autodiff_forward(closures_lanes, 3, Dualv, Dual)]
fn closures(x: &[f64]) -> f64 {
    let f = compose(adder(x[0]), compose(adder(x[1]), |v: f64| (v, v * v)));
    let (a, b) = f(x[2]);
    let mut log = Vec::new();
    let mut rec = |v: f64| {
        log.push(v);
        log.len() as f64 * v
    };
    let s = rec(a) + rec(b) + rec(a * b);
    fn call(g: &mut dyn FnMut(f64) -> f64) -> f64 {
        g(0.5) + g(2.0)
    }
    let mut t = x[0];
    let q = call(&mut |v| {
        t += v * x[1];
        t
    });
    s + q + log.iter().sum::<f64>() + t
}

struct Bst {
    key: f64,
    val: f64,
    l: Option<Box<Bst>>,
    r: Option<Box<Bst>>,
}
fn ins(n: Option<Box<Bst>>, key: f64, val: f64) -> Option<Box<Bst>> {
    match n {
        None => Some(Box::new(Bst { key, val, l: None, r: None })),
        Some(mut b) => {
            if key < b.key {
                b.l = ins(b.l.take(), key, val);
            } else {
                b.r = ins(b.r.take(), key, val);
            }
            Some(b)
        }
    }
}
fn walk(n: &Option<Box<Bst>>, acc: &mut f64) {
    if let Some(b) = n {
        walk(&b.l, acc);
        *acc = *acc * 0.7 + b.val * b.key;
        walk(&b.r, acc);
    }
}
#[autodiff_forward(bst_jvp, Dual, Dual)]
fn bst(x: &[f64]) -> f64 {
    let mut t = None;
    for v in x {
        t = ins(t, *v, v.cos());
    }
    let mut a = 0.0;
    walk(&t, &mut a);
    a
}

struct Arena {
    val: Vec<f64>,
    next: Vec<Option<usize>>,
}
#[autodiff_forward(arena_jvp, Dual, Dual)]
#[autodiff_forward(arena_lanes, 3, Dualv, Dual)]
fn arena(x: &[f64]) -> f64 {
    let mut a = Arena { val: vec![], next: vec![] };
    for (i, v) in x.iter().enumerate() {
        a.val.push(v * 2.0);
        a.next.push(if i == 0 { None } else { Some(i * 3 % i) });
    }
    let mut s = 0.0;
    for st in 0..x.len() {
        let mut at = Some(st);
        while let Some(i) = at {
            s += a.val[i] * st as f64;
            a.val[i] *= 0.9;
            at = a.next[i];
        }
    }
    s
}

#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Pk {
    t: u8,
    a: f64,
    n: u16,
    b: f32,
}
#[autodiff_forward(packed_jvp, Dual, Dual)]
fn packed(x: &[f64]) -> f64 {
    let mut v: Vec<Pk> =
        x.iter().enumerate().map(|(i, w)| Pk { t: i as u8, a: *w, n: 300, b: *w as f32 }).collect();
    v.swap(0, 2);
    v.insert(1, v[2]);
    v.iter()
        .map(|p| {
            let (a, b) = (p.a, p.b);
            a * a * p.t as f64 + (b * b) as f64 * p.n as f64 * 0.01
        })
        .sum()
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Al([f64; 3], u8);
#[repr(u8)]
#[derive(Clone, Copy)]
enum Rp {
    A(f64) = 3,
    B { x: f32, y: f32 } = 9,
    C = 200,
}
#[autodiff_forward(layouts_jvp, Dual, Dual)]
fn layouts(x: &[f64]) -> f64 {
    let v: Vec<Al> = (0..3).map(|i| Al([x[i], x[i + 1], x[0] * i as f64], i as u8)).collect();
    let w = [Rp::A(x[0]), Rp::B { x: x[1] as f32, y: x[2] as f32 }, Rp::C, Rp::A(x[3])];
    let mut u = w.to_vec();
    u.rotate_left(1);
    u.iter()
        .zip(1..)
        .map(|(r, k)| {
            k as f64
                * match r {
                    Rp::A(v) => v * v,
                    Rp::B { x, y } => (x * y) as f64,
                    Rp::C => 1.0,
                }
        })
        .sum::<f64>()
        + v.iter().rev().map(|a| a.0.iter().product::<f64>() * a.1 as f64).sum::<f64>()
}

struct Guard<'a>(&'a Cell<f64>, f64);
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() * self.1 + 1.0);
    }
}
#[autodiff_forward(drops_jvp, Dual, Dual)]
#[autodiff_forward(drops_lanes, 3, Dualv, Dual)]
fn drops(x: &[f64]) -> f64 {
    let c = Cell::new(x[0]);
    {
        let _a = Guard(&c, x[1]);
        let _b = Guard(&c, x[2]);
        c.set(c.get().sin());
    }
    let m = ManuallyDrop::new(Guard(&c, 5.0));
    c.get() * m.0.get()
}

#[autodiff_forward(weak_jvp, Dual, Dual)]
fn weak(x: &[f64]) -> f64 {
    struct Node {
        v: Cell<f64>,
        up: RefCell<Weak<Node>>,
        kids: RefCell<Vec<Rc<Node>>>,
    }
    let root = Rc::new(Node { v: Cell::new(x[0]), up: RefCell::new(Weak::new()), kids: RefCell::new(vec![]) });
    for i in 1..3 {
        let k =
            Rc::new(Node { v: Cell::new(x[i]), up: RefCell::new(Rc::downgrade(&root)), kids: RefCell::default() });
        root.kids.borrow_mut().push(k);
    }
    for k in root.kids.borrow().iter() {
        let up = k.up.borrow().upgrade().unwrap();
        up.v.set(up.v.get() * k.v.get().cos());
        k.v.set(up.v.get() + 0.5);
    }
    let s: Rc<[f64]> = Rc::from(x);
    let mut t = Rc::new(x[1]);
    *Rc::make_mut(&mut t) *= 3.0;
    let r = root.v.get() * root.kids.borrow()[0].v.get() + s.iter().sum::<f64>() * *t;
    r
}

#[autodiff_forward(slices_of_slices_jvp, Dual, Dual)]
#[autodiff_forward(slices_of_slices_lanes, 3, Dualv, Dual)]
fn slices_of_slices(x: &[f64]) -> f64 {
    fn go(v: &[&[f64]], d: usize) -> f64 {
        match v {
            [] => 0.5,
            [a] => a.iter().sum(),
            [a, rest @ ..] => a.first().copied().unwrap_or(1.0) * go(rest, d + 1) + d as f64,
        }
    }
    let parts: Vec<&[f64]> = x.chunk_by(|a, b| (*a > 0.0) == (*b > 0.0)).collect();
    let [a, b, .., z] = x else { return 0.0 };
    go(&parts, 1)
        + a * b * z
        + parts.iter().map(|p| p.len() as f64 * p[p.len() - 1]).sum::<f64>()
        + x.iter().rev().skip_while(|v| **v < 0.0).map_while(|v| (*v > -1.0).then_some(v * 2.0)).sum::<f64>()
}

#[autodiff_forward(maybe_jvp, Dual, Dual)]
#[autodiff_forward(maybe_lanes, 3, Dualv, Dual)]
fn maybe(x: &[f64]) -> f64 {
    let a = Some(x[0]);
    let b = a.filter(|v| *v > 0.5).or_else(|| Some(x[1])).zip(Some(x[2])).map(|(p, q)| p * q);
    let mut c = None;
    let d = *c.get_or_insert(x[3] * 2.0);
    let e: Result<f64, f64> = if x[0] > 0.5 { Ok(x[1]) } else { Err(x[2]) };
    let f = e.map(|v| v * 3.0).map_err(|v| v * v).unwrap_or_else(|v| v);
    let g = c.replace(5.0).xor(None::<f64>).map_or(1.0, |v| v * x[0]);
    let h = Some(Some(x[1])).flatten().as_ref().copied().unwrap_or_default();
    let i: Option<Result<f64, ()>> = Ok(Some(x[3])).transpose();
    b.unwrap() + d * f + g * h + i.unwrap().unwrap().sin() + a.is_some_and(|v| v > 0.0) as u8 as f64 * x[1]
}

#[autodiff_forward(atomics_jvp, Dual, Dual)]
#[autodiff_forward(atomics_lanes, 3, Dualv, Dual)]
fn atomics(x: &[f64]) -> f64 {
    use std::sync::{atomic::*, *};
    let n = AtomicUsize::new(0);
    let m = Mutex::new(x[0]);
    for _ in 0..3 {
        n.fetch_add(1, Ordering::SeqCst);
        *m.lock().unwrap() *= x[1];
    }
    let r = RwLock::new([x[0], x[1]]);
    r.write().unwrap()[0] *= 2.0;
    let a = Arc::new(x[0] * x[1]);
    let b = Arc::clone(&a);
    let v = *m.lock().unwrap();
    let q = r.read().unwrap().iter().sum::<f64>();
    v * n.load(Ordering::SeqCst) as f64 + q * *b
}

#[autodiff_forward(words_jvp, Dual, Dual)]
#[autodiff_forward(words_lanes, 3, Dualv, Dual)]
fn words(x: &[f64]) -> f64 {
    let p = x.as_ptr() as *const u64;
    let mut buf = [0u64; 4];
    for i in 0..4 {
        buf[3 - i] = unsafe { p.add(i).read() };
    }
    let w: u128 = buf[0] as u128 | (buf[1] as u128) << 64;
    let (lo, hi) = (w as u64, (w >> 64) as u64);
    let y: [f64; 4] = unsafe { transmute(buf) };
    let z = unsafe { std::slice::from_raw_parts(buf.as_ptr() as *const f64, 4) };
    f64::from_bits(lo) * f64::from_bits(hi) + y[2] * z[3].sin()
}

#[path = "checks/differences.rs"]
mod differences;
use differences::check;

/// Relative tolerance of derivatives that pass single precision.
const SINGLE: f64 = 2e-3;

fn main() {
    check("closures", 3, false, closures, closures_jvp, Some(closures_lanes));
    check("bst", 7, false, bst, bst_jvp, None);
    check("arena", 5, false, arena, arena_jvp, Some(arena_lanes));
    check("packed", 4, true, packed, packed_jvp, None);
    check("layouts", 4, true, layouts, layouts_jvp, None);
    check("drops", 3, false, drops, drops_jvp, Some(drops_lanes));
    check("weak", 3, false, weak, weak_jvp, None);
    check("slices_of_slices", 8, false, slices_of_slices, slices_of_slices_jvp, Some(slices_of_slices_lanes));
    check("maybe", 4, false, maybe, maybe_jvp, Some(maybe_lanes));
    check("atomics", 2, false, atomics, atomics_jvp, Some(atomics_lanes));
    check("words", 4, false, words, words_jvp, Some(words_lanes));
}
