"""Finding functions by name in IR."""

from __future__ import annotations

import pytest

from ferrodiff.server.compile.symbols import attribute_groups, defined, definition, path_of


@pytest.mark.parametrize(
    ("symbol", "path"),
    [
        ("_ZN1g1m2df17hcd214de7379cf3b3E", ["g", "m", "df"]),
        ("_ZN1g13gr$uf6$$udf$e17h306111a7cc3de33eE", ["g", "größe"]),
        (
            "_ZN41_$LT$g..S$LT$f64$GT$$u20$as$u20$g..Tr$GT$2df17h8e14d317c2af4990E",
            ["<g::S<f64> as g::Tr>", "df"],
        ),
        ("_RNvNtCs1234_1g1m2df", ["g", "m", "df"]),
        ("_RINvNtCs1234_1g1m2dfdE", ["g", "m", "df"]),
        ("main", ["main"]),
    ],
)
def test_paths(symbol: str, path: list[str]) -> None:
    assert path_of(symbol) == path


IR = """\
define internal double @_ZN1g2df17hcd214de7379cf3b3E(double %x) unnamed_addr #3 {
start:
  %y = call double @_ZN1g1f17h0000000000000000E(double %x) #12
  ret double %y
}

define double @"_ZN1g10S$LT$T$GT$2df17h82d6c9f57a03861eE"(ptr %self) {
  ret double 0.0
}

declare double @_ZN1g1f17h0000000000000000E(double)

attributes #3 = { nounwind }
attributes #1 = { cold }
attributes #12 = { inlinehint }
"""


def test_definitions_by_last_segment() -> None:
    symbols = defined(IR, "df")
    assert len(symbols) == 2 and defined(IR, "f") == []
    text = definition(IR, symbols[0])
    assert text is not None and text.startswith("define internal") and text.endswith("\n}")
    assert attribute_groups(IR, text).splitlines() == [
        "attributes #3 = { nounwind }",
        "attributes #12 = { inlinehint }",
    ]
    assert (definition(IR, symbols[1]) or "").count("ret") == 1
    assert definition(IR, "nothing") is None
