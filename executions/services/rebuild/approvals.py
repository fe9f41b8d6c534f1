"""An approval's facts into the columns of its row."""

from typing import Any

Columns = dict[str, Any]


def take(rows: dict[str, Columns], asked: dict[str, Columns], said: Columns, at: str) -> None:
    """One fact `approval.*`; each but the first is one move, and so one version. What the agent was asked is rows of
    their own, by `ref n`."""
    ref = said["ref"]
    match said:
        case {"fact": "approval.asked", "n": n, "text": text, "actor": actor}:
            told = {"n": n, "text": text, "asked_by": _name(actor), "asked_at": at}
            asked[f"{ref} {n}"] = told | {"answer": "", "answered_at": None}
            return
        case {"fact": "approval.answered", "n": n, "text": text}:
            asked[f"{ref} {n}"] |= {"answer": text, "answered_at": at}
            return
    if said["fact"] == "approval.requested":
        rows[ref] = _asked(said)
        return
    row = rows[ref]
    match said:
        case {"fact": "approval.decided", "decision": decision}:
            row |= {"state": "approved" if decision == "approve" else "denied", "reason": said["reason"]}
            row |= {"decided_by": _name(said["actor"]), "authentication": said["method"], "decided_at": at}
        case {"fact": "approval.revoked"}:
            row |= {"state": "revoked", "reason": said["reason"], "ended_at": at}
            row["revoked_by"] = _name(said.get("actor", ""))
        case {"fact": "approval.expired"}:
            row |= {"state": "expired", "ended_at": at}
        case {"fact": "approval.voted"}:
            pass  # the version goes on, all else stays
        case {"fact": "approval.consumed"}:
            row |= {"state": "consumed", "consumed_at": at}
        case _:
            return
    row["version"] += 1


def _asked(said: Columns) -> Columns:
    bound = said["bound"]
    return {
        "call_id": said["call_id"],
        "capability": said["capability"],
        "target": said["target"],
        "risk": said["risk"],
        "sentence": said["sentence"],
        "fingerprint": said["shown"],
        "input_fingerprint": bound["input"],
        "scope_fingerprint": bound["scope"],
        "precondition_fingerprint": bound["precondition"],
        "rule": bound["rule"],
        "rule_version": bound["rule_version"],
        "supersedes": said["supersedes"],
        "state": "pending",
        "version": 1,
        "reason": "",
        "decided_by": "",
        "authentication": "",
        "revoked_by": "",
        "decided_at": None,
        "ended_at": None,
        "consumed_at": None,
    }


def _name(actor: str) -> str:
    return actor.removeprefix("user:")
