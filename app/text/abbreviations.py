"""Full stops that end no sentence: of abbreviations, initials and ordinals, and of ellipses.

`sentencex` decides first. This corrects where it splits, and where it does not.
"""

import re
from collections.abc import Iterator
from functools import cache

from app.text.spans import Span
from model.text.language_codes import primary_language

# Mostly the suppressions of the Unicode CLDR 46.1 that sentencex lacks (Unicode-3.0, see NOTICE),
# except ordinary words ("go.") and abbreviations that often end a sentence ("Inc.").
_WORDS = {
    "de": """a.Rh Abs Abt Abw Adr Allg amtl Ausg Ausschl Bed beil Ber Bibl Dat Dez Dipl.-Ing
    Dipl.-Kfm Dtzd e.Wz ehem eigtl Einh einschl entspr Erf erw exkl Fa Fn Folg Frl frz geb Gebr
    gedr gek Gem Geograph Ges gesch Gesch gest ggfs Hbf hpts Hptst Hrn Hrsg Inh inkl Jahrh jew
    jhrl Kap kfm Kfm kgl Kl Konv Kop Mind Msp mtl möbl näml Obj od Okt p.Adr Pfd Phys Prot Proz Qu
    Reg.-Bez Rel röm röm.-kath schles Schr schweiz schwäb Sek Spezif südd Tel Temp tägl Tägl Urspr
    Ursprüngl Verf verh verw Wg z.Hd Ztr zzgl österr""",
    "en": """Abs Approx Ch Diff Eds Eq Eqs Est Figs Fn Lt.Cdr Mgr Misc Mmes Ms Num Phys Sq Var Vol
    Vols""",
    "es": """afma afmas afmos aprox bol cf cfr Col Comm Cía depto deptos Desc Desv dptos Drs dtor Dª
    Dña ed Em Emm ene Exc Excma Excmas Excmos Exma Exmas Exmo Exmos Fabric feb FF.CC figs Fr fund
    Id Ilma Ilmas Ilmo Ilmos JJ.OO Lcda Lda licda licdo Ltdo Mons Mr Mrs ms mss mtro ntra ntro Rdo
    Rdos Rev RR.HH Rvdmo Rvdmos Rvdo Rvdos sras Sras srs Srtas ss SS.AA SS.MM Trab trad Var Vda""",
    "fr": """acoust adr anc anon ap append apr aux av avr bd broch bull cam categ coll collab Comm
    Desc dest dict dim Dr déc encycl exempl févr gouv graph hôp ill illustr imm imprim indus janv Jr
    juil lun Lt mar Mgr Mlle Mlles Mme Mmes niv nov oct Op Pr Prof réf sam St Ste symb synth syst
    ven édit équiv éval""",
    "it": "div Liv mitt pag sez tab ver",
    "nl": "ds mevr Mevr mw Mw",
    "pl": "dr gen im inż ks mgr płk prof św Św",
    "pt": """abr abrev aer ago agric Alm anat ap apart apt arit arqueol arquit astron autom aux Av
    biogr bras cap caps cat cf comp compl cont contab créd cx círc cód des desc dez dipl Dir dir
    div déb ed educ elem eletr eletrôn end esp Est Exma fasc fem fev ff fil filos fisiol fl fot Fr
    fr fís geom gram gên hist Ilma Ilmo ind ingl jan Jr jul jun jur lat lin lit liter long mai Mar
    mat matem mov máq méd mús neol nov náut obs odont odontol org organiz out pal Pe pol port pp pq
    prod profa pron próx psicol pág quím ref rel relat rod set sociol Sta sup séc símb tec tecnol
    tel trad transp univ vol álg índ""",
    "ru": "авг апр дек им нояб окт отд св сент февр янв",
}
_TITLES = "Tel डॉ डा प्रो प्रा पं श्री ডা ড মো திரு டாக்டர் డా శ్రీ ಡಾ ಶ್ರೀ ഡോ ડૉ ડો શ્રી ਡਾ ดร"
"""Of all languages, and in scripts without capitals."""

_LONGEST = 40
"""Code points before the end of a sentence that are searched for an abbreviation."""

_SHORT = 4
"""Letters of a word that is an abbreviation if no capital follows; joining does little harm."""

_LAST_WORD = re.compile(r"(?:.*[\s'’(«„“\"])?(.*)\.", re.DOTALL)
_INNER_STOP = re.compile(r"(?<![^\W_])(?:[^\W\d_]|[A-Z]{2}|Dipl|Reg|röm)\.$")
"""Behind a letter or two, as in `e.V.`, if no space follows."""

_LETTER = re.compile(r"(?:^|[.-])[^\W\d_]$")
_OPEN_END = re.compile(r"(?:\.\.|…|[.!?…]['\"”’»)\]]+)$")
"""Ends of sentences unless a small letter follows."""

_FIRST_NAMES = re.compile(r"\b[^\W\d_a-zà-ÿ]\.-[^\W\d_a-zà-ÿ]\.$")
_ENDS_A_SENTENCE = re.compile(r"\bJ\.-C\.$|\d\s[^\W\d_A-ZÀ-Ý]\.$")
"""Abbreviations that end one if a capital follows: of Christ, and single letters for units."""

_DOTTED = re.compile(r"(?<![\w.])(?:[^\W\d_]{1,3}\.-?){2,}$")
_GERMAN_ORDINAL = re.compile(
    r"\b(?:[ai]m|ins|vom|zum|beim|d(?:er|ie|as|en|em|es)|(?:ein|jed)e?[nmrs]?) \d{1,3}\.$",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"(?<!\w)(?:etc|usw|ecc|enz|itd|osv|т\. ?[дп])\.\s+(?=\w)|[.!?…]\)\s+(?=\w)"
    r"|(?<!\w)[ap]\.m\.\s+(?=(?:I|He|She|It|We|They|The|A|This|That|There|But|And|You)\b)"
)
"""Ends of sentences that sentencex does not see, if a capital follows."""


def is_abbreviation(text: str, span: Span, language: str) -> bool:
    """Whether the sentence continues after a span that ends with a full stop.

    The span includes the spaces after the full stop.
    """
    sentence = text[max(span.start, span.end - _LONGEST) : span.end]
    following = text[span.end]
    if _INNER_STOP.search(sentence) and (following == "-" or following.isalpha()):
        return True
    sentence, language = sentence.rstrip(), primary_language(language)
    if following.islower() and _OPEN_END.search(sentence):
        return True
    match = _LAST_WORD.fullmatch(sentence)
    if match is None:
        return False
    word = match[1]
    if following.isupper():
        if _ENDS_A_SENTENCE.search(sentence):
            return False
        if _FIRST_NAMES.search(sentence):
            return True
        if language == "de" and _GERMAN_ORDINAL.search(sentence):
            return True
    elif (following.islower() or following.isdigit()) and (
        (word.isalpha() and len(word) <= _SHORT) or _DOTTED.search(sentence)
    ):
        return True
    return word in _words(language) or _LETTER.search(word) is not None


def ends_within(text: str, sentence: Span) -> Iterator[int]:
    """Yield where further sentences end within what sentencex takes for one."""
    for match in _ENDS.finditer(text, sentence.start, sentence.end + _LONGEST):
        if match.end() <= sentence.end and text[match.end()].isupper():
            yield match.end()


@cache
def _words(language: str) -> frozenset[str]:
    return frozenset(f"{_TITLES} {_WORDS.get(language, '')}".split())
