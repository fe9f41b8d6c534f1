"""The file broker with real processes. Run as a program, this file is one producer or one consumer."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import kombu

from forge_project.kernel import transport

ROOT = Path(__file__).resolve().parents[2]
EXCHANGE = kombu.Exchange("hints", type="direct")
QUEUE = kombu.Queue("hints", EXCHANGE, routing_key="hints")
STOP = "stop"


def connect(folder, scheme=transport.SCHEME):
    transport.register()
    return kombu.Connection(f"{scheme}://", transport_options=transport.options(Path(folder)))


def publish(connection, *bodies):
    producer = connection.Producer(serializer="json")
    for body in bodies:
        producer.publish(body, exchange=EXCHANGE, routing_key="hints", declare=[QUEUE], retry=False)


def produce(folder, name, count):
    with connect(folder) as connection:
        publish(connection, *({"id": f"{name}-{n}", "pad": "x" * (n * 37 % 9000)} for n in range(int(count))))


def consume(folder):
    """Prints the id of each message, acknowledges it, and ends at the first stop."""
    going = [True]

    def on_message(body, message):
        message.ack()
        if body == STOP:
            going[0] = False
        else:
            print(body["id"], flush=True)

    with connect(folder) as connection, connection.Consumer([QUEUE], on_message=None, callbacks=[on_message]):
        print("ready", flush=True)
        while going[0]:
            connection.drain_events(timeout=30)


def hold(folder):
    """Takes one message and never acknowledges it."""
    with (
        connect(folder) as connection,
        connection.Consumer([QUEUE], callbacks=[lambda body, _: print(body, flush=True)]),
    ):
        connection.drain_events(timeout=30)
        time.sleep(60)


def start(*arguments):
    command = [sys.executable, "-W", "error", __file__, *map(str, arguments)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out.split()


def test_four_producers_and_four_consumers_lose_and_double_nothing(tmp_path):
    consumers = [start("consume", tmp_path) for _ in range(4)]
    for consumer in consumers:
        assert consumer.stdout.readline() == "ready\n"
    producers = [start("produce", tmp_path, f"p{n}", 500) for n in range(4)]
    for producer in producers:
        finish(producer)
    with connect(tmp_path) as connection:
        publish(connection, *[STOP] * 4)
        taken = [finish(consumer) for consumer in consumers]
        assert connection.default_channel._size("hints") == 0

    assert sorted(one for each in taken for one in each) == sorted(f"p{p}-{n}" for p in range(4) for n in range(500))
    assert sum(map(bool, taken)) > 1, "one consumer took everything: nothing was contended"
    assert os.listdir(tmp_path / "data" / "aside") == []


def test_bindings_made_at_the_same_time_are_all_kept(tmp_path):
    for process in [start("bind", tmp_path, f"b{n}", 40) for n in range(4)]:
        finish(process)

    with connect(tmp_path) as connection:
        bound = [row.queue for row in connection.default_channel.get_table("many")]
    assert sorted(bound) == sorted(f"b{b}-{n}" for b in range(4) for n in range(40))


def bind(folder, name, count):
    with connect(folder) as connection:
        for n in range(int(count)):
            kombu.Queue(f"{name}-{n}", kombu.Exchange("many"), routing_key="r")(connection.default_channel).declare()


def test_a_killed_consumer_loses_at_most_what_it_held(tmp_path):
    with connect(tmp_path) as connection:
        publish(connection, "first", "second", STOP)
        holder = start("hold", tmp_path)
        assert holder.stdout.readline() == "first\n"
        holder.send_signal(signal.SIGKILL)
        holder.communicate()

        channel = connection.default_channel
        assert [channel.basic_get("hints").payload for _ in range(2)] == ["second", STOP]
        assert channel.basic_get("hints") is None


def test_everything_on_disk_is_private(tmp_path):
    before = os.umask(0)
    try:
        with connect(tmp_path / "var" / "broker") as connection:
            publish(connection, "x")
    finally:
        os.umask(before)

    paths = list((tmp_path / "var").rglob("*"))
    assert {path.name for path in paths} >= {"hints.queue", "hints.exchange", ".lock", "aside"}
    wrong = [p for p in paths if stat.S_IMODE(p.stat().st_mode) != (0o700 if p.is_dir() else 0o600)]
    assert wrong == []


def test_a_message_torn_by_power_loss_is_dropped_and_the_next_one_is_taken(tmp_path, caplog):
    with connect(tmp_path) as connection:
        publish(connection, "first", "second")
        torn = min((tmp_path / "data" / "hints.queue").iterdir())
        torn.write_bytes(b"")

        assert connection.default_channel.basic_get("hints").payload == "second"
        assert "unreadable message" in caplog.text
        assert os.listdir(tmp_path / "data" / "aside") == []


def test_connecting_collects_what_the_dead_left_aside_and_nothing_younger(tmp_path, monkeypatch):
    with connect(tmp_path) as connection:
        publish(connection, "x")
        (tmp_path / "data" / "aside" / "a.new").touch()
    with connect(tmp_path) as connection:
        assert connection.default_channel._size("hints") == 1
        assert os.listdir(tmp_path / "data" / "aside") == ["a.new"]
    monkeypatch.setattr(transport, "LEFTOVER_SECONDS", -1)
    with connect(tmp_path) as connection:
        assert connection.default_channel._size("hints") == 1
        assert os.listdir(tmp_path / "data" / "aside") == []


def test_no_queue_name_leaves_the_data_folder(tmp_path):
    with connect(tmp_path / "broker") as connection:
        for name in ("../../x", "aside", "..", "a/b", "celery@host.celery.pidbox"):
            connection.default_channel._put(name, {"n": name})
            assert connection.default_channel._get(name) == {"n": name}
    assert os.listdir(tmp_path) == ["broker"]
    assert sorted(os.listdir(tmp_path / "broker")) == ["control", "data"]


def test_waiting_is_cheap(tmp_path):
    with connect(tmp_path) as connection, connection.Consumer([QUEUE], callbacks=[print]):
        before, since = time.process_time(), time.monotonic()
        with contextlib.suppress(TimeoutError):
            connection.drain_events(timeout=1)
        assert (time.process_time() - before) / (time.monotonic() - since) < 0.1


def test_a_celery_worker_runs_tasks_through_it(tmp_path):
    """Celery's own queues (tasks, remote control, its replies) work on this transport."""
    done, program = tmp_path / "done", tmp_path / "app.py"
    program.write_text(CELERY_APP.format(options=transport.options(tmp_path / "broker"), done=str(done)))
    environment = {"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    python = [sys.executable, "-m", "celery", "-A", "app"]
    with (tmp_path / "log").open("w") as log:
        command = [*python, "worker", "-P", "threads", "-c", "2", "-l", "INFO"]
        worker = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=log, stderr=log)
        try:
            code = "import app; [app.mark.delay(n) for n in range(50)]; print(app.wait(50), app.ping())"
            client = [sys.executable, "-W", "error", "-c", code]
            run = subprocess.run(client, env=environment, cwd=tmp_path, capture_output=True, text=True)
        finally:
            worker.terminate()
            worker.wait(30)

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("50 [{'celery@")
    assert "'ok': 'pong'" in run.stdout
    assert sorted(map(int, os.listdir(done))) == list(range(50))
    assert [
        line for line in (tmp_path / "log").read_text().splitlines() if "ERROR" in line or "Traceback" in line
    ] == []


CELERY_APP = """
import os, time
from celery import Celery
from forge_project.kernel import transport

transport.register()
DONE = {done!r}
os.makedirs(DONE, exist_ok=True)
app = Celery("app", broker="forge-file://")
app.conf.update(broker_transport_options={options!r}, task_ignore_result=True, task_acks_late=True,
                worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True)

@app.task
def mark(n):
    os.close(os.open(f"{{DONE}}/{{n}}", os.O_CREAT | os.O_EXCL))

def ping():
    return app.control.ping(timeout=5, limit=1)

def wait(count):
    until = time.monotonic() + 60
    while len(os.listdir(DONE)) < count and time.monotonic() < until:
        time.sleep(0.02)
    return len(os.listdir(DONE))
"""


if __name__ == "__main__":
    {"produce": produce, "consume": consume, "hold": hold, "bind": bind}[sys.argv[1]](*sys.argv[2:])
