"""What a reviewer is told of a request: redacted, bounded, and whole or known not to be."""

import json
from dataclasses import dataclass
from typing import Any

LIMIT, SHORT = 6000, 1800  # bytes
_CUT = "[cut]"
_MOST_OF_A_LINE = 400  # characters of what the server says of it; agents choose how long a path is


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """`facts` are the server's words, `data` the agent's (one line of ASCII JSON, maybe cut); `whole`: nothing of the
    input is missing or masked."""

    facts: str
    data: str
    whole: bool

    @property
    def text(self) -> str:
        """All of it; what the digest is made of."""
        return f"{self.facts}\n{self.data}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request to be reviewed: JSON as people may see it. `masked`: whether a mask stands anywhere in it.

    `may_allow`: whether the rule lets a reviewer spare the person. `warned`: what was shown deceptively.
    """

    capability: str
    effect: str
    risk: str
    caller: str
    workspace: str
    rule: str
    target: str
    sentence: str
    reversible: bool
    given: Any
    change: Any
    purpose: str
    masked: bool
    may_allow: bool
    warned: bool = False

    def brief(self, limit: int = LIMIT) -> Brief:
        """At most `limit` bytes; what does not fit is cut from the agent's words."""
        names = ("capability", "effect", "risk", "caller", "workspace", "rule", "target", "sentence", "reversible")
        told = {name: getattr(self, name) for name in names}
        lines = {name: value[:_MOST_OF_A_LINE] if isinstance(value, str) else value for name, value in told.items()}
        facts, data = json.dumps(lines), self.data()
        if len(facts) > limit // 2:
            lines = {name: lines[name] for name in ("capability", "effect", "risk", "reversible")}
            facts = json.dumps(lines)
        room = limit - len(facts) - 1
        whole = lines == told and len(data) <= room and not self.masked
        return Brief(facts=facts, data=data if len(data) <= room else data[: room - len(_CUT)] + _CUT, whole=whole)

    def data(self) -> str:
        """All that the agent wrote."""
        return json.dumps({"input": self.given, "change": self.change, "purpose": self.purpose})
