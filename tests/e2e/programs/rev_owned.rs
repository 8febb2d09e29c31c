//! Owned, shared and linked data: lists, trees, cells, boxes, closures.
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

mod rc {
    #[allow(unused_imports)]
    use super::*;
    use std::cell::*;
    use std::rc::Rc;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let a = Rc::new(RefCell::new(x[0]));
        let b = Rc::clone(&a);
        for v in x {
            *b.borrow_mut() *= 1.0 + v * v;
        }
        let t = *a.borrow();
        t * x[1]
    }
}

mod cell {
    #[allow(unused_imports)]
    use super::*;
    use std::cell::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let c = Cell::new(x[0]);
        for v in x {
            c.set(c.get() * 0.5 + v * v);
        }
        let r = RefCell::new(vec![0.0; 3]);
        r.borrow_mut()[1] = x[2] * c.get();
        r.borrow_mut().push(x[0]);
        let t = r.borrow().iter().sum::<f64>();
        t + c.replace(0.0)
    }
}

mod rc_vec {
    #[allow(unused_imports)]
    use super::*;
    use std::rc::Rc;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let v: Rc<[f64]> = x.iter().map(|a| a * a).collect();
        let w = v.clone();
        let mut r = Rc::new(x.to_vec());
        Rc::make_mut(&mut r)[0] = x[1] * x[2];
        v[0] * w[1] + r[0] * r[3]
    }
}

mod rc_tree {
    #[allow(unused_imports)]
    use super::*;
    use std::cell::*;
    use std::rc::*;
    struct N {
        v: Cell<f64>,
        kids: RefCell<Vec<Rc<N>>>,
    }
    fn sum(n: &Rc<N>) -> f64 {
        n.v.get() * n.v.get() + n.kids.borrow().iter().map(|k| sum(k).sin()).sum::<f64>()
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mk = |v: f64| {
            Rc::new(N {
                v: Cell::new(v),
                kids: RefCell::new(vec![]),
            })
        };
        let root = mk(x[0]);
        for i in 1..4 {
            let k = mk(x[i]);
            k.kids.borrow_mut().push(mk(x[i + 1] * x[i]));
            root.kids.borrow_mut().push(k);
        }
        root.v.set(root.v.get() * x[5]);
        sum(&root)
    }
}

mod rc_list {
    #[allow(unused_imports)]
    use super::*;
    use std::cell::*;
    use std::rc::*;
    struct N {
        v: f64,
        next: Option<Rc<RefCell<N>>>,
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut head: Option<Rc<RefCell<N>>> = None;
        for v in x {
            head = Some(Rc::new(RefCell::new(N {
                v: *v,
                next: head.take(),
            })));
        }
        let mut at = head.clone();
        while let Some(n) = at {
            n.borrow_mut().v *= 1.5;
            let w = n.borrow().v;
            n.borrow_mut().v += w * w;
            at = n.borrow().next.clone();
        }
        let mut t = 0.0;
        let mut at = head;
        while let Some(n) = at {
            t = t * 0.5 + n.borrow().v;
            at = n.borrow_mut().next.take();
        }
        t
    }
}

mod list {
    #[allow(unused_imports)]
    use super::*;
    struct Node {
        v: f64,
        next: Option<Box<Node>>,
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut head: Option<Box<Node>> = None;
        for v in x {
            head = Some(Box::new(Node {
                v: v * v,
                next: head.take(),
            }));
        }
        let mut t = 0.0;
        let mut at = &head;
        while let Some(n) = at {
            t = t * 0.7 + n.v.sin();
            at = &n.next;
        }
        t
    }
}

mod list_rec {
    #[allow(unused_imports)]
    use super::*;
    struct Node {
        v: f64,
        next: Option<Box<Node>>,
    }
    fn fold(n: &Option<Box<Node>>, t: f64) -> f64 {
        match n {
            None => t,
            Some(b) => fold(&b.next, t * 0.5 + b.v * b.v),
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut head: Option<Box<Node>> = None;
        for v in x {
            head = Some(Box::new(Node { v: *v, next: head }));
        }
        fold(&head, 1.0)
    }
}

mod tree {
    #[allow(unused_imports)]
    use super::*;
    struct Tree {
        v: f64,
        l: Option<Box<Tree>>,
        r: Option<Box<Tree>>,
    }
    fn insert(t: Option<Box<Tree>>, v: f64) -> Option<Box<Tree>> {
        match t {
            None => Some(Box::new(Tree { v, l: None, r: None })),
            Some(mut b) => {
                if v < b.v {
                    b.l = insert(b.l.take(), v);
                } else {
                    b.r = insert(b.r.take(), v);
                }
                Some(b)
            }
        }
    }
    fn sum(t: &Option<Box<Tree>>, d: f64) -> f64 {
        match t {
            None => 0.0,
            Some(b) => d * b.v * b.v + sum(&b.l, d * 0.5) + sum(&b.r, d * 0.3),
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = None;
        for v in x {
            t = insert(t, *v);
        }
        sum(&t, 1.0)
    }
}

mod tree_mut {
    #[allow(unused_imports)]
    use super::*;
    #[derive(Default)]
    struct Tree {
        v: f64,
        l: Option<Box<Tree>>,
        r: Option<Box<Tree>>,
    }
    impl Tree {
        fn add(&mut self, v: f64) {
            let side = if v < self.v { &mut self.l } else { &mut self.r };
            match side {
                Some(b) => b.add(v),
                None => *side = Some(Box::new(Tree { v, l: None, r: None })),
            }
        }
        fn sum(&self) -> f64 {
            self.v * self.v
                + self.l.as_ref().map_or(0.0, |b| b.sum().sin())
                + self.r.as_ref().map_or(0.0, |b| 0.5 * b.sum())
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = Tree::default();
        for v in x {
            t.add(*v);
        }
        t.sum()
    }
}

mod enum_expr {
    #[allow(unused_imports)]
    use super::*;
    enum E {
        C(f64),
        V(usize),
        Add(Box<E>, Box<E>),
        Mul(Box<E>, Box<E>),
        Sin(Box<E>),
    }
    use E::*;
    fn eval(e: &E, x: &[f64]) -> f64 {
        match e {
            C(c) => *c,
            V(i) => x[*i],
            Add(a, b) => eval(a, x) + eval(b, x),
            Mul(a, b) => eval(a, x) * eval(b, x),
            Sin(a) => eval(a, x).sin(),
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let e = Add(
            Box::new(Mul(Box::new(V(0)), Box::new(Sin(Box::new(V(1)))))),
            Box::new(Mul(Box::new(C(2.0)), Box::new(V(2)))),
        );
        eval(&e, x) * eval(&e, x)
    }
}

mod arena {
    #[allow(unused_imports)]
    use super::*;
    struct Node {
        v: f64,
        kids: Vec<usize>,
        op: u8,
    }
    struct G {
        n: Vec<Node>,
    }
    impl G {
        fn add(&mut self, op: u8, v: f64, kids: &[usize]) -> usize {
            self.n.push(Node {
                v,
                kids: kids.to_vec(),
                op,
            });
            self.n.len() - 1
        }
        fn eval(&self) -> Vec<f64> {
            let mut o = vec![0.0; self.n.len()];
            for (i, n) in self.n.iter().enumerate() {
                o[i] = match n.op {
                    0 => n.v,
                    1 => n.kids.iter().map(|k| o[*k]).sum(),
                    2 => n.kids.iter().map(|k| o[*k]).product(),
                    _ => o[n.kids[0]].sin(),
                };
            }
            o
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut g = G { n: vec![] };
        let a: Vec<usize> = x.iter().map(|v| g.add(0, *v, &[])).collect();
        let s = g.add(1, 0.0, &a);
        let p = g.add(2, 0.0, &[a[0], a[1], s]);
        let q = g.add(3, 0.0, &[p]);
        let r = g.add(1, 0.0, &[q, s, p]);
        g.eval()[r]
    }
}

mod cow {
    #[allow(unused_imports)]
    use super::*;
    use std::borrow::Cow;
    fn norm(x: &[f64]) -> Cow<'_, [f64]> {
        if x[0] > 1.0 {
            Cow::Owned(x.iter().map(|v| v * 0.5).collect())
        } else {
            Cow::Borrowed(x)
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let c = norm(x);
        c.iter().map(|v| v * v).sum::<f64>() + c.into_owned()[1]
    }
}

mod boxed_fn {
    #[allow(unused_imports)]
    use super::*;
    fn adder(k: f64) -> Box<dyn Fn(f64) -> f64> {
        Box::new(move |v| v * k)
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let f = adder(x[0]);
        f(x[1]) * f(x[2])
    }
}

mod dyn_fnmut {
    #[allow(unused_imports)]
    use super::*;
    #[inline(never)]
    fn each(x: &[f64], f: &mut dyn FnMut(f64)) {
        for v in x {
            f(*v);
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut t = 1.0;
        each(x, &mut |v| t = t * 0.8 + v * v);
        t * t
    }
}

mod dyn_iter1 {
    #[allow(unused_imports)]
    use super::*;
    fn it<'a>(x: &'a [f64]) -> Box<dyn Iterator<Item = f64> + 'a> {
        Box::new(x.iter().map(|v| v * v))
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        it(x).sum::<f64>() + it(x).fold(1.0, |a, b| a * 0.5 + b)
    }
}

mod option_take {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut o: Option<Vec<f64>> = Some(x.to_vec());
        let mut t = 1.0;
        while let Some(mut v) = o.take() {
            let l = v.pop().unwrap();
            t = t * 0.7 + l * l;
            if !v.is_empty() {
                v[0] *= 1.1;
                o = Some(v);
            }
        }
        t
    }
}

mod box_slice {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut b: Box<[f64]> = x.into();
        for v in b.iter_mut() {
            *v = v.sin();
        }
        let v = b.into_vec();
        let a: [f64; 6] = v.try_into().unwrap();
        let z = Box::new(a);
        let y = *z;
        y[0] * y[5]
    }
}

mod iter_impl {
    #[allow(unused_imports)]
    use super::*;
    struct It<'a> {
        x: &'a [f64],
        i: usize,
        s: f64,
    }
    impl<'a> Iterator for It<'a> {
        type Item = f64;
        fn next(&mut self) -> Option<f64> {
            let v = *self.x.get(self.i)?;
            self.i += 1;
            self.s = self.s * 0.5 + v;
            Some(self.s)
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        It { x, i: 0, s: 1.0 }.map(|v| v * v).sum::<f64>() + It { x, i: 2, s: 0.0 }.last().unwrap()
    }
}

mod group {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut by: Vec<Vec<(usize, f64)>> = vec![Vec::new(); 3];
        for (i, v) in x.iter().enumerate() {
            by[i % 3].push((i, *v));
        }
        let m: Vec<f64> = by
            .iter()
            .map(|g| g.iter().map(|p| p.1).sum::<f64>() / g.len() as f64)
            .collect();
        by.iter()
            .zip(&m)
            .map(|(g, m)| {
                g.iter()
                    .map(|p| (p.1 - m).powi(2) * (p.0 as f64 + 1.0))
                    .sum::<f64>()
            })
            .sum()
    }
}

fn main() {
    check("rc", rc::value, rc::gradient);
    check("cell", cell::value, cell::gradient);
    check("rc_vec", rc_vec::value, rc_vec::gradient);
    check("rc_tree", rc_tree::value, rc_tree::gradient);
    check("rc_list", rc_list::value, rc_list::gradient);
    check("list", list::value, list::gradient);
    check("list_rec", list_rec::value, list_rec::gradient);
    check("tree", tree::value, tree::gradient);
    check("tree_mut", tree_mut::value, tree_mut::gradient);
    check("enum_expr", enum_expr::value, enum_expr::gradient);
    check("arena", arena::value, arena::gradient);
    check("cow", cow::value, cow::gradient);
    check("boxed_fn", boxed_fn::value, boxed_fn::gradient);
    check("dyn_fnmut", dyn_fnmut::value, dyn_fnmut::gradient);
    check("dyn_iter1", dyn_iter1::value, dyn_iter1::gradient);
    check("option_take", option_take::value, option_take::gradient);
    check("box_slice", box_slice::value, box_slice::gradient);
    check("iter_impl", iter_impl::value, iter_impl::gradient);
    check("group", group::value, group::gradient);
}
