//! Trees, heaps and queues made and used up inside a function.
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

mod btree_iter {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut m: BTreeMap<u32, f64> = BTreeMap::new();
        for i in 0..6u32 {
            *m.entry(i % 4).or_insert(1.0) *= x[i as usize];
        }
        m.iter().map(|(k, v)| v * v * (*k as f64)).sum::<f64>() + m.values().product::<f64>()
    }
}

mod bt_vec {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut m: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for i in 0..40 {
            m.entry(i * 3 % 17).or_default().push(x[(i % 6) as usize]);
        }
        let mut t = 0.0;
        for (k, v) in &m {
            t += v.iter().map(|a| a * a).sum::<f64>() * (*k as f64 * 0.1).sin();
        }
        t
    }
}

mod heap2 {
    #[allow(unused_imports)]
    use super::*;
    use std::cmp::*;
    #[derive(PartialEq)]
    struct S {
        cost: f64,
        at: usize,
    }
    impl Eq for S {}
    impl PartialOrd for S {
        fn partial_cmp(&self, o: &S) -> Option<Ordering> {
            Some(self.cmp(o))
        }
    }
    impl Ord for S {
        fn cmp(&self, o: &S) -> Ordering {
            o.cost.partial_cmp(&self.cost).unwrap().then(self.at.cmp(&o.at))
        }
    }

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let n = 4;
        let mut dist = vec![f64::INFINITY; n];
        dist[0] = 0.0;
        let mut h = BinaryHeap::new();
        h.push(S { cost: 0.0, at: 0 });
        while let Some(S { cost, at }) = h.pop() {
            if cost > dist[at] {
                continue;
            }
            for to in 0..n {
                if to == at {
                    continue;
                }
                let w = 0.5 + (x[at] * x[to]).abs() + 0.1 * (at + 2 * to) as f64;
                let c = cost + w;
                if c < dist[to] {
                    dist[to] = c;
                    h.push(S { cost: c, at: to });
                }
            }
        }
        dist.iter().enumerate().map(|(i, d)| d * d * i as f64).sum()
    }
}

mod deque_big {
    #[allow(unused_imports)]
    use super::*;

    #[autodiff_reverse(gradient, Duplicated, Active)]
    pub fn value(x: &[f64]) -> f64 {
        let mut d: VecDeque<(u32, f64)> = VecDeque::with_capacity(4);
        for i in 0..25u32 {
            d.push_back((i, x[i as usize % 6]));
            if i % 3 == 2 {
                let (k, v) = d.pop_front().unwrap();
                d.push_front((k, v * 1.5));
            }
            if d.len() > 6 {
                d.pop_front();
            }
        }
        d.make_contiguous();
        d.iter().map(|(k, v)| v * v * *k as f64).sum()
    }
}

fn main() {
    check("btree_iter", btree_iter::value, btree_iter::gradient);
    check("bt_vec", bt_vec::value, bt_vec::gradient);
    check("heap2", heap2::value, heap2::gradient);
    check("deque_big", deque_big::value, deque_big::gradient);
}
