from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.accounts.schema_version import check_version, note_version
from app.errors import SettingsError


def test_versions_up_to_the_present_one_are_read() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        assert check_version(database, None, 2) == 0
        for version in (1, 2):
            note_version(database, version)
            assert check_version(database, None, 2) == version


def test_the_database_of_a_newer_attend_is_refused_by_name() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        note_version(database, 3)
        with pytest.raises(
            SettingsError, match=r"/d/usage\.sqlite has schema version 3 .* reads 2"
        ):
            check_version(database, Path("/d/usage.sqlite"), 2)
