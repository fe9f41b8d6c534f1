"""One writing process: `python -m tests.process.ledger.writer NAMES COUNT SEED [THREADS]`: COUNT events a thread."""

import os
import random
import sys
import threading


def main() -> None:
    import django

    django.setup()
    from django.db import connections

    from forge_project.kernel import failpoints
    from forge_project.ledger.events import fact
    from forge_project.ledger.writing import writing
    from tests.db.ledger import identity

    names, count, seed = sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3])
    threads = int(sys.argv[4]) if sys.argv[4:] else 0
    print("ready", flush=True)
    sys.stdin.readline()

    def write(number: int) -> None:
        shuffled = random.Random(seed * 100 + number)
        try:
            for n in range(count):
                name = shuffled.choice(names)
                with writing(name, opening=identity(name)) as page:
                    page.add(fact("step", writer=os.getpid(), thread=number, n=n))
                if count < 10:
                    print(n, flush=True)
        except failpoints.Crash:
            os._exit(3)
        finally:
            connections.close_all()

    working = [threading.Thread(target=write, args=[number]) for number in range(threads)]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    if not threads:
        write(0)


if __name__ == "__main__":
    main()
