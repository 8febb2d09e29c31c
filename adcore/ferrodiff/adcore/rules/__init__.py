"""Derivative rules: what every operation the compiler meets contributes to a tangent or an adjoint.

`table` holds the rows' form and the lookups, `operators`, `intrinsics` and `libm` hold the rows, `special`
the functions that no libm has, `runtime` the external symbols that matter without having a derivative.
"""
