"""The constants of the derivative formulas, correctly rounded to double."""

from __future__ import annotations

import math

PI = math.pi
LN2 = 0.6931471805599453
LN10 = 2.302585092994046
LOG2_E = 1.4426950408889634
"""1 / ln 2"""
LOG10_E = 0.4342944819032518
"""1 / ln 10"""
TWO_OVER_SQRT_PI = 1.1283791670955126
ONE_OVER_PI = 0.3183098861837907

NAMES = {
    PI: "pi",
    LN2: "ln2",
    LN10: "ln10",
    LOG2_E: "(1/ln2)",
    LOG10_E: "(1/ln10)",
    TWO_OVER_SQRT_PI: "(2/sqrt(pi))",
    ONE_OVER_PI: "(1/pi)",
}
"""How the documentation writes them."""
