"""How many requests may hold a web thread while they wait: of one caller, and of this process altogether."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from executions.services.serving.web import threads

OF_CALLER, IN_ALL = 4, threads // 2
_lock = threading.Lock()
_waiting: Counter[int] = Counter()


@contextmanager
def patience(user_id: int, wanted: int) -> Iterator[int]:
    """How many seconds this request may wait: as many as it wanted, or none where too many wait already."""
    if not wanted:
        yield 0
        return
    with _lock:
        free = _waiting[user_id] < OF_CALLER and _waiting.total() < IN_ALL
        _waiting[user_id] += free
    try:
        yield wanted if free else 0
    finally:
        with _lock:
            _waiting[user_id] -= free
            if not _waiting[user_id]:
                del _waiting[user_id]
