"""JSON bodies that cost a parser more than their length: many values, names, escapes, digits.

Each has the largest size or the largest number of values that the server accepts.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.routes.handling.json_body import MAX_VALUES
from app.settings import Settings
from benchmarks.attacked import AT_A_TIME, Attacked, attacked, exchange
from benchmarks.load import HOST

N_DIGITS = 4300
"""The maximum number of digits that Python parses."""


@dataclass(frozen=True)
class Repeated:
    """A unit that is repeated between a start and an end.

    n_delimiters  commas, colons and opening brackets of a unit and what separates it
    """

    unit: bytes
    start: bytes = b'{"text":['
    end: bytes = b"]}"
    separator: bytes = b","
    n_delimiters: int = 1

    def body(self, n_bytes: int, n_delimiters: int) -> bytes:
        """Return a body that has at most `n_bytes` bytes and `n_delimiters` delimiters."""
        length = len(self.unit) + len(self.separator)
        n_units = (n_bytes - len(self.start) - len(self.end)) // length
        if self.n_delimiters:
            n_units = min(n_units, (n_delimiters - 10) // self.n_delimiters)
        return self.start + self.separator.join([self.unit] * n_units) + self.end


def _of_text(unit: bytes) -> Repeated:
    return Repeated(unit, b'{"text":"', b'"}', b"", 0)


def _numbered(unit: bytes, start: bytes, end: bytes) -> Callable[[int, int], bytes]:
    def body(n_bytes: int, n_delimiters: int) -> bytes:
        length = len(unit % 99_999) + 1
        n_units = min((n_bytes - len(start + end)) // length, (n_delimiters - 10) // 2)
        return start + b",".join(unit % index for index in range(n_units)) + end

    return body


Make = Callable[[int, int], bytes]
KINDS: Mapping[str, Mapping[str, Make]] = {
    "JSON of many values": {
        "small numbers": Repeated(b"1").body,
        "real numbers": Repeated(b"1.5").body,
        "numbers behind blanks": Repeated(b" 1 ").body,
        "nulls": Repeated(b"null").body,
        "empty strings": Repeated(b'""').body,
        "strings": Repeated('"漢"'.encode()).body,
        "an error at the end": Repeated(b"1", b"[", b"x").body,
    },
    "JSON of many containers": {
        "empty arrays": Repeated(b"[]", n_delimiters=2).body,
        "empty objects": Repeated(b"{}", n_delimiters=2).body,
        "objects of objects": Repeated(b'{"a":{}}', n_delimiters=4).body,
        "messages": Repeated(
            b'{"role":"user","content":"a"}', b'{"messages":[', n_delimiters=5
        ).body,
        "arrays in each other": Repeated(b"[" * 900 + b"]" * 900, n_delimiters=901).body,
        "objects in each other": Repeated(b'{"":' * 400 + b"1" + b"}" * 400, n_delimiters=801).body,
        "too deep": Repeated(b"[", b"", b"", b"").body,
        "too deep objects": Repeated(b'{"":', b"", b"", b"", 2).body,
    },
    "JSON of many names": {
        "different names": _numbered(b'"%x":1', b"{", b"}"),
        "a glossary": _numbered(b'"a%x":"b"', b'{"target":"fr","text":"a1","glossary":{', b"}}"),
        "the same name": Repeated(b'"a":1', b"{", b"}", n_delimiters=2).body,
        "no name": Repeated(b'"":1', b"{", b"}", n_delimiters=2).body,
    },
    "JSON of escapes": {
        "escaped letters": _of_text(b"\\u0041").body,
        "line breaks": _of_text(b"\\n").body,
        "backslashes": _of_text(b"\\\\").body,
        "quotation marks": _of_text(b'\\",').body,
        "delimiters": _of_text(b",:[{").body,
        "pairs of surrogates": _of_text(b"\\ud83d\\ude00").body,
        "surrogates": _of_text(b"\\ud800").body,
        "unescaped surrogates": _of_text(b"\xed\xa0\x80").body,
        "surrogates between letters": _of_text(b"a\xed\xa0\x80").body,
        "invalid bytes": _of_text(b"a\xff").body,
        "surrogates of UTF-16": Repeated(
            b"\x00\xd8", '{"text":"'.encode("utf-16-le"), '"}'.encode("utf-16-le"), b"", 0
        ).body,
    },
    "JSON of long numbers": {
        "long integers": Repeated(b"9" * N_DIGITS).body,
        "long fractions": Repeated(b"0." + b"7" * N_DIGITS).body,
        "long exponents": Repeated(b"1e" + b"9" * N_DIGITS).body,
        "too long an integer": Repeated(b"9", b"[", b"]", b"", 0).body,
        "one long fraction": Repeated(b"7", b"[0.", b"]", b"", 0).body,
        "blanks": Repeated(b" ", b"{", b"}", b"", 0).body,
        "lines": Repeated(b"\n", b"[", b"x", b"", 0).body,
    },
}  # fmt: skip
"""Attack → kind of body → how it is made."""


def bodies(attack: str, n_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield the names of an attack's bodies and the bodies: the largest, and the largest read."""
    for name, make in KINDS[attack].items():
        largest = make(n_bytes, 2 * n_bytes)
        read = make(n_bytes, MAX_VALUES)
        yield name, largest
        if read != largest:
            yield f"{name}, {MAX_VALUES:,}", read


def attacked_by_json(name: str, checkpoint: Path, deadline: float) -> Attacked:
    """Send the bodies of an attack by JSON, `AT_A_TIME` at a time."""
    headers = {"Content-Type": "application/json", "X-Request-Timeout": f"{deadline:g}"}
    limit = Settings.model_fields["max_body_bytes"].default
    url = f"http://{HOST}/translate"
    with attacked(name, checkpoint) as server, ThreadPoolExecutor(AT_A_TIME) as clients:
        sent = [
            clients.submit(
                exchange, httpx.Request("POST", url, content=body, headers=headers),
                f"{name}, {kind}", deadline, server,
            )
            for kind, body in bodies(name, limit)
        ]  # fmt: skip
        for one in sent:
            one.result()
    return server
