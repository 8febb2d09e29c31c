"""New metadata nodes of a module under differentiation."""

from __future__ import annotations

from ferrodiff.adcore.session import Session


class Nodes:
    """Hands out numbers that no node of the module has, and adds the nodes' lines to the session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        if "next node" not in session.facts:
            numbers = (int(k.lstrip("!")) for k in session.module.metadata if k.lstrip("!").isdigit())
            session.facts["next node"] = max(numbers, default=0) + 1

    def add(self, text: str, distinct: bool = False) -> str:
        """A node `!{text}`; a distinct one begins with itself."""
        number = self.session.facts["next node"]
        assert isinstance(number, int)
        self.session.facts["next node"] = number + 1
        name = f"!{number}"
        body = f"distinct !{{{name}{', ' + text if text else ''}}}" if distinct else f"!{{{text}}}"
        self.session.globals[name] = f"{name} = {body}"
        return name


def members(session: Session, node: str | None) -> list[str]:
    """The elements of a list node, of the module or new; none for None."""
    if node is None:
        return []
    text = session.module.metadata.get(node) or session.globals.get(node, "")
    inside = text[text.find("{") + 1 : text.rfind("}")] if "{" in text else ""
    return [part.strip() for part in inside.split(",") if part.strip()]
