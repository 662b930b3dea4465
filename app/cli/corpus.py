"""`attend corpus`: fetches public corpora of sentence pairs for training."""

from pathlib import Path

import click

from app.cli import options
from app.cli.display.progress import download_progress
from app.errors import PullError
from app.hub.corpora import (
    PIVOT,
    SPLIT,
    archive_of,
    fetch_archive,
    read_corpora,
    write_split,
)
from app.hub.import_cache import default_cache
from app.hub.requests import FileServer
from app.shipped import recipe_path

RECIPE = "en-fr"
"""The shipped recipe that names the corpora."""


@click.group(epilog="Example: attend corpus get tatoeba corpora")
def corpus() -> None:
    """Fetch public corpora of sentence pairs."""


@corpus.command(epilog="Example: attend corpus get tatoeba && attend train first --corpora corpora")
@click.argument("name")
@click.argument("folder", type=options.path_type, metavar="[DIR]", default=Path("corpora"))
@click.option(
    "--language", default="fr", show_default=True, metavar="CODE", help="Paired with English."
)
@click.option(
    "--dev", type=click.IntRange(1), default=2000, show_default=True, metavar="N",
    help="Pairs that are held back, in dev.tsv.",
)  # fmt: skip
@click.option("--mirror", metavar="URL", help="Where the archive is, instead of its publisher's.")
@click.option("--replace", is_flag=True, help="Replace the files in DIR.")
@options.cache
def get(  # noqa: PLR0917
    name: str,
    folder: Path,
    language: str,
    dev: int,
    mirror: str | None,
    replace: bool,
    cache: Path | None,
) -> None:
    """Fetch a corpus and write it to DIR/train.tsv and DIR/dev.tsv.

    The recipe `first` reads both files.

    NAME is `tatoeba` (short everyday sentences) or `europarl` (the European Parliament); addresses
    and licences are those of the shipped recipe. For its other corpora, the command only says where
    they come from. An interrupted download is resumed by the same command.
    """
    corpora = read_corpora(recipe_path(RECIPE))
    archive = archive_of(corpora, name, language)
    corpus = corpora[name]
    for path in (folder / name for name in SPLIT):
        if path.exists() and not replace:
            raise PullError(f"{path}: exists; --replace replaces it")
    address = f"{(mirror or corpus.address or '').rstrip('/')}/{archive.path}"
    click.echo(f"{address}\nlicence: {corpus.licence}\ncredit: {corpus.credit}")
    with FileServer(address) as server, download_progress() as progress:
        task = progress.add_task(archive.path, total=None)
        downloads = (cache or default_cache()) / "corpora"
        path = fetch_archive(
            server, address, downloads, lambda n: progress.update(task, completed=n)
        )
    n_train, n_dev = write_split(archive.read(path), folder, dev)
    path.unlink()
    click.echo(f"wrote {folder}: {n_train:,} pairs in train.tsv, {n_dev:,} in dev.tsv")
    click.echo(f"columns: {PIVOT}, {language}")
