"""What is being served."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from app.routes.state import ready_runtime
from app.runtime import Runtime
from app.schemas import Info, LanguageAnswer

router = APIRouter(tags=["model"])
_Runtime = Annotated[Runtime, Depends(ready_runtime)]


@router.head("/info", include_in_schema=False)
@router.get("/info")
async def info(runtime: _Runtime) -> Info:
    """Of each model: configuration, parameters, digest, device, precision; version of attend."""
    return runtime.info


@router.head("/languages", include_in_schema=False)
@router.get("/languages")
async def languages(runtime: _Runtime) -> list[LanguageAnswer]:
    """Source languages with their targets, those by way of a pivot last."""
    return [
        LanguageAnswer(code=language.code, name=language.name, targets=list(language.targets))
        for language in runtime.service.languages.sources
    ]
