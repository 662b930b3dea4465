"""Writes NOTICE: the licences of the packages and corpora that an image contains.

python -m deploy.image.notice

Packages are the transitive dependencies of pyproject.toml; corpora are those of the shipped
checkpoint's card.
"""

import re
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
NOTICE = ROOT / "NOTICE"
CARD = ROOT / "checkpoints" / "en-fr" / "CARD.md"

FOR_GPUS = re.compile(r"nvidia-|cuda-|triton$")
"""Dependencies of torch's builds for GPUs, which the default image does not contain."""

_SPDX = {"Apache Software License": "Apache-2.0", "MIT License": "MIT"}
"""Classifiers and free text that mean a single licence."""

_READ = {
    "colorama": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "mpmath": "BSD-3-Clause",
    "numba": "BSD-2-Clause",
    "sympy": "BSD-3-Clause",
    "uvloop": "MIT OR Apache-2.0",
}
"""Licences read from licence files, where the metadata is ambiguous."""

_HEAD = """\
attend
Copyright the authors of attend

Licensed under the Apache License, Version 2.0; see LICENSE.

This file is written by `python -m deploy.image.notice` and checked by the tests.


The shipped checkpoint
======================

Trained on the texts below; checkpoints/en-fr/CARD.md says more.

{corpora}


Packages
========

The image holds these in /opt/venv, unmodified but for stripped debugging symbols and removed
tests; an installation by pip fetches them. The text of each licence is in the package's own
*.dist-info folder; two bring none: for sentencepiece (Copyright Google Inc.) it is that of LICENSE,
and for sentencex it is below. Licences are SPDX expressions.

{packages}

An image whose torch was built for GPUs holds NVIDIA's CUDA libraries too (packages nvidia-*), under
the terms in those packages, and triton (MIT). The base image is Debian with Python (PSF-2.0): the
licences of its packages are in /usr/share/doc/*/copyright.


sentencex
=========

Copyright © 2023 Santhosh Thottingal

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the “Software”), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED “AS IS”, WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.


Unicode CLDR
============

app/text/abbreviations.py has abbreviations from it, under Unicode-3.0:

Copyright © 2004-2024 Unicode, Inc.

NOTICE TO USER: Carefully read the following legal agreement. BY DOWNLOADING, INSTALLING, COPYING OR
OTHERWISE USING DATA FILES, AND/OR SOFTWARE, YOU UNEQUIVOCALLY ACCEPT, AND AGREE TO BE BOUND BY, ALL
OF THE TERMS AND CONDITIONS OF THIS AGREEMENT. IF YOU DO NOT AGREE, DO NOT DOWNLOAD, INSTALL, COPY,
DISTRIBUTE OR USE THE DATA FILES OR SOFTWARE.

Permission is hereby granted, free of charge, to any person obtaining a copy of data files and any
associated documentation (the "Data Files") or software and any associated documentation (the
"Software") to deal in the Data Files or Software without restriction, including without limitation
the rights to use, copy, modify, merge, publish, distribute, and/or sell copies of the Data Files or
Software, and to permit persons to whom the Data Files or Software are furnished to do so, provided
that either (a) this copyright and permission notice appear with all copies of the Data Files or
Software, or (b) this copyright and permission notice appear in associated Documentation.

THE DATA FILES AND SOFTWARE ARE PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED,
INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT OF THIRD PARTY RIGHTS.

IN NO EVENT SHALL THE COPYRIGHT HOLDER OR HOLDERS INCLUDED IN THIS NOTICE BE LIABLE FOR ANY CLAIM,
OR ANY SPECIAL INDIRECT OR CONSEQUENTIAL DAMAGES, OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF
USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING
OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THE DATA FILES OR SOFTWARE.

Except as contained in this notice, the name of a copyright holder shall not be used in advertising
or otherwise to promote the sale, use or other dealings in these Data Files or Software without
prior written authorization of the copyright holder.
"""


def closure(requirements: list[str]) -> dict[str, Distribution]:
    """Return the installed transitive dependencies by canonical name, sorted.

    Raises `PackageNotFoundError`.
    """
    found: dict[str, Distribution] = {}
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or FOR_GPUS.match(name):
            continue
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        found[name] = distribution(name)
        waiting += [Requirement(line) for line in found[name].requires or ()]
    return dict(sorted(found.items()))


def licence(name: str, package: Distribution) -> str:
    """Return an SPDX expression. Raises `ValueError` if the metadata has none."""
    metadata = package.metadata
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    candidates: list[str] = [
        *(metadata.get_all("License-Expression") or ()),
        *([_READ[name]] if name in _READ else metadata.get_all("License") or ()),
        *classifiers,
    ]
    for text in candidates:
        if text and re.fullmatch(r"[\w.() +-]+", text) and text != "BSD":
            return _SPDX.get(text, text)
    raise ValueError(f"{name}: its metadata names no licence; read it and add it to _READ")


def runtime_requirements() -> list[str]:
    """Return the dependencies of attend, without extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dependencies: list[str] = project["dependencies"]
    return dependencies


def corpora() -> str:
    """Return the card's list of corpora, with credits and licences."""
    section = CARD.read_text(encoding="utf-8").partition("## Trained on\n")[2].partition("\n##")[0]
    return "\n".join(line for line in section.splitlines() if line.startswith("- "))


def notice() -> str:
    """Return the text of NOTICE."""
    packages = closure(runtime_requirements())
    width = max(map(len, packages))
    lines = [f"{name:{width}}  {licence(name, package)}" for name, package in packages.items()]
    return _HEAD.format(corpora=corpora(), packages="\n".join(lines))


if __name__ == "__main__":
    NOTICE.write_text(notice(), encoding="utf-8")
