"""The whole story of one execution: a page to read, and the same as JSON to keep."""

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from executions.admin.timeline import turns
from executions.services.audit import audit
from forge_project.kernel import visible
from forge_project.kernel.errors import Missing
from forge_project.kernel.read_only import ForgeAdmin, block

_ENDING = ("error_code", "error_message", "decision_path", "cancel_requested_at", "cancel_requested_by",
           "cancel_reason", "quarantined", "selection_reason", "engine", "isolation")  # fmt: skip
_ASKED = ("kind", "capability", "caller_ref", "on_behalf_of", "workspace", "idempotency_key", "client_ref",
          "session_id", "run_id", "turn_id", "purpose", "scope", "limits", "timeout_ms", "interruption",
          "input_fingerprint", "code_sha256", "created_at", "started_at", "effect_started_at",
          "finished_at")  # fmt: skip


def page(site: ForgeAdmin, request: HttpRequest, ref: str) -> HttpResponse:
    """For eyes: nothing of it is cut off but results in boxes that scroll."""
    story = _story(ref)
    execution = story["execution"]
    context = {
        **site.admin_site.each_context(request),
        "title": f"Audit of {ref}",
        "opts": site.model._meta,
        "media": site.media,
        "ref": ref,
        "status": execution["status"],
        "side_effect": execution["side_effect"],
        "asked": _facts(execution, _ASKED),
        "ending": _facts(execution, _ENDING),
        "result": block(execution.get("result")),
        "attempts": story["attempts"],
        "calls": [_call(call) for call in story["calls"]],
        "turns": turns(story["events"]),
        "verify": story["verify"],
    }
    return TemplateResponse(request, "admin/executions/execution/audit.html", context)


def as_json(ref: str) -> HttpResponse:
    """To keep: every value as it is stored and may be shown, as a file."""
    text = json.dumps(_story(ref), indent=2)
    answer = HttpResponse(f"{text}\n", content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{ref}.json"'
    return answer


def _story(ref: str) -> dict[str, Any]:
    try:
        return audit(ref)
    except Missing:
        raise Http404("no such execution") from None


def _facts(row: dict[str, Any], names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _told(row[name])) for name in names if row.get(name) not in (None, "", {}, [])]


def _told(value: Any) -> str:
    return visible.said(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return {
        "n": call["n"],
        "tool": _told(call["tool"]),
        "status": call["status"],
        "side_effect": call["side_effect"],
        "error_code": call["error_code"],
        "facts": _facts(call, ("purpose", "effect", "recovery_mode", "attempt", "requested_at", "started_at",
                               "ended_at", "operation_id", "input_digest", "result_digest", "artifact_refs")),
        "input": block(call["input"]),
        "result": block(call.get("result")),
        "evidence": block(call["evidence"]),
        "approvals": [_approval(one) for one in call["approvals"]],
    }  # fmt: skip


def _approval(row: dict[str, Any]) -> dict[str, Any]:
    names = ("sentence", "target", "risk", "rule", "rule_version", "requested_at", "decided_by", "decided_at",
             "authentication", "reason", "consumed_at", "ended_at", "supersedes", "fingerprint")  # fmt: skip
    return {"ref": row["approval_ref"], "state": row["state"], "facts": _facts(row, names)}
