"""Executions that do not move though nothing keeps them waiting: for a minute, and they are stuck."""

import threading
import time

STUCK_SECONDS = 60.0
_GAP_SECONDS = 5.0  # between two looks: more, and the database was away, or this machine


class Stillness:
    """Told once a second what is open, says what was stuck; once stuck, it counts, whatever becomes of it."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[str, float]] = {}  # ref: how far it was, and since when
        self._looked = time.monotonic()
        self._lock = threading.Lock()
        self.open: list[dict] = []
        self.stuck: dict[str, str] = {}
        self.longest = 0.0

    def look(self, seen: list[dict], now: float | None = None) -> None:
        """`seen`: {ref, status, mark, kept} of everything that is open, as the hand's `moves` tells it."""
        at = time.monotonic() if now is None else now
        with self._lock:
            away, self._looked = at - self._looked > _GAP_SECONDS, at
            before, self._since, self.open = self._since, {}, seen
            for one in seen:
                mark, since = before.get(one["ref"], ("", at))
                moved = away or one["kept"] or mark != one["mark"]
                self._since[one["ref"]] = (one["mark"], at if moved else since)
                self._note(one, 0.0 if moved else at - since)

    def over(self) -> bool:
        """Whether nothing is open, or nothing but what is stuck."""
        with self._lock:
            return all(one["ref"] in self.stuck for one in self.open)

    def _note(self, one: dict, still: float) -> None:
        self.longest = max(self.longest, still)
        if still > STUCK_SECONDS:
            self.stuck[one["ref"]] = f"{one['status']} {one['mark']} did not move for {still:.0f} s {one['why']}"
