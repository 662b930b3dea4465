"""What the requests of the other dialects have in common."""

from __future__ import annotations

from typing import Any, Self

from pydantic import ConfigDict

from app.wire.native.request import WireRequest


def _without_nulls(schema: dict[str, Any]) -> None:
    """A field that may be null is described as what else it may be: forms have no null."""
    for field in schema["properties"].values():
        kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
        if len(kinds) == 1:
            del field["anyOf"], field["default"]
            field.update(kinds[0])


class LenientRequest(WireRequest):
    """As forms are: numbers may be strings, and fields that are not known are ignored."""

    model_config = ConfigDict(extra="ignore", strict=False, json_schema_extra=_without_nulls)

    @classmethod
    def parse(cls, values: object) -> Self:
        """From untrusted data; a null is a field left out. Raises `InvalidRequestError`."""
        if isinstance(values, dict):
            values = {name: value for name, value in values.items() if value is not None}
        return super().parse(values)
