"""One of two racing processes: `python -m tests.process.ledger.racer` takes JSON lines {do, name}, does that step once.

Answers {ids, created} (where the step's events stand, whether each was written by this very step) or {refused, facts}.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    import django

    django.setup()
    from django.db import connection

    from forge_project.kernel.errors import ForgeError
    from forge_project.ledger import aftermath, operations
    from forge_project.ledger.aftermath import Resolution
    from forge_project.ledger.operations import Outcome, Recovery
    from forge_project.ledger.writing import writing
    from tests.process.ledger.steps import Steps

    good, bad = Outcome(result={"ok": True}), Outcome(result={"code": "INTERRUPTED"}, is_error=True)

    def seen(disposition, observation, ended):
        return Recovery(
            attempt=2, observation=observation, observation_digest="d", disposition=disposition, reason="r",
            outcome=ended,
        )  # fmt: skip

    steps = {
        "t1": lambda page, tool: operations.prepare(page, tool, 1),
        "t1 again": lambda page, tool: operations.prepare(page, tool, 2),
        "t2": lambda page, tool: operations.outcome(page, tool, good),
        "t2 failed": lambda page, tool: operations.outcome(page, tool, bad),
        "completed": lambda page, tool: operations.recover(
            page, tool, seen("completed", "matches_expected_state", good)
        ),
        "not applied": lambda page, tool: operations.recover(
            page, tool, seen("not_applied", "matches_prior_state", bad)
        ),
        "parked": lambda page, tool: operations.recover(page, tool, seen("parked", "diverged", None)),
        "applied": lambda page, tool: aftermath.resolve(
            page, tool, Resolution(became="applied", actor="a", reason="r")
        ),
        "refuted": lambda page, tool: aftermath.resolve(
            page, tool, Resolution(became="not_applied", actor="b", reason="r")
        ),
    }
    connection.ensure_connection()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        place = Steps(asked["name"], Path())
        try:
            with writing(asked["name"], opening=place.identity) as page:
                said = steps[asked["do"]](page, place.tool)
                told = page.write()
            ids = [[one.event_id, one.seq] for one in told]
            answer = {"ids": ids, "created": [one.created for one in told], "said": said}
        except ForgeError as refusal:
            answer = {"refused": refusal.code, "facts": refusal.facts}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
