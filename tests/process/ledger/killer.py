"""`python -m tests.process.ledger.killer`: each ledger write in a child that a failpoint kills, then once more whole.

One JSON line a case: {step, point, action, died, kept, again, findings}; `kept` = nothing of the step was written.
"""

import json
import os
import signal
import sys
from pathlib import Path

POINTS = {
    "append": ["ledger.before_insert", "ledger.after_insert", "ledger.after_head", "ledger.stream_end"],
    "chunk": ["ledger.chunk"],
    "batch": ["ledger.before_insert:2", "ledger.after_head:2"],
    "t1": ["ledger.before_insert", "ledger.after_insert", "ledger.after_head"],
    "t2": ["ledger.before_insert", "ledger.after_insert", "ledger.after_head"],
    "bundle": ["ledger.before_insert", "ledger.after_insert", "ledger.after_head"],
    "park": ["ledger.after_insert", "ledger.after_head"],
    "late": ["ledger.before_insert", "ledger.after_head"],
    "resolve": ["ledger.before_insert", "ledger.after_head"],
    "seal": ["ledger.after_insert", "ledger.after_head"],
    "successor": ["ledger.successor", "ledger.after_insert", "ledger.after_head"],
    "checkpoint": ["ledger.checkpoint"],
    "purge": ["ledger.purge", "ledger.after_head"],
    "import": ["ledger.import", "ledger.after_head:2"],
    "govern": ["ledger.before_insert", "ledger.after_insert", "ledger.after_head"],
}


def main() -> None:
    import django

    django.setup()
    from tests.process.ledger.steps import Steps

    number = 0
    for step, points in POINTS.items():
        for point in points:
            for action in ("crash", "kill"):
                number += 1
                steps = Steps(f"{step}-{number}", Path(os.environ["FORGE_VAR"]))
                child(steps.before, step)
                was = told(steps.dump)
                died = child(steps.run, step, f"{point}{'' if ':' in point else ':1'}={action}")
                kept = told(steps.dump) == was
                again = child(steps.run, step)
                whole = told(steps.dump)
                told_twice = child(steps.run, step) == 0 and told(steps.dump) == whole != was
                case = {"step": step, "point": point, "action": action, "died": died, "kept": kept}
                print(
                    json.dumps(case | {"again": again == 0 and told_twice, "findings": told(steps.findings)}),
                    flush=True,
                )


def child(do, *args) -> int:
    """Runs `do` in a child of its own; its exit code, -9 if it was killed."""
    pid = os.fork()
    if pid == 0:
        from forge_project.kernel import failpoints

        try:
            do(*args)
        except failpoints.Crash:
            os._exit(3)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(4)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return -signal.SIGKILL if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def told(ask):
    """What `ask` says in a child, so that this process never has a connection."""
    read, write = os.pipe()
    code = child(lambda: os.write(write, json.dumps(ask()).encode()))
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    return json.loads(said) if code == 0 else f"exit {code}"


if __name__ == "__main__":
    main()
