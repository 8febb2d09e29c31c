"""The same kernels through other people's differentiators, for the table's neighbours.

`python bench/peers.py [--json FILE]` times JAX, CasADi and Enzyme (the `enzyme-ad` wheel, C++ through
JAX) where they are installed, and says which are not: none of them is needed by Ferrodiff. Each ratio
is a derivative's time over the SAME tool's primal in the same run, so that it stands beside
`bench/run.py`'s ratios; the absolute nanoseconds go to the JSON file. JAX's calls carry a fixed
dispatch cost of some microseconds, which flatters its ratios on small kernels.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

N = 1000
STEPS = 200
Times = dict[str, float]


def best_ns(call: Callable[[], object], repetitions: int = 9) -> float:
    """Nanoseconds of one call: the best of `repetitions` rounds of about 3 ms, after a warm-up."""
    start, inner = time.perf_counter(), 0
    while time.perf_counter() - start < 0.003 or inner == 0:
        call()
        inner += 1
    best = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        best = min(best, (time.perf_counter() - start) / inner)
    return best * 1e9


def jax_kernels(jax: Any) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Kernel name -> (function, example arguments), in the style a JAX user would write."""
    np, lax = jax.numpy, jax.lax
    x = np.linspace(0.1, 0.9, N)
    w = np.linspace(-0.1, 0.1, 64 * 64).reshape(64, 64)
    v = np.linspace(0.1, 0.9, 64)

    def rosenbrock(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def rational(x: Any) -> Any:
        p = 1.0 + x * (2.0 + x * (-0.5 + x * (0.25 + x * 0.125)))
        return p / (2.0 + x * (0.5 + x * (0.75 + x * 0.0625)))

    def lorenz(start: Any, p: Any) -> Any:
        def field(s: Any) -> Any:
            return np.array([p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]])

        def step(_: Any, s: Any) -> Any:
            h = 0.005
            k1 = field(s)
            k2 = field(s + h / 2 * k1)
            k3 = field(s + h / 2 * k2)
            k4 = field(s + h * k3)
            return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return lax.scan(lambda s, i: (step(i, s), None), start, None, length=STEPS)[0]

    return {
        "rosenbrock": (rosenbrock, (x,)),
        "log_sum_exp": (lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))), (x,)),
        "dot": (lambda x, y: np.sum(x * y), (x, x[::-1])),
        "tanh_layer": (lambda w, x, b: np.tanh(w @ x + b), (w, v, v)),
        "rational_polynomial": (rational, (x,)),
        "lorenz_rk4": (lorenz, (np.array([1.0, 1.5, 20.0]), np.array([10.0, 28.0, 8 / 3]))),
    }


def through_jax(jax: Any) -> dict[str, Times]:
    """Primal, one JVP, N JVPs by `vmap`, and one VJP of every kernel."""
    jax.config.update("jax_enable_x64", True)
    results: dict[str, Times] = {}
    for name, (f, arguments) in jax_kernels(jax).items():

        def jvp(tangents: Any, f: Any = f, arguments: Any = arguments) -> Any:
            return jax.jvp(f, arguments, tangents)[1]

        def vjp(seed: Any, f: Any = f, arguments: Any = arguments) -> Any:
            return jax.vjp(f, *arguments)[1](seed)

        value = f(*arguments)
        calls: dict[str, tuple[Any, tuple[Any, ...]]] = {
            "primal": (jax.jit(f), arguments),
            "fwd1": (jax.jit(jvp), (arguments,)),
            "rev": (jax.jit(vjp), (jax.numpy.ones_like(value),)),
        }
        for width in (4, 8, 16):
            batch = tuple(jax.numpy.stack([a] * width) for a in arguments)
            calls[f"fwd{width}"] = (jax.jit(jax.vmap(jvp)), (batch,))
        results[name] = {
            key: best_ns(lambda c=call, a=inputs: jax.block_until_ready(c(*a)))
            for key, (call, inputs) in calls.items()
        }
    return results


def through_casadi(casadi: Any) -> dict[str, Times]:
    """CasADi's virtual machine on scalar expression graphs (SX), one forward and one reverse sweep."""
    x = casadi.SX.sym("x", N)
    chain = casadi.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    expressions = {
        "rosenbrock": chain,
        "log_sum_exp": casadi.log(casadi.sum1(casadi.exp(x))),
        "dot": casadi.dot(x, x),
    }
    point = [0.1 + 0.8 * i / N for i in range(N)]
    results: dict[str, Times] = {}
    for name, expression in expressions.items():
        seed = casadi.SX.sym("seed", N)
        functions = {
            "primal": (casadi.Function("f", [x], [expression]), (point,)),
            "fwd1": (casadi.Function("j", [x, seed], [casadi.jtimes(expression, x, seed)]), (point, point)),
            "rev": (casadi.Function("g", [x], [casadi.gradient(expression, x)]), (point,)),
        }
        results[name] = {key: _casadi_ns(casadi, f, inputs) for key, (f, inputs) in functions.items()}
    return results


def _casadi_ns(casadi: Any, function: Any, inputs: tuple[Any, ...]) -> float:
    """Times the evaluation alone: the conversion of Python lists would otherwise dominate."""
    numpy = importlib.import_module("numpy")
    arrays = [numpy.array(i, dtype=float) for i in inputs]
    outputs = [numpy.zeros(function.nnz_out(i)) for i in range(function.n_out())]
    buffer, run = function.buffer()
    for i, array in enumerate(arrays):
        buffer.set_arg(i, memoryview(array))
    for i, array in enumerate(outputs):
        buffer.set_res(i, memoryview(array))
    return best_ns(run)


ENZYME_SOURCES = {
    "rosenbrock": """
        template <typename Out, typename In> __attribute__((always_inline)) void f(Out &out, const In &x) {
          double s = 0;
          for (int i = 0; i + 1 < 1000; i++) {
            double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
            s += 100 * a * a + b * b;
          }
          out = s;
        }""",
    "rational_polynomial": """
        template <typename Out, typename In> __attribute__((always_inline)) void f(Out &out, const In &in) {
          for (int i = 0; i < 1000; i++) {
            double x = in[i];
            double p = 1.0 + x * (2.0 + x * (-0.5 + x * (0.25 + x * 0.125)));
            out[i] = p / (2.0 + x * (0.5 + x * (0.75 + x * 0.0625)));
          }
        }""",
}


def through_enzyme(enzyme: Any) -> dict[str, Times]:
    """C++ kernels compiled and differentiated by Enzyme inside JAX."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    results: dict[str, Times] = {}
    x = jax.numpy.linspace(0.1, 0.9, N)
    for name, source in ENZYME_SOURCES.items():
        shape = jax.core.ShapedArray([] if name == "rosenbrock" else [N], x.dtype)

        def f(x: Any, source: str = source, shape: Any = shape) -> Any:
            return enzyme.cpp_call(x, out_shapes=[shape], source=source, fn="f")[0]

        seed = jax.numpy.ones(shape.shape)
        calls = {
            "primal": (jax.jit(f), (x,)),
            "fwd1": (jax.jit(lambda t, f=f: jax.jvp(f, (x,), (t,))[1]), (x,)),
            "rev": (jax.jit(lambda s, f=f: jax.vjp(f, x)[1](s)), (seed,)),
        }
        results[name] = {
            key: best_ns(lambda c=call, a=inputs: jax.block_until_ready(c(*a)))
            for key, (call, inputs) in calls.items()
        }
    return results


PEERS: dict[str, tuple[str, Callable[[Any], dict[str, Times]]]] = {
    "JAX": ("jax", through_jax),
    "CasADi": ("casadi", through_casadi),
    "Enzyme": ("enzyme_ad.jax", through_enzyme),
}


def main() -> int:
    """Times every installed peer; a peer that is absent or fails is one line, never an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)
    view = Table(title="derivative time / the same tool's primal time")
    for column in ("tool", "kernel", "primal ns", "fwd1", "fwd4", "fwd8", "fwd16", "rev"):
        view.add_column(column, justify="left" if column in ("tool", "kernel") else "right")
    report: dict[str, dict[str, Times]] = {}
    for tool, (module, run) in PEERS.items():
        try:
            results = run(importlib.import_module(module))
        except ImportError:
            console.print(
                f"{tool}: not installed (pip install {module.split('.')[0].replace('_', '-')}), left out"
            )
            continue
        except Exception as problem:
            # A peer's own failure must not take the other rows down; its reason is shown.
            console.print(f"{tool}: failed: {type(problem).__name__}: {str(problem)[:300]}")
            continue
        report[tool] = results
        for kernel, times in results.items():
            cells = [
                f"{times[k] / times['primal']:.2f}" if k in times else "-"
                for k in ("fwd1", "fwd4", "fwd8", "fwd16", "rev")
            ]
            view.add_row(tool, kernel, f"{times['primal']:.0f}", *cells)
    if report:
        console.print(view)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
