"""Finds code in a text: quoted in backticks, options, paths, file names, variables, addresses.

Code is recognised by its form alone, token by token. A token is a run of characters without white
space; marks of punctuation and quotation around it are not part of it.
"""

import ipaddress
import mimetypes
import re
from collections.abc import Iterator
from functools import cache

from app.text.spans import Span

_QUOTED = r"```[^`]*+```|`[^`\n]++`"
TOOL = "(?:pip3?|npm|npx|yarn|git|docker|kubectl|apt(?:-get)?|brew|cargo|conda|systemctl|dnf)"
_NO_ARGUMENT = (
    "and|or|to|on|in|the|it|is|was|if|does|do|did|fail\\w*|work\\w*|first|then|again|with|for|from"
    "|et|ou|pour|puis|dans|de|du|sur|la|le|les|ne|a|est|marche|fonctionne|échoue|avec|avant|d"
)
_COMMAND = rf"(?<![\w./-])(?:sudo[ ])?{TOOL}[ ]"
_OPTIONS = r"(?![\w'’-])(?:[ ]--?[A-Za-z][\w-]*(?:=[^\s]{1,60})?)*"
_WITH_BLANKS = (
    r"(?<![\w\\])[A-Za-z]:\\(?:[^\s\\\"<>|]{1,60}+(?:[ ][^\s\\\"<>|]{1,60}+){0,3}\\){0,20}"
    r"[^\s\\\"'<>|`,;)»”]*+"
    r"|(?<![\w.])[A-Za-z_][\w.]{0,60}\((?:[^()\s]{0,60}(?:,[ ][^()\s]{1,60}){1,8})\)"
    r"|\{[ ]?\"[^{}\n]{0,200}+\}"
    rf"|{_COMMAND}(?:install|uninstall|add|remove|clone|checkout|run|exec|start|stop|restart){_OPTIONS}"
    rf"(?:[ ](?!(?:{_NO_ARGUMENT})\b)[\w:@/=.-]*\w(?![\w'’]))?"
    rf"|{_COMMAND}(?:update|upgrade|commit|push|pull|status|build|init"
    rf"|rebase|merge|stash|fetch){_OPTIONS}(?:[ ]\w*[:@/=][\w:@/=.-]*\w)?"
)
_RUNS = re.compile(rf"{_QUOTED}|{_WITH_BLANKS}|(?<![!-~À-ɏͰ-ӿ])[!-~À-ɏͰ-ӿ]++")
_MARK = re.compile(
    rf"(?<!\w){TOOL}[ ][a-z]|"
    r"[`\\/_$#=~^(<%:{\[]|(?<!\S)\.[a-z]|[^\W\d_]\.\w|(?<!\S)--?[A-Za-z]|\d\.\d++\.\d|[a-z][A-Z]"
    r"|v\d|[a-zR]\+\w"
)
_OPENING = re.compile(r"[\"'(\[«{<“‘‹¿¡—–*]+|(?:[LlDdNnTtSsJjMmCc]|[Qq]u)['’](?=.)")
_CLOSING = re.compile(r"[\"'.,;:!?…»”’›\]}>*—–]+$")

_EXTENSIONS = (
    "py|js|ts|go|rs|md|sh|gz|cc|cs|rb|kt|db|yml|yaml|toml|ini|cfg|conf|log|lock|tsx|jsx|vue|scss"
    "|cpp|hpp|java|class|jar|php|swift|sql|bak|tmp|env|docx|xlsx|pptx|odt|ods|odp|epub|svg|webp|apk"
    "|dmg|iso|img|rar|bz2|xz|7z|tgz|deb|rpm|msi|psd|ps1|cmd|dat|parquet|ipynb|safetensors|mkv|flac"
    "|ogg|m4a|ttf|otf|woff2?|po|mo|rst|pem|crt|key|asc|sig"
)
_UNIX_ROOTS = "etc|usr|tmp|var|home|bin|opt|dev|root|srv|proc|mnt|lib|boot|sys|run|api"
_DOMAINS = (
    "com|org|net|edu|gov|int|io|info|biz|eu|fr|de|uk|es|it|nl|be|ch|ca|pt|dev|app|ai|example|shop"
    "|store|online|blog|tech|cloud|xyz|tv|co|jp|cn|ru|br|pl|se|dk|fi|ie|lu|au|nz|cz|gr|tr|mx|ar"
)
_BUILT_IN = "len|print|str|int|abs|min|max|sum|sorted|list|dict|set|open|sin|cos|tan|log|sqrt|range"
_WORDLIKE = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_FORMS = re.compile(
    rf"""
      --[A-Za-z][\w-]*+(?:=\S*)?                                     # an option
    | (?:~|\.{{1,2}})/\S*+ | ~(?=$)                                  # a path
    | (?:/[\w.@%+~:*{{}}$-]++){{2,}}/?(?:\?\S+)? | /(?:{_UNIX_ROOTS})/?
    | (?:[\w.@$-]++/)++(?:[\w.-]*\.(?:{_EXTENSIONS}))?
    | \\\\[^\s\\]++(?:\\[^\s\\]++)*\\? | [\w%.$-]++(?:\\[\w.$-]++)++\\?
    | [A-Za-z]:[\\/]\S*
    | [\w-]++(?:\.[\w-]++)*\.(?:{_EXTENSIONS}) | \.[a-z][a-z-]{{2,}}
    | (?:[\w-]++\.)++(?:{_DOMAINS})(?:/\S*)? | (?:[\w-]{{2,}}\.)++[a-z]{{2,12}}/\S*
    | \$(?!(?:US|CA|AU|NZ|HK|SG)\b)(?:[A-Z_][A-Z_\d]{{2,}}|[a-z_]\w*)+ | %[A-Za-z_]\w*% # a variable
    | _*[A-Za-z]\w*_\w*[^\W_]_* | __\w+__ | \w+_\w*\(\S{{0,60}}\)
    | [A-Za-z_][\w.]*\((?:|[a-dt-z]|[\w.,'\"=*]*[\d_.,'\"=*][\w.,'\"=*]*)\)# a call
        (?:\.\w+(?:\([^()\s]*\))?)*
    | (?:{_BUILT_IN})\(\w+\)
    | [a-z]{{2,}}(?:[A-Z][a-z]+)+[A-Z\d]*(?:\(\S{{0,60}}\))?          # camelCase
    | [A-Za-z_][\w.\[\]-]*(?:==?|!=|:=|\+=|->)[^\s=]\S*              # key=value
    | [A-Z]{{3,}}(?:[~^]\d*)+                                          # a revision of git
    | 0[xX][0-9A-Fa-f]+ | 0b[01]+
    | \#(?!(?!(\d)\1{{5}})\d+(?!\w))                                   # a colour, no number
        (?:[0-9A-Fa-f]{{8}}|[0-9A-Fa-f]{{6}}|(?=[A-Fa-f]*\d)[0-9A-Fa-f]{{3}})
    | [ru]/[A-Za-z]\w{{2,}}                                              # a place on Reddit
    | (?:Ctrl|Alt|AltGr|Shift|Maj|Cmd|Win|Fn)(?:\+\w{{1,9}})+          # keys
    | (?:[0-9A-Fa-f]{{2}}:){{5}}[0-9A-Fa-f]{{2}} | (?:[0-9A-Fa-f]{{2}}-){{5}}[0-9A-Fa-f]{{2}}
    | \d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+|/\d+)?
    | (?:localhost|[\w.-]+):\d{{4,5}}(?:/\S*)?
    | \S*\^\S+                                                          # a power
    | \S*\\[A-Za-z.]\S* | \S*\[[^\]\s]+\][*+?{{]\S* | \S*\.[*+]\S*     # a regular expression
    | [vV]\d+(?:\.\d+)+(?:-?[a-z]+\.?\d*)? | \d+\.\d+\.\d+(?:\.\d+)*-?[a-z]+[\w.+-]*
    """,
    re.VERBOSE,
)
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}|\d\d\.\d\d\.\d\d")
_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3})+")
_SHORT_OPTION = re.compile(r"-[A-Za-z]{1,3}\d?|-[a-z]+")
MAX_TOKEN = 400
"""A longer token is not examined."""


def find_code(text: str) -> Iterator[Span]:
    """Yield the spans of code, in order and disjoint."""
    if not _MARK.search(text):
        return
    for run in _RUNS.finditer(text):
        start, end = run.span()
        word = run[0].rstrip(".,;:!?")
        if word.isalpha() and word[1:].islower():  # fast: most runs are words
            continue
        if text[start] == "`" and end - start > 2 and text[end - 1] == "`":
            yield Span(start, end)
        elif end - start <= MAX_TOKEN:
            span = _trimmed(text, start, end)
            if span.end > span.start and _is_code(span.of(text), text, span.start):
                yield span


def _trimmed(text: str, start: int, end: int) -> Span:
    if text[start] == "{" and text[end - 1] == "}":
        return Span(start, end)
    while (opening := _OPENING.match(text, start, end)) and opening.end() < end:
        if text[start] == "[" and "]" in text[start + 1 : end - 1]:
            break
        start = opening.end()
    while True:
        closing = _CLOSING.search(text, start, end)
        stop = closing.start() if closing else end
        if stop > start and text[stop - 1] == ")" and "(" not in text[start:stop]:
            stop -= 1
        if stop in (end, start):
            return Span(start, end)
        if text[stop] in "\"'" and f"={text[stop]}" in text[start:stop]:  # of a value
            return Span(start, stop + 1)
        if text[stop] == "]" and "[" in text[start:stop]:
            return Span(start, stop + 1)
        if text[stop] in "}*" and ("{" in text[start:stop] or "." in text[start:stop]):
            return Span(start, stop + 1)
        end = stop


def _is_code(token: str, text: str, start: int) -> bool:
    if " " in token:
        return True
    if _WORDLIKE.fullmatch(token) and not _is_camel(token):
        return False
    if token[0] == "-" and token[1:2] != "-":
        # A hyphen at the beginning of a line is a bullet or opens direct speech.
        before = text[:start].rstrip(" \t")[-1:]
        return bool(before) and before != "\n" and _SHORT_OPTION.fullmatch(token) is not None
    if _VERSION.fullmatch(token):
        return not (_DATE.fullmatch(token) or _GROUPS.fullmatch(token))
    if _FORMS.fullmatch(token):
        if token.count('"') % 2:  # a value with blanks
            return False
        return "/" not in token or _is_path(token)
    return _is_file(token) or (token.count(":") > 1 and _is_ip6(token))


def _is_camel(token: str) -> bool:
    return re.fullmatch("[a-z]{2,}(?:[A-Z][a-z]+)+", token) is not None


def _is_path(token: str) -> bool:
    """Whether a token with slashes is a path, and not an alternative (`and/or`), date or unit."""
    if token[0] in "/~.$" or ":" in token or "(" in token:
        return True
    return re.search(r"[A-Za-z_]", token) is not None and not re.fullmatch(
        r"[^\W\d_]{1,3}(?:/[^\W\d_]{1,3})+", token
    )


def _is_file(token: str) -> bool:
    name, dot, extension = token.rpartition(".")
    return (
        bool(name and dot)
        and len(extension) > 2
        and extension == extension.lower()
        and re.fullmatch(r"[\w.-]+", name) is not None
        and f".{extension}" in _known_extensions()
    )


@cache
def _known_extensions() -> frozenset[str]:
    return frozenset(mimetypes.types_map)


def _is_ip6(token: str) -> bool:
    try:
        ipaddress.ip_interface(token.partition("%")[0])
    except ValueError:
        return False
    return True
