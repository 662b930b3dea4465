from contextlib import closing
from pathlib import Path

from app.accounts.database import GLOSSARIES, open_database


def test_files_are_private_also_those_of_earlier_versions(tmp_path: Path) -> None:
    file = tmp_path / "new" / "glossaries.sqlite"
    for _ in range(2):
        with closing(open_database(file, GLOSSARIES)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE IF NOT EXISTS more (a)")
            assert {one.stat().st_mode & 0o777 for one in file.parent.iterdir()} == {0o600}
        file.chmod(0o644)
