"""The grammar of argument lists, for those that `annotation` does not read by itself.

A module of its own because loading the parser generator takes longer than reading a whole file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from lark import Lark, Token, Transformer
from lark.lark import PostLex

from ferrodiff.analysis.annotation import Item, ItemList

GRAMMAR = r"""
start: _OPEN slot (COMMA slot)* _CLOSE?
slot: token*
token: WORD | INTEGER | FLOAT | TEXT | BOOL | SEPARATOR | EQUALS | NESTED | OTHER

BOOL.5: /(true|false)\b/
TEXT.4: /[bc]?r(#*)".*?"\1(?!#)/s
      | /[bc]?"(\\.|[^"\\])*"?/s
      | /b?'(\\.[^']*|[^'\\\n])'/
WORD.3: /(r#)?[^\W\d]\w*/
FLOAT.3: /\d[\d_]*(\.(?![.\w])|\.[\d_]+([eE][+-]?[\d_]+)?|[eE][+-]?[\d_]+)\w*/
INTEGER.2: /0[xob][0-9a-fA-F_]+\w*|\d\w*/
SEPARATOR: "::"
EQUALS: "="
COMMA: ","
_OPEN: /[(\[{]/
_CLOSE: /[)\]}]/
OTHER.-1: /[^\s]/
PLAIN: /[^*\/]|\*(?!\/)|\/(?!\*)/s
INNERMOST: /\/\*.*?(\*\/|\Z)/s
INNER: "/*" (PLAIN | INNERMOST)* /(\*\/|\Z)/
COMMENT.6: /\/\/[^\n]*/
      | "/*" (PLAIN | INNER)* /(\*\/|\Z)/
SPACE: /\s+/
NESTED: "\u0000nested"
%ignore COMMENT
%ignore SPACE
"""


class _FlattenGroups(PostLex):
    """Brackets inside the list become single `NESTED` tokens, so any bracket structure parses.

    Reading stops at the bracket that closes the list; brackets that close nothing are `OTHER`.
    """

    always_accept = ("_OPEN", "_CLOSE", "COMMA", "NESTED", "OTHER")
    _closes: ClassVar[dict[str, str]] = {"(": ")", "[": "]", "{": "}"}

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        expected: list[str] = []
        group: Token | None = None
        last: Token | None = None
        for token in stream:
            last = token
            if token.type == "_OPEN":
                expected.append(self._closes[token.value])
                if len(expected) == 1:
                    yield token
                elif group is None:
                    group = token
            elif token.type == "_CLOSE" and expected and expected[-1] == token.value:
                expected.pop()
                if not expected:
                    yield token
                    return
                if len(expected) == 1 and group is not None:
                    yield _join(group, token)
                    group = None
            elif group is None:
                yield Token.new_borrow_pos("OTHER", token.value, token) if token.type == "_CLOSE" else token
        if group is not None and last is not None:
            yield _join(group, last)


def _join(first: Token, last: Token) -> Token:
    joined = Token.new_borrow_pos("NESTED", first.value, first)
    joined.end_pos = last.end_pos
    return joined


LETTERS = {
    "WORD": "w",
    "INTEGER": "i",
    "FLOAT": "f",
    "TEXT": "t",
    "BOOL": "b",
    "SEPARATOR": ":",
    "EQUALS": "=",
    "NESTED": "n",
    "OTHER": "?",
}


class _Items(Transformer[Token, ItemList]):
    """Called as the parser reduces, so nothing recurses."""

    def token(self, children: list[Any]) -> Any:
        return children[0]

    def slot(self, children: list[Any]) -> Item | None:
        if not children:
            return None
        return Item(
            children[0].start_pos,
            children[-1].end_pos,
            "".join([LETTERS[t.type] for t in children]),
            tuple([str(t) for t in children]),
        )

    def start(self, children: list[Any]) -> ItemList:
        return ItemList(tuple(children[::2]), tuple([comma.start_pos for comma in children[1::2]]))


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", lexer="basic", postlex=_FlattenGroups(), transformer=_Items())


def parse(text: str) -> ItemList:
    """The items of a list whose text starts with its opening bracket."""
    return _parser().parse(text)  # type: ignore[return-value]


def prepare() -> None:
    """Makes the parser, so that the next list need not wait for it."""
    _parser()
