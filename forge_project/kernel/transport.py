"""The embedded broker: kombu's filesystem transport, made whole. A message is a hint; the row is the queue."""

import fcntl
import logging
import os
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any, ClassVar
from urllib.parse import quote

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem, virtual
from kombu.transport.filesystem import exchange_queue_t
from kombu.utils.json import dumps, loads

SCHEME = "forge-file"
LEFTOVER_SECONDS = 3600  # a file aside this long belongs to a process that died while it wrote or took it
_log = logging.getLogger(__name__)


def register() -> None:
    """Makes `forge-file://` known to kombu; may be called any number of times."""
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"


def options(folder: Path) -> dict[str, Any]:
    """The transport options of a broker that lives in `folder`."""
    return {"data_folder": str(folder / "data"), "control_folder": str(folder / "control")}


class Channel(filesystem.Channel):
    """One folder a queue, one file a message; every file appears whole, by rename, and is taken by rename."""

    def __init__(self, connection: Any, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self._seen: dict[str, deque[str]] = {}
        self._aside = _private(self._option("data_folder") / "aside")
        _private(self.control_folder)
        _private(self._option("data_folder"))

    def _option(self, name: str) -> Path:
        try:
            return Path(self.transport_options[name])
        except KeyError:
            raise ChannelError(f"{SCHEME}: transport option {name} is missing") from None

    @property
    def control_folder(self) -> Path:
        """Where the exchange files are; the stock default (the working directory) is refused."""
        return self._option("control_folder")

    def _folder(self, queue: str) -> Path:
        # Quoted and suffixed, no queue name can leave the data folder or meet `aside`.
        return self._option("data_folder") / f"{quote(queue, safe='@')}.queue"

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        _private(self._folder(queue))

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:  # type: ignore[override]  # kombu has both names
        """Publishes whole or not at all: a consumer never meets a half-written message."""
        aside = self._aside / f"{uuid.uuid4().hex}.new"
        name = f"{time.time_ns():020d}-{aside.stem}"  # by wall clock: near enough to first in, first out
        try:
            _write(aside, dumps(message))
            try:
                aside.rename(self._folder(queue) / name)
            except FileNotFoundError:
                aside.rename(_private(self._folder(queue)) / name)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise ChannelError(f"cannot publish to queue {queue!r}: {error.strerror}") from error

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The oldest message nobody else took; raises Empty."""
        seen = self._seen.setdefault(queue, deque())
        if not seen:  # listed again only when used up: else a backlog of n costs n * n / 2
            seen.extend(self._names(queue))
        while seen:
            if (message := self._take(self._folder(queue) / seen.popleft())) is not None:
                return message
        raise Empty

    def _take(self, path: Path) -> Any:
        """Claims by rename, which one process wins; None for the others.

        A consumer that dies from here to its ack may lose the hint: the sweep finds the row (design.md).
        """
        taken = self._aside / f"{uuid.uuid4().hex}.taken"
        try:
            path.rename(taken)
        except FileNotFoundError:
            return None
        try:
            message = loads(taken.read_bytes())
        except ValueError:  # files are not synced, so power loss may leave an empty one
            _log.warning("dropped an unreadable message: %s", path.name)
            return None
        finally:
            taken.unlink(missing_ok=True)
        return message

    def _names(self, queue: str) -> list[str]:
        try:
            return sorted(os.listdir(self._folder(queue)))
        except FileNotFoundError:
            return []

    def _size(self, queue: str) -> int:
        return len(self._names(queue))

    def _purge(self, queue: str) -> int:
        folder, names, count = self._folder(queue), self._names(queue), 0
        for name in names:
            try:
                (folder / name).unlink()
                count += 1
            except FileNotFoundError:  # taken by a consumer in the meantime
                continue
        return count

    def get_table(self, exchange: str) -> list[exchange_queue_t]:  # type: ignore[override]  # as the stock one
        """The exchange's bindings; needs no lock, as the file is replaced and never edited."""
        try:
            return [exchange_queue_t(*row) for row in loads(self._table_file(exchange).read_bytes())]
        except FileNotFoundError:
            return []

    def _table_file(self, exchange: str) -> Path:
        path: Path = self._exchange_file(exchange)  # type: ignore[attr-defined]  # refuses names that leave the folder
        return path

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str | None, queue: str) -> None:
        row = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._table_lock():
            table = self.get_table(exchange)
            if row not in table:
                self._replace_table(exchange, [row, *table])

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **kwargs: Any) -> None:
        self._purge(queue)
        row = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._table_lock():
            table = self.get_table(exchange)
            if row in table:
                self._replace_table(exchange, [other for other in table if other != row])
        try:
            self._folder(queue).rmdir()  # reply queues have a name each: their folders would pile up
        except OSError:  # not there, or published to just now: that message finds its consumer or nobody
            return

    def _replace_table(self, exchange: str, table: list[exchange_queue_t]) -> None:
        target = self._table_file(exchange)
        aside = target.with_name(f".{uuid.uuid4().hex}.new")
        _write(aside, dumps(table), sync=True)  # unlike a message, a lost binding would lose every later hint
        aside.rename(target)

    @contextmanager
    def _table_lock(self) -> Iterator[None]:
        """On a file of its own: a lock on the exchange file would be on an inode that a rename has replaced."""
        fd = os.open(self.control_folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def collect(self) -> None:
        """Deletes what dead processes left aside."""
        for entry in os.scandir(self._aside):
            try:
                if (
                    time.time() - entry.stat().st_ctime > LEFTOVER_SECONDS
                ):  # ctime: a rename counts, a backlog's age doesn't
                    os.unlink(entry.path)
            except FileNotFoundError:
                continue


class Transport(filesystem.Transport):
    """Polls every 15 ms: a hint waits 8 ms on average, and an idle worker stays near 1 % of a core."""

    Channel = Channel
    polling_interval = 0.015
    driver_type = driver_name = SCHEME
    #: What is declared, by broker: the stock transport's one state hides a second broker's bindings from itself.
    states: ClassVar[dict[str, virtual.BrokerState]] = {}

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        broker = str(client.transport_options.get("control_folder"))
        self.state = self.states.setdefault(broker, virtual.BrokerState())

    def establish_connection(self) -> Any:
        """Connects, and tidies up after the dead."""
        connection = super().establish_connection()
        self._avail_channels[-1].collect()  # type: ignore[attr-defined]  # the channel super() just made
        return connection


def _private(folder: Path) -> Path:
    """Makes a folder and what is above it, for this user only."""
    for part in (*reversed(folder.parents), folder):
        if not part.exists():
            part.mkdir(mode=0o700, exist_ok=True)
    return folder


def _write(path: Path, text: str, *, sync: bool = False) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(text)
        if sync:
            file.flush()
            os.fsync(file.fileno())
