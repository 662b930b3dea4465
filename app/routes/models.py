"""GET /info; GET /languages, which both dialects share; POST /reload, for administrators."""

from http import HTTPStatus

from fastapi import HTTPException, Request, Response

from app.languages.served import Languages
from app.routes.handling.dependencies import CurrentLifecycle, KnownClient, ReadyRuntime
from app.routes.handling.responses import languages_response
from app.routes.handling.routing import Router
from app.wire.native.answers import Info, LanguageAnswer
from app.wire.openapi import problem_answers

router = Router(tags=["model"])
admin_router = Router(tags=["admin"])


@router.get("/info", responses=problem_answers(401, 503), response_model=Info)
async def info(_: KnownClient, runtime: ReadyRuntime) -> Response:
    """Each model's configuration, parameters, digest, device and precision; attend's version."""
    return Response(runtime.info_json, media_type="application/json")


@router.get("/languages", responses=problem_answers(503), response_model=list[LanguageAnswer])
@router.post("/languages", name="post_languages", include_in_schema=False)
async def languages(runtime: ReadyRuntime) -> Response:
    """Source languages with their targets, those through a pivot last."""
    return languages_response(_sources, runtime.service.languages)


def _sources(languages: Languages) -> list[LanguageAnswer]:
    return [
        LanguageAnswer(code=language.code, name=language.name, targets=list(language.targets))
        for language in languages.sources
    ]


@admin_router.post("/reload")
async def reload(request: Request, lifecycle: CurrentLifecycle) -> Info:
    """Load the checkpoints again and serve them; on the port for administrators.

    A page in an administrator's browser could send this to a port that only they can reach, without
    a preflight (it is a simple request by CORS). Browsers then send Origin; tools do not.
    """
    if "origin" in request.headers:
        raise HTTPException(HTTPStatus.FORBIDDEN, "requests from pages in a browser are refused")
    return (await lifecycle.reload()).info
