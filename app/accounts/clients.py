"""The client of a request: the holder of a key or, where no key is needed, an address."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from app.errors import MissingKeyError, WrongKeyError

EVERYONE = ""
"""The account of all who need no key."""


@dataclass(frozen=True, slots=True)
class Client:
    """Never has the key itself.

    account  what its characters are counted under: the key's digest, or `EVERYONE`
    turn     who takes turns with other clients: the account, or an address
    """

    account: str
    turn: str


class Keys:
    """The keys of which a client needs one, if there are any. Keeps their digests alone."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    @property
    def needed(self) -> bool:
        """Whether there are any."""
        return bool(self._digests)

    def client(self, key: str | None, address: str) -> Client:
        """Who presents this key, if any, from an address.

        Takes as long for any key. Raises `MissingKeyError`, `WrongKeyError`.
        """
        if not self.needed:
            return Client(EVERYONE, turn=address)
        if not key:
            raise MissingKeyError
        given = _digest(key)
        if not any([hmac.compare_digest(given, known) for known in self._digests]):  # noqa: C419
            raise WrongKeyError
        return Client(given, turn=given)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
