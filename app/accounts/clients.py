"""The client of a request: the holder of a key or, if keys are not required, an address."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from app.errors import MissingKeyError, WrongKeyError

EVERYONE = ""
"""The account of all clients without a key."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client, without the key itself.

    account  owner of the character counts: the key's digest, or `EVERYONE`
    turn     identity for fair queueing: the account, or an address
    """

    account: str
    turn: str


class Keys:
    """The valid API keys, if any. Stores only their digests."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    @property
    def needed(self) -> bool:
        """Whether a key is required."""
        return bool(self._digests)

    def client(self, key: str | None, address: str) -> Client:
        """Return the client for a presented key, if any, and an address.

        Takes constant time for all keys. Raises `MissingKeyError`, `WrongKeyError`.
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
