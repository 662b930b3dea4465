"""GET /info, and GET /languages, which LibreTranslate's dialect shares and needs no key."""

from __future__ import annotations

from app.routes.handling.dependencies import KnownClient, ReadyRuntime
from app.routes.handling.routing import Router
from app.wire.native.answers import Info, LanguageAnswer
from app.wire.openapi import problem_answers

router = Router(tags=["model"])


@router.get("/info", responses=problem_answers(401, 503))
async def info(_: KnownClient, runtime: ReadyRuntime) -> Info:
    """Each model's configuration, parameters, digest, device and precision; attend's version."""
    return runtime.info


@router.get("/languages", responses=problem_answers(503))
async def languages(runtime: ReadyRuntime) -> list[LanguageAnswer]:
    """Source languages with their targets, those through a pivot last."""
    return [
        LanguageAnswer(code=language.code, name=language.name, targets=list(language.targets))
        for language in runtime.service.languages.sources
    ]
