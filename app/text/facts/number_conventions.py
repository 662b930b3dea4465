"""How languages write numbers and amounts of money, by the Unicode CLDR, version 47.

Languages are missing whose digits are grouped in any other way than by threes (Hindi and others of
India), that have digits of their own, or that are written from right to left: an amount of money
would need directional marks there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

SPACES = " \u00a0\u2007\u2009\u200a\u202f"
"""Spaces within a number, between it and its unit, and between its words."""

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Convention:
    """How a language writes numbers; the narrow and no-break spaces of CLDR are plain ones here.

    decimal, group  the decimal mark and the separator of thousands
    money           where a currency sign stands; behind, it is always apart
    """

    decimal: str
    group: str
    money: Literal["before", "before, apart", "behind"]


_ROWS = {
    Convention(",", " ", "behind"): """
        be bg br cs et fi fr hu hy ka kk ky lt lv nb nn no pl ru sk sq sv tg tk tt uk uz
        pt-AO pt-CH pt-CV pt-GQ pt-GW pt-LU pt-MO pt-MZ pt-PT pt-ST pt-TL""",
    Convention(",", " ", "before"): "af es-CR ss",
    Convention(",", " ", "before, apart"): "eo ts",
    Convention(",", ".", "behind"): """
        ast az bs ca da de el es eu fr-LU gl hr is it lb ln mk ro sl sr vi""",
    Convention(",", ".", "before"): "es-AR es-BO es-CL es-CO es-EC es-VE id lo ms-ID su tr",
    Convention(",", ".", "before, apart"): "de-AT es-PY es-UY fy jv ms-BN nl pt rw sw-CD wo",
    Convention(".", ",", "before"): """
        am ceb cy en es-419 es-BR es-BZ es-CU es-DO es-GT es-HN es-MX es-NI es-PA es-PR es-SV es-US
        fil ga gd ig ja kn ko ms mt si sn so st th ti tl yo zh zu""",
    Convention(".", ",", "before, apart"): "es-PE ha mg mn oc sw to",
    Convention(".", "’", "before, apart"): "de-CH de-LI it-CH",
}
CONVENTIONS = {code: convention for convention, codes in _ROWS.items() for code in codes.split()}
"""By language code; `convention_of` says what counts for a code that has no entry."""


def convention_of(language: str) -> Convention | None:
    """Return the convention of a code such as `en` or `pt-PT`; None if it is not known.

    A code with a region or script that has no entry is as without it.
    """
    code = language.replace("_", "-")
    return CONVENTIONS.get(code) or CONVENTIONS.get(re.split("-", code)[0])


def has_digit(*texts: str) -> bool:
    """Whether any of the texts has a digit, of any script."""
    return any(map(_DIGIT.search, texts))
