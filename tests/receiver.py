"""A real HTTP server on a loopback port that answers as it is told, and keeps what it was sent."""

import ssl
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """`mode`: a status, `slow` (a byte now and then, for ever), `never`, `redirect`, `hangup`."""

    def __init__(self, mode, port=0, certificate=None, body=b""):
        self.mode, self.body, self.got, self.ended = mode, body, [], threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, dict(self.headers), body))
                outer.answer(self)

            def do_GET(self):
                outer.got.append((self.path, dict(self.headers), b""))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that hangs up is what these tests are about
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, handler):
        mode = self.mode(len(self.got)) if callable(self.mode) else self.mode
        if mode == "never":
            self.ended.wait()
        elif mode == "slow":
            drip(handler, self.ended)
        elif mode == "redirect":
            handler.send_response(302)
            handler.send_header("Location", f"{self.url}/elsewhere")
            handler.end_headers()
        elif mode != "hangup":
            handler.send_response(mode)
            handler.end_headers()
            handler.wfile.write(self.body)

    def ids(self):
        return [headers["webhook-id"] for _, headers, _ in self.got]


def drip(handler, ended):
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        while not ended.wait(0.05):
            handler.wfile.write(b"x")
            handler.wfile.flush()
    except OSError:
        pass


@contextmanager
def receiver(mode=200, port=0, certificate=None, body=b""):
    made = Receiver(mode, port, certificate, body)
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        made.ended.set()
        made.server.shutdown()
        thread.join()
        made.server.server_close()


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)
