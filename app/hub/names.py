"""Names of models and revisions on the hub."""

import re
from pathlib import Path

from app.errors import PullError

OPUS_MT = "Helsinki-NLP"
_OWNERS = {"opus-mt": OPUS_MT, "quickmt-": "quickmt"}
"""Start of a name that may be given alone → its owner."""

_NAME = re.compile(r"[\w-][\w.-]{0,95}")
_REVISION = re.compile(r"[\w][\w./-]{0,199}")


def is_name(source: str) -> bool:
    """Whether it looks like `OWNER/MODEL` or `opus-mt-en-fr`, and there is no such local path."""
    try:
        repository_of(source)
    except PullError:
        return False
    return not Path(source).exists()


def repository_of(name: str) -> str:
    """Return the full name: `opus-mt-en-de` is `Helsinki-NLP/opus-mt-en-de`, and `quickmt-fr-en`
    `quickmt/quickmt-fr-en`. Raises `PullError`."""
    owner, slash, model = name.rpartition("/")
    if not slash:
        owner = next((one for start, one in _OWNERS.items() if model.startswith(start)), "")
    parts = (owner, model)
    if not all(_NAME.fullmatch(part) and ".." not in part for part in parts):
        raise PullError(
            f"{name}: neither a folder nor a name on the hub, such as opus-mt-en-de or "
            "facebook/m2m100_418M"
        )
    return f"{owner}/{model}"


def check_revision(revision: str) -> str:
    """Return the name of a branch, tag or commit. Raises `PullError`."""
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise PullError(f"{revision!r}: not the name of a revision, such as main or a commit")
    return revision
