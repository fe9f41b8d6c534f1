"""The one place that reads clocks, so that a test can turn them."""

import time
from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Wall time, aware, UTC, whole microseconds."""
    return datetime.now(UTC)


def text(moment: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffffZ`, the form that is stored and hashed: reading it back loses nothing."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(stored: str) -> datetime:
    """The moment that `text` wrote."""
    return datetime.strptime(stored, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def millis(moment: datetime) -> int:
    """Milliseconds since the epoch, as the guest's clock counts."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def boottime() -> float:
    """Seconds since boot, suspend included: no clock step moves it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def monotonic() -> float:
    """Seconds for deadlines within this process."""
    return time.monotonic()
