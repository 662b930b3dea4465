"""The languages of M2M-100, WMT21 and NLLB: their tokens, ids and API codes."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from model.errors import TokenizerError
from model.text.language_codes import standard_code

ADDED_TOKENS_FILE = "added_tokens.json"
SPECIAL_TOKENS_FILE = "special_tokens_map.json"
FAST_TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
LANGUAGE_FILES = (
    TOKENIZER_CONFIG_FILE, ADDED_TOKENS_FILE, SPECIAL_TOKENS_FILE, FAST_TOKENIZER_FILE,
)  # fmt: skip

# In the order of their ids, after all pieces of the vocabulary.
_M2M100 = [
    "af", "am", "ar", "ast", "az", "ba", "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs",
    "cy", "da", "de", "el", "en", "es", "et", "fa", "ff", "fi", "fr", "fy", "ga", "gd",
    "gl", "gu", "ha", "he", "hi", "hr", "ht", "hu", "hy", "id", "ig", "ilo", "is", "it",
    "ja", "jv", "ka", "kk", "km", "kn", "ko", "lb", "lg", "ln", "lo", "lt", "lv", "mg",
    "mk", "ml", "mn", "mr", "ms", "my", "ne", "nl", "no", "ns", "oc", "or", "pa", "pl",
    "ps", "pt", "ro", "ru", "sd", "si", "sk", "sl", "so", "sq", "sr", "ss", "su", "sv",
    "sw", "ta", "th", "tl", "tn", "tr", "uk", "ur", "uz", "vi", "wo", "xh", "yi", "yo",
    "zh", "zu",
]  # fmt: skip
_WMT21 = ["en", "ha", "is", "ja", "cs", "ru", "zh", "de"]
M2M100_LISTS = {"m2m100": _M2M100, "wmt21": _WMT21}
"""By `language_codes` of tokenizer_config.json."""

NLLB_LIST = [
    "ace_Arab", "ace_Latn", "acm_Arab", "acq_Arab", "aeb_Arab", "afr_Latn", "ajp_Arab",
    "aka_Latn", "amh_Ethi", "apc_Arab", "arb_Arab", "ars_Arab", "ary_Arab", "arz_Arab",
    "asm_Beng", "ast_Latn", "awa_Deva", "ayr_Latn", "azb_Arab", "azj_Latn", "bak_Cyrl",
    "bam_Latn", "ban_Latn", "bel_Cyrl", "bem_Latn", "ben_Beng", "bho_Deva", "bjn_Arab",
    "bjn_Latn", "bod_Tibt", "bos_Latn", "bug_Latn", "bul_Cyrl", "cat_Latn", "ceb_Latn",
    "ces_Latn", "cjk_Latn", "ckb_Arab", "crh_Latn", "cym_Latn", "dan_Latn", "deu_Latn",
    "dik_Latn", "dyu_Latn", "dzo_Tibt", "ell_Grek", "eng_Latn", "epo_Latn", "est_Latn",
    "eus_Latn", "ewe_Latn", "fao_Latn", "pes_Arab", "fij_Latn", "fin_Latn", "fon_Latn",
    "fra_Latn", "fur_Latn", "fuv_Latn", "gla_Latn", "gle_Latn", "glg_Latn", "grn_Latn",
    "guj_Gujr", "hat_Latn", "hau_Latn", "heb_Hebr", "hin_Deva", "hne_Deva", "hrv_Latn",
    "hun_Latn", "hye_Armn", "ibo_Latn", "ilo_Latn", "ind_Latn", "isl_Latn", "ita_Latn",
    "jav_Latn", "jpn_Jpan", "kab_Latn", "kac_Latn", "kam_Latn", "kan_Knda", "kas_Arab",
    "kas_Deva", "kat_Geor", "knc_Arab", "knc_Latn", "kaz_Cyrl", "kbp_Latn", "kea_Latn",
    "khm_Khmr", "kik_Latn", "kin_Latn", "kir_Cyrl", "kmb_Latn", "kon_Latn", "kor_Hang",
    "kmr_Latn", "lao_Laoo", "lvs_Latn", "lij_Latn", "lim_Latn", "lin_Latn", "lit_Latn",
    "lmo_Latn", "ltg_Latn", "ltz_Latn", "lua_Latn", "lug_Latn", "luo_Latn", "lus_Latn",
    "mag_Deva", "mai_Deva", "mal_Mlym", "mar_Deva", "min_Latn", "mkd_Cyrl", "plt_Latn",
    "mlt_Latn", "mni_Beng", "khk_Cyrl", "mos_Latn", "mri_Latn", "zsm_Latn", "mya_Mymr",
    "nld_Latn", "nno_Latn", "nob_Latn", "npi_Deva", "nso_Latn", "nus_Latn", "nya_Latn",
    "oci_Latn", "gaz_Latn", "ory_Orya", "pag_Latn", "pan_Guru", "pap_Latn", "pol_Latn",
    "por_Latn", "prs_Arab", "pbt_Arab", "quy_Latn", "ron_Latn", "run_Latn", "rus_Cyrl",
    "sag_Latn", "san_Deva", "sat_Beng", "scn_Latn", "shn_Mymr", "sin_Sinh", "slk_Latn",
    "slv_Latn", "smo_Latn", "sna_Latn", "snd_Arab", "som_Latn", "sot_Latn", "spa_Latn",
    "als_Latn", "srd_Latn", "srp_Cyrl", "ssw_Latn", "sun_Latn", "swe_Latn", "swh_Latn",
    "szl_Latn", "tam_Taml", "tat_Cyrl", "tel_Telu", "tgk_Cyrl", "tgl_Latn", "tha_Thai",
    "tir_Ethi", "taq_Latn", "taq_Tfng", "tpi_Latn", "tsn_Latn", "tso_Latn", "tuk_Latn",
    "tum_Latn", "tur_Latn", "twi_Latn", "tzm_Tfng", "uig_Arab", "ukr_Cyrl", "umb_Latn",
    "urd_Arab", "uzn_Latn", "vec_Latn", "vie_Latn", "war_Latn", "wol_Latn", "xho_Latn",
    "ydd_Hebr", "yor_Latn", "yue_Hant", "zho_Hans", "zho_Hant", "zul_Latn",
]  # fmt: skip

_M2M100_TOKEN = re.compile(r"__([a-z]{2,3}(?:_[A-Za-z]+)?)__")
_NLLB_TOKEN = re.compile(r"([a-z]{3})_([A-Z][a-z]{3})")


def language_tokens(
    files: Mapping[str, Mapping[str, Any]], n_pieces: int, *, listed: bool
) -> dict[str, tuple[str, int]]:
    """Return API code → token and id for every language of a folder.

    files     the files of `LANGUAGE_FILES` that the folder has
    n_pieces  the id of the first language, unless the files define ids
    listed    whether it is M2M-100 instead of NLLB

    Raises `TokenizerError`.
    """
    if listed:
        kind = files.get(TOKENIZER_CONFIG_FILE, {}).get("language_codes", "m2m100")
        if kind not in M2M100_LISTS:
            known = ", ".join(map(repr, M2M100_LISTS))
            raise TokenizerError(
                f"{TOKENIZER_CONFIG_FILE}: language_codes {kind!r}; attend knows {known}"
            )
        tokens = [f"__{code}__" for code in M2M100_LISTS[kind]]
        pattern = _M2M100_TOKEN
    else:
        tokens, pattern = _named_tokens(files) or NLLB_LIST, _NLLB_TOKEN
    stated = _stated_ids(files)
    ids = {token: stated.get(token, n_pieces + index) for index, token in enumerate(tokens)}
    ids |= {token: stated[token] for token in stated if pattern.fullmatch(token)}
    codes = codes_of_tokens(ids)
    return {code: (token, ids[token]) for code, token in codes.items()}


def codes_of_tokens(tokens: Iterable[str]) -> dict[str, str]:
    """Return API code → token, such as `fr` → `__fr__` or `fra_Latn`.

    A code has no script unless the vocabulary has the language in several.
    """
    parts: dict[str, tuple[str, str | None]] = {}
    for token in tokens:
        if found := _NLLB_TOKEN.fullmatch(token):
            parts[token] = standard_code(found[1]), found[2]
        elif found := _M2M100_TOKEN.fullmatch(token):
            parts[token] = standard_code(found[1]), None
    scripts: dict[str, set[str | None]] = {}
    for language, script in parts.values():
        scripts.setdefault(language, set()).add(script)
    codes: dict[str, str] = {}
    for token, (language, script) in parts.items():
        code = f"{language}-{script}" if script and len(scripts[language]) > 1 else language
        if code in codes:  # two languages of one macrolanguage
            code = token.strip("_").replace("_", "-")
        codes[code] = token
    return codes


def _named_tokens(files: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return NLLB's languages in the order of their ids, if the files list them."""
    for name in (TOKENIZER_CONFIG_FILE, SPECIAL_TOKENS_FILE):
        for key in ("additional_special_tokens", "extra_special_tokens"):
            found = files.get(name, {}).get(key)
            tokens = [
                str(one.get("content") if isinstance(one, dict) else one)
                for one in (found if isinstance(found, list) else [])
            ]
            if named := [token for token in tokens if _NLLB_TOKEN.fullmatch(token)]:
                return named
    return []


def _stated_ids(files: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return token → id for the tokens that the files add to the pieces."""
    added = files.get(TOKENIZER_CONFIG_FILE, {}).get("added_tokens_decoder")
    listed = files.get(FAST_TOKENIZER_FILE, {}).get("added_tokens")
    pairs: list[tuple[object, object]] = [
        *(
            (one.get("content"), int(index))
            for index, one in (added if isinstance(added, dict) else {}).items()
            if isinstance(one, dict) and index.isdecimal()
        ),
        *files.get(ADDED_TOKENS_FILE, {}).items(),
        *(
            (one.get("content"), one.get("id"))
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, dict)
        ),
    ]
    return {token: index for token, index in pairs if isinstance(token, str) and type(index) is int}
