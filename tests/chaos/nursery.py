"""`python -m tests.chaos.nursery`: a process with Django loaded that forks a child for each command, to be killed.

A child is a process of its own with its own connections and, where it works, its own worker row; what it does, it may
do up to a failpoint that kills it with SIGKILL. Starting one costs milliseconds.
"""

import gc
import json
import os
import sys
from importlib import import_module

from tests.process import driver


def work(asked):
    """A worker without guests: settles what the dead left, then runs what is due."""
    from executions.services import workers
    from executions.services.advance import advance
    from executions.services.claim import claim_next
    from executions.services.reconcile import reconcile
    from executions.services.runtime import Runtime

    runtime = Runtime()
    workers.register(runtime)
    settled = reconcile(runtime)
    while (lease := claim_next(runtime)) is not None:
        advance(lease, runtime)
        runtime.let_go(lease.ref)
    runtime.close()
    workers.stop(runtime.worker_id)
    return {"settled": [one.became for one in settled]}


def look(asked):
    from tests import matrix

    return matrix.look(asked["key"])


def proposal(asked):
    from artifacts.models import Artifact

    return {"artifact": Artifact.objects.get(execution_ref=asked["ref"]).ref}


LOADED = (
    *("approvals.services.decide", "artifacts.services.register", "executions.services.advance"),
    *("executions.services.claim", "executions.services.reconcile", "executions.services.submit"),
    *("executions.services.submission", "tests.matrix", "django.db.backends.sqlite3.base", "kombu.transport.virtual"),
)
COMMANDS = vars(driver) | {"work": work, "look": look, "proposal": proposal}


def _child(asked, to):
    from forge_project.kernel import failpoints

    failpoints.arm(asked.pop("failpoints", ""))
    answer = COMMANDS[asked.pop("do")](asked)
    os.write(to, json.dumps(answer).encode())


def main():
    import django

    import forge_project.celery  # noqa: F401  # hints go to the broker of the settings

    django.setup()
    for name in LOADED:
        import_module(name)
    gc.freeze()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        ours, theirs = os.pipe()
        if (pid := os.fork()) == 0:
            try:
                os.close(ours)
                _child(json.loads(line), theirs)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as answer:
            said = answer.read()
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        print(json.dumps({"code": code, "answer": json.loads(said or "{}")}), flush=True)


if __name__ == "__main__":
    main()
