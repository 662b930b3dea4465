"""GET /languages: shared by the native dialect and LibreTranslate's, without a key."""

from __future__ import annotations

from fastapi import APIRouter

from app.routes.handling.dependencies import ReadyRuntime
from app.wire.native.answers import LanguageAnswer
from app.wire.openapi import problem_answers

router = APIRouter(tags=["model"])


@router.head("/languages", include_in_schema=False)
@router.get("/languages", responses=problem_answers(503))
async def languages(runtime: ReadyRuntime) -> list[LanguageAnswer]:
    """Source languages with their targets, those through a pivot last."""
    return [
        LanguageAnswer(code=language.code, name=language.name, targets=list(language.targets))
        for language in runtime.service.languages.sources
    ]
