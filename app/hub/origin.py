"""The origin of a pulled model: `origin.json` in its folder."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

ORIGIN_FILE = "origin.json"


class Origin(BaseModel):
    """The content of origin.json.

    repository  on the hub, or the path of a local folder
    revision    the commit, if it came from the hub
    licence     as the publisher's card has it
    """

    model_config = ConfigDict(frozen=True)

    repository: str
    revision: str | None = None
    licence: str | None = None


def write_origin(folder: Path, origin: Origin) -> None:
    """Write origin.json into a checkpoint's folder."""
    (folder / ORIGIN_FILE).write_text(origin.model_dump_json(indent=2) + "\n", "utf-8")


def read_origin(folder: Path) -> Origin | None:
    """Read origin.json; None if there is none or it is damaged."""
    try:
        return Origin.model_validate_json((folder / ORIGIN_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
