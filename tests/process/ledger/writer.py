"""One writing process: `python -m tests.process.ledger.writer NAMES COUNT SEED` appends COUNT events in turn."""

import os
import random
import sys


def main() -> None:
    import django

    django.setup()
    from forge_project.kernel import failpoints
    from forge_project.ledger.events import fact
    from forge_project.ledger.writing import writing
    from tests.db.ledger import identity

    names, count, seed = sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3])
    shuffled = random.Random(seed)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        for n in range(count):
            name = shuffled.choice(names)
            with writing(name, opening=identity(name)) as page:
                page.add(fact("step", writer=os.getpid(), n=n))
            if count < 10:
                print(n, flush=True)
    except failpoints.Crash:
        os._exit(3)


if __name__ == "__main__":
    main()
