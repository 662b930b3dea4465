import sys
from collections.abc import Iterator

import pytest
import torch

from benchmarks.server import Server

STUB = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(429 if b"refuse" in body else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass

class Server(ThreadingHTTPServer):
    request_queue_size = 128

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def stub() -> Server:
    """Answers 200 unless the text contains `refuse`."""
    return Server("stub", "1 × 1", [sys.executable, "-c", STUB])


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
