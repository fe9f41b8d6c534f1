"""Every endpoint that takes a body: its template, a body that is fine, and where in it a text can stand."""

import copy
from dataclasses import dataclass, field

ITEM = {
    "invocation_id": "i",
    "turn_id": "t",
    "role": "model",
    "author": "agent",
    "content": {"kind": "text", "text": "x"},
}
HOOK = {"url": "https://example.com/", "kinds": ["UNKNOWN_REALITY"]}


@dataclass
class Write:
    template: str
    body: dict
    texts: list = field(default_factory=list)
    fill: dict = field(default_factory=dict)

    @property
    def path(self):
        return "/api/v1" + self.template.format(**self.fill)

    def with_text(self, place, text):
        """The body with `text` at `place`, a path of keys; a last key that starts with `=` names a new key."""
        body = copy.deepcopy(self.body)
        *way, last = place
        at = body
        for key in way:
            at = at[key]
        if last == "=":
            at[text] = 1
        else:
            at[last] = text
        return body


SUBMIT = [["source"], ["input"], ["input", "="], ["="], ["workspace"], ["purpose"], ["client_ref"], ["session_id"],
          ["run_id"], ["task_id"], ["role_ref"], ["correlation_id"], ["on_behalf_of"], ["interruption"],
          ["capability"]]  # fmt: skip


def writes(execution, approval, signal, grant):
    run = {"sid": "s", "rid": "r"}
    return [
        Write("/executions/", {"source": "return 1", "input": {}}, SUBMIT),
        Write("/executions/lookup/", {"source": "return 1", "input": {}}, SUBMIT),
        Write("/executions/{ref}/cancel/", {"reason": "x"}, [["reason"], ["="]], {"ref": execution}),
        Write("/executions/{ref}/analysis/", {"analysis_ref": "a"}, [["analysis_ref"], ["="]], {"ref": execution}),
        Write("/executions/{ref}/calls/{n}/resolve/",
              {"observed": "applied", "reason": "x", "evidence": ["x"]},
              [["reason"], ["evidence", 0], ["observed"], ["result"], ["="]], {"ref": execution, "n": 1}),
        Write("/approvals/{ref}/decide/", {"decision": "deny", "version": 9, "fingerprint": "f", "reason": "x"},
              [["reason"], ["fingerprint"], ["shown"], ["decision"], ["="]], {"ref": approval}),
        Write("/approvals/{ref}/revoke/", {"reason": "x"}, [["reason"], ["="]], {"ref": approval}),
        Write("/approvals/{ref}/answer/", {"n": 1, "text": "x"}, [["text"], ["="]], {"ref": approval}),
        Write("/approvals/{ref}/grant/",
              {"version": 9, "fingerprint": "f", "condition": "true", "uses": 1, "lasts": "1h"},
              [["condition"], ["fingerprint"], ["lasts"], ["="]], {"ref": approval}),
        Write("/grants/{ref}/vote/", {}, [["="], ["shown"]], {"ref": grant}),
        Write("/grants/{ref}/revoke/", {"reason": "x"}, [["reason"], ["="]], {"ref": grant}),
        Write("/signals/{ref}/acknowledge/", {}, [["="]], {"ref": signal}),
        Write("/webhooks/", HOOK, [["url"], ["kinds", 0], ["="]]),
        Write("/sessions/{sid}/runs/{rid}/events/", ITEM,
              [["content", "text"], ["invocation_id"], ["turn_id"], ["event_id"], ["branch"], ["content", "kind"],
               ["content", "="], ["="]], run),
        Write("/sessions/{sid}/runs/{rid}/events:batch/", {"events": [ITEM]},
              [["events", 0, "content", "text"], ["events", 0, "event_id"], ["events", 0, "="], ["="]], run),
        Write("/sessions/{sid}/runs/{rid}/partials/",
              {"invocation_id": "i2", "turn_id": "t", "stream": {"kind": "text", "id": "p"},
               "chunks": [{"chunk_no": 1, "text": "x"}]},
              [["chunks", 0, "text"], ["invocation_id"], ["stream", "id"], ["branch"], ["stream", "kind"], ["="]], run),
    ]  # fmt: skip
