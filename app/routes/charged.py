"""A translation at its client's expense, whatever the dialect."""

from __future__ import annotations

from fastapi import Request

from app.clients import Client
from app.routes.disconnect import while_connected
from app.routes.state import held_runtime
from app.schemas import TranslateAnswer
from app.timings import Timings
from app.translate_request import TranslateRequest
from app.usage_ledger import UsageLedger


async def translated(
    request: Request, client: Client, wanted: TranslateRequest
) -> tuple[TranslateAnswer, Timings]:
    """The answer, its characters counted if there is one. The body must be read.

    Raises as `held_runtime`, `UsageLedger.charge`, `while_connected` and the service.
    """
    ledger: UsageLedger = request.app.state.ledger
    service = held_runtime(request).service
    with ledger.charge(client.account, sum(map(len, wanted.text))):
        return await while_connected(request, service.translate(wanted, client.turn))
