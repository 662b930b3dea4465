"""Converts language names of models and of requests to the API's codes (BCP-47)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def _table(pairs: str) -> dict[str, str]:
    return {name: code for name, _, code in (pair.partition(":") for pair in pairs.split())}


# ISO 639-3 → 639-1, which BCP-47 requires if one exists. OPUS-MT uses both.
_SHORT = _table("""
    aar:aa abk:ab afr:af aka:ak amh:am ara:ar arg:an asm:as ava:av ave:ae aym:ay aze:az bak:ba
    bam:bm bel:be ben:bn bih:bh bis:bi bod:bo bos:bs bre:br bul:bg cat:ca ces:cs cha:ch che:ce
    chu:cu chv:cv cmn:zh cor:kw cos:co cre:cr cym:cy dan:da deu:de div:dv dzo:dz ell:el eng:en
    epo:eo est:et eus:eu ewe:ee fao:fo fas:fa fij:fj fin:fi fra:fr fry:fy ful:ff gla:gd gle:ga
    glg:gl glv:gv grn:gn guj:gu hat:ht hau:ha hbs:sh heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu
    hye:hy ibo:ig ido:io iii:ii iku:iu ile:ie ina:ia ind:id ipk:ik isl:is ita:it jav:jv jpn:ja
    kal:kl kan:kn kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki kin:rw kir:ky kom:kv kon:kg kor:ko
    kua:kj kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg mah:mh mal:ml
    mar:mr mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr nde:nd ndo:ng
    nep:ne nld:nl nno:nn nob:nb nor:no nya:ny oci:oc oji:oj ori:or orm:om oss:os pan:pa pli:pi
    pol:pl por:pt pus:ps que:qu roh:rm ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl
    sme:se smo:sm sna:sn snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw
    swe:sv tah:ty tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti ton:to tsn:tn tso:ts tuk:tk
    tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz ven:ve vie:vi vol:vo wln:wa wol:wo xho:xh yid:yi
    yor:yo zha:za zho:zh zul:zu
""")
# Names in NLLB and M2M-100 of languages that BCP-47 knows by the code of a macrolanguage, whose
# usual form they are, and withdrawn codes.
_USUAL = _table("""
    arb:ar azj:az ayr:ay als:sq ekk:et fuv:ff gaz:om khk:mn kmr:ku knc:kr lvs:lv npi:ne nob:nb
    ory:or pbt:ps pes:fa plt:mg quy:qu swh:sw uzn:uz ydd:yi zsm:ms ns:nso iw:he in:id ji:yi
    jw:jv mo:ro
""")
# Codes without a script → with the usual one (CLDR's likely subtags), as far as models need it.
_LIKELY = _table("""
    zh:zh-hans zh-tw:zh-hant zh-hk:zh-hant zh-mo:zh-hant ace:ace-latn bjn:bjn-latn kr:kr-latn
    ks:ks-arab taq:taq-latn
""")


def language_code(name: str) -> str:
    """`fra` and `fr` → `fr`, `por_BR` → `pt-BR`; unknown names stay, with `-` for `_`."""
    language, *subtags = name.split("_")
    return "-".join((_SHORT.get(language, language), *subtags))


def language_codes(names: str) -> list[str]:
    """`cat_oci_spa`, as OPUS-MT calls three languages, → `ca`, `oc`, `es`; else one code."""
    parts = names.split("_")
    is_list = len(parts) > 1 and all(part in _SHORT for part in parts)
    return [language_code(part) for part in (parts if is_list else [names])]


def codes_of_symbols(symbols: Iterable[str]) -> dict[str, str]:
    """Code → symbol, such as `fr` → `>>fra<<`.

    If two symbols have the same code, the one spelt like it gets it, and the other keeps its
    spelling.
    """
    names = {symbol.removeprefix(">>").removesuffix("<<"): symbol for symbol in symbols}
    codes: dict[str, str] = {}
    for name, symbol in names.items():
        code, spelt = language_code(name), name.replace("_", "-")
        codes[spelt if code in names or code in codes else code] = symbol
    return codes


def standard_code(name: str) -> str:
    """As `language_code`, with the macrolanguage for its usual form: `arb` → `ar`."""
    language, *subtags = name.replace("_", "-").split("-")
    return "-".join((_SHORT.get(language) or _USUAL.get(language, language), *subtags))


@lru_cache(maxsize=4096)
def primary_language(code: str) -> str:
    """`fr-CA` and `fr_CA` → `fr`."""
    return re.split("[-_]", code)[0]


def requested_codes(code: str) -> list[str]:
    """Return what a requested code may mean, in lower case, from specific to general.

    `zh-Hant-TW` → `zh-hant-tw`, `zh-hant`, `zh` (RFC 4647 lookup); `fra_Latn` → itself with `-`,
    then `fr-latn`, `fr`; `zh-TW` → `zh-tw`, `zh-hant`, `zh`, `zh-hans`.
    """
    requested = code.lower().replace("_", "-")
    found: list[str] = []
    for one in (requested, standard_code(requested)):
        subtags = one.split("-")
        for n in range(len(subtags), 0, -1):
            found.append(general := "-".join(subtags[:n]))
            if general in _LIKELY:
                found.append(_LIKELY[general])
    return list(dict.fromkeys(found))
