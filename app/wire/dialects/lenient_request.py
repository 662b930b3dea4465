"""The base of the other dialects' requests."""

from __future__ import annotations

from typing import Any, Self

from pydantic import ConfigDict

from app.wire.native.request import WireRequest


def _without_nulls(schema: dict[str, Any]) -> None:
    """Describe nullable fields without null, which forms do not have."""
    for field in schema["properties"].values():
        kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
        if len(kinds) == 1:
            del field["anyOf"], field["default"]
            field.update(kinds[0])


class LenientRequest(WireRequest):
    """A request as lenient as forms: numbers may be strings, and unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=False, json_schema_extra=_without_nulls)

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data; null counts as omitted. Raises `InvalidRequestError`."""
        if isinstance(values, dict):
            values = {name: value for name, value in values.items() if value is not None}
        return super().parse(values)
