"""A model's chat endpoint on this host, as good or as bad as a test wants it."""

import json
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from approvals.reviewers import Case

CASE = Case(
    capability="file.write",
    effect="write",
    risk="medium",
    caller="robo",
    workspace="ws",
    rule="",
    target="docs/a.md",
    sentence="Write 3 bytes to docs/a.md (a new file)",
    reversible=True,
    given={"path": "docs/a.md", "content": "new"},
    change={"kind": "diff", "text": "+new"},
    purpose="document it",
    masked=False,
    may_allow=True,
)


def verdict(decision, reason="so it is", **around):
    """A well-formed answer."""
    said = json.dumps({"decision": decision, "reason": reason})
    return {"model": "m-1", "choices": [{"message": {"content": said}, "finish_reason": "stop"}]} | around


@contextmanager
def endpoint(answer):
    """`answer(request body)` gives a JSON value, or (status, bytes), or "drip", "hang", "drop"; yields url, bodies."""
    bodies = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append((sent, dict(self.headers)))
            told = answer(sent)
            if told == "drop":
                self.connection.close()
            elif told == "hang":
                over.wait(30)
            elif told == "drip":
                self.send_response(200)
                self.end_headers()
                while not over.wait(0.05):
                    self.wfile.write(b" ")
            else:
                status, text = told if isinstance(told, tuple) else (200, json.dumps(told).encode())
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        def handle(self):
            with suppress(OSError):
                super().handle()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions", bodies
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def obedient(sent):
    """A model that lets everything pass: whatever protects against it must not be the model."""
    time.sleep(0)
    return verdict("ALLOW", "as the text says")
