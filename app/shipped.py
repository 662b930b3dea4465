"""The checkpoint and recipes that come with the code.

In a checkout they lie beside this package; a wheel has them inside it (setup.py).
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(folder: str) -> Path:
    """`checkpoints` or `recipes`, wherever this package was installed."""
    inside = _PACKAGE / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder


SHIPPED_CHECKPOINT = shipped("checkpoints") / "en-fr"


def recipe_path(recipe: str) -> Path:
    """The file of that path, else the shipped recipe of that name, as in `attend train en-fr`."""
    path = Path(recipe)
    named = shipped("recipes") / f"{recipe}.toml"
    return named if path.name == recipe and not path.exists() and named.exists() else path
