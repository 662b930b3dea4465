"""Generates facts for `written_numbers`: what is copied, and what each language writes its way.

Telephone numbers, identifiers and code stay as they are; durations, scales, numbers in words,
ordinals and eras are written as English and French write them.
"""

import string
from collections.abc import Callable
from functools import partial
from random import Random

Written = tuple[str, str]
"""The same content in English and in French."""

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_UNITS_FR = (
    "zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze",
    "douze", "treize", "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf",
)  # fmt: skip
_TENS_FR = (
    "vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt",
    "quatre-vingt",
)  # fmt: skip

_NAMES = ("user id", "max size", "is valid", "last name", "file path", "retry count", "cache dir",
          "first line", "access token", "page number", "on error", "timeout ms")  # fmt: skip
_COMMANDS = (
    "ls -la", "git push --force", "pip install numpy", "cd ..", "rm -rf build", "make test",
    "docker compose up -d", "npm run dev", "sudo apt update", "grep -rn TODO .", "ps aux",
    "curl -I localhost:8000", "chmod +x run.sh", "tar -xzf a.tar.gz",
)  # fmt: skip
_OPTIONS = ("force", "verbose", "dry-run", "output", "no-cache", "help", "quiet", "recursive",
            "threads", "log-level")  # fmt: skip
_FOLDERS = ("etc", "usr/local/bin", "var/log", "home/anna", "tmp", "srv/data", "opt/app")
_FILES = ("report", "notes", "config", "index", "main", "photo", "data", "setup", "README")
_ENDINGS = ("txt", "pdf", "py", "json", "csv", "md", "jpg", "toml", "html", "xlsx")


def _digits(random: Random, count: int) -> str:
    return "".join(random.choices(string.digits, k=count))


def _letters(random: Random, count: int) -> str:
    return "".join(random.choices(string.ascii_uppercase, k=count))


def _both(text: str) -> Written:
    return text, text


def telephone(random: Random) -> Written:
    """A number of one of six countries or of North America, in its groups."""
    pair, three, four = (partial(_digits, random, count) for count in (2, 3, 4))
    forms: tuple[Callable[[], str], ...] = (
        lambda: f"0{random.randint(1, 9)} {pair()} {pair()} {pair()} {pair()}",
        lambda: f"+33 {random.randint(1, 9)} {pair()} {pair()} {pair()} {pair()}",
        lambda: f"({random.randint(201, 989)}) {three()}-{four()}",
        lambda: f"{random.randint(201, 989)}-{three()}-{four()}",
        lambda: f"+1 {random.randint(201, 989)} {three()} {four()}",
        lambda: f"020 7{three()} {four()}",
        lambda: f"+44 20 7{three()} {four()}",
        lambda: f"0{random.randint(30, 89)} {_digits(random, 6)}",
        lambda: f"+49 {random.randint(30, 89)} {_digits(random, 7)}",
        lambda: f"+32 2 {three()} {pair()} {pair()}",
        lambda: f"0{random.randint(21, 91)} {three()} {pair()} {pair()}",
        lambda: f"0{random.randint(1, 9)}.{pair()}.{pair()}.{pair()}.{pair()}",
    )
    return _both(random.choice(forms)())


def identifier(random: Random) -> Written:
    """An IBAN, a card, a parcel, an order, a flight, a registration or a serial number."""
    four = partial(_digits, random, 4)
    forms: tuple[Callable[[], str], ...] = (
        lambda: f"FR{_digits(random, 2)} {' '.join(four() for _ in range(5))} {_digits(random, 3)}",
        lambda: f"DE{_digits(random, 2)} {' '.join(four() for _ in range(4))} {_digits(random, 2)}",
        lambda: " ".join(four() for _ in range(4)),
        lambda: f"{_letters(random, 2)}{_digits(random, 9)}FR",
        lambda: f"1Z {_digits(random, 3)} {_letters(random, 2)}{_digits(random, 1)} {four()}",
        lambda: f"#{_letters(random, 1)}-{_digits(random, 5)}",
        lambda: f"ORD-20{_digits(random, 2)}-{_digits(random, 5)}",
        lambda: f"{random.choice(('AF', 'BA', 'LH', 'KL', 'TP', 'AC'))} {_digits(random, 4)}",
        lambda: f"{random.choice(('AF', 'BA', 'LH', 'U2'))}{_digits(random, 3)}",
        lambda: f"{_letters(random, 2)}-{_digits(random, 3)}-{_letters(random, 2)}",
        lambda: f"{_letters(random, 3)}{_digits(random, 4)}{_letters(random, 1)}",
        lambda: _digits(random, random.randint(6, 14)),
    )
    return _both(random.choice(forms)())


def code(random: Random) -> Written:
    """A command in backticks, an option, a path, a name, a call, an assignment, an address."""
    words = random.choice(_NAMES).split()
    snake = "_".join(words)
    file = f"{random.choice(_FILES)}.{random.choice(_ENDINGS)}"
    forms = (
        f"`{random.choice(_COMMANDS)}`",
        f"--{random.choice(_OPTIONS)}",
        f"-{random.choice(string.ascii_lowercase)}",
        f"/{random.choice(_FOLDERS)}/{file}",
        f"C:\\{random.choice(('Temp', 'Users', 'Data'))}\\{file}",
        f"~/{file}",
        file,
        snake,
        f"{words[0]}{''.join(word.capitalize() for word in words[1:])}",
        f"{snake}()",
        f"f({random.choice(('x', 'x, y', '0', 'n + 1'))})",
        f"{snake}={random.randrange(1000)}",
        f"${snake.upper()}",
        f"0x{random.randrange(1 << 32):X}",
        f"v{random.randrange(20)}.{random.randrange(20)}.{random.randrange(20)}",
        ".".join(str(random.randrange(256)) for _ in range(4)),
        ":".join(f"{random.randrange(256):02x}" for _ in range(6)),
    )
    return _both(random.choice(forms))


def duration(random: Random) -> Written:
    """`24 hours` and `24 heures`, `2 h 30` in both, `three weeks` and `trois semaines`."""
    if random.random() < 0.3:
        text = f"{random.randint(2, 96)} h"
        return _both(text if random.random() < 0.5 else f"{text} {random.randint(10, 59)} min")
    english, french = random.choice(
        (("seconds", "secondes"), ("minutes", "minutes"), ("hours", "heures"), ("days", "jours"),
         ("weeks", "semaines"), ("months", "mois"), ("years", "ans"))
    )  # fmt: skip
    value = random.randint(2, 99)
    if value < 20 and random.random() < 0.4:
        return f"{_UNITS[value]} {english}", f"{_UNITS_FR[value]} {french}"
    return f"{value} {english}", f"{value} {french}"


def scale(random: Random) -> Written:
    """`$2 trillion` and `2 000 milliards de dollars`, `€5 million` and `5 M€`."""
    sign, noun = random.choice(
        (("$", "de dollars"), ("€", "d'euros"), ("£", "de livres"), ("", "d'habitants"))
    )
    people = "" if sign else " people"
    whole = random.randint(2, 99)
    english, french = (str(whole),) * 2
    if random.random() < 0.5:
        digit = random.randint(1, 9)
        english, french = f"{whole}.{digit}", f"{whole},{digit}"
    kind = random.random()
    if kind < 0.1 and sign:
        return f"{sign}{whole} trillion", f"{whole} 000 milliards {noun}"
    if kind < 0.25 and sign == "€":
        return f"€{english} million", f"{french} M€"
    name, name_french = ("billion", "milliards") if kind < 0.5 else ("million", "millions")
    return f"{sign}{english} {name}{people}", f"{french} {name_french} {noun}"


def in_words(value: int) -> Written:
    """A number below 1,000 in words: `seventy-one` and `soixante et onze`."""
    if value >= 100:
        hundreds, rest = divmod(value, 100)
        english = f"{_UNITS[hundreds]} hundred"
        french = "cent" if hundreds == 1 else f"{_UNITS_FR[hundreds]} cent"
        if not rest:
            return english, french + ("s" if hundreds > 1 else "")
        tail_english, tail_french = in_words(rest)
        return f"{english} and {tail_english}", f"{french} {tail_french}"
    if value < 20:
        return _UNITS[value], _UNITS_FR[value]
    tens, unit = divmod(value, 10)
    english = _TENS[tens - 2] + (f"-{_UNITS[unit]}" if unit else "")
    base = _TENS_FR[tens - 2]
    if tens in (7, 9):
        unit += 10
    if value == 80:
        return english, "quatre-vingts"
    if unit == 0:
        return english, base
    if unit in (1, 11) and tens < 8:
        return english, f"{base} et {_UNITS_FR[unit]}"
    return english, f"{base}-{_UNITS_FR[unit]}"


def words(random: Random) -> Written:
    """`fifty-five dollars` and `cinquante-cinq dollars`."""
    english, french = in_words(random.choice((random.randint(3, 99), random.randint(100, 999))))
    noun, noun_french = random.choice(
        (("dollars", "dollars"), ("euros", "euros"), ("students", "élèves"), ("books", "livres"),
         ("kilometres", "kilomètres"), ("passengers", "passagers"), ("votes", "voix"))
    )  # fmt: skip
    return f"{english} {noun}", f"{french} {noun_french}"


def roman(value: int) -> str:
    """Return a Roman numeral."""
    numeral = ""
    for size, sign in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        numeral += sign * (value // size)
        value %= size
    return numeral


def ordinal(value: int) -> Written:
    """`22nd` and `22e`, `1st` and `1er`."""
    ending = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}", "1er" if value == 1 else f"{value}e"


def era(random: Random) -> Written:
    """`in 44 BC` and `en 44 av. J.-C.`, `in the 19th century` and `au XIXe siècle`."""
    if random.random() < 0.4:
        year = random.randint(2, 999)
        return f"in {year} BC", f"en {year} av. J.-C."
    century = random.randint(2, 21)
    english = f"in the {ordinal(century)[0]} century"
    french = f"au {roman(century)}e siècle"
    if century < 13 and random.random() < 0.4:
        return f"{english} BC", f"{french} av. J.-C."
    return english, french


def rank(random: Random) -> Written:
    """`the 22nd district` and `le 22e arrondissement`."""
    english, french = ordinal(random.randint(2, 120))
    noun, noun_french = random.choice(
        (("district", "arrondissement"), ("floor", "étage"), ("chapter", "chapitre"),
         ("time", "fois"), ("anniversary", "anniversaire"), ("place", "rang"))
    )  # fmt: skip
    article = "la" if noun == "time" else "le"
    return f"the {english} {noun}", f"{article} {french} {noun_french}"


COPIED_SENTENCES = (
    ("{}", "{}"), ("See {}.", "Voir {}."), ("Reference: {}", "Référence : {}"),
    ("Please note {}.", "Veuillez noter {}."), ("It is {}.", "C'est {}."),
    ("Use {} instead.", "Utilisez plutôt {}."), ("I cannot find {}.", "Je ne trouve pas {}."),
    ("What does {} mean?", "Que signifie {} ?"), ("Write {} here.", "Écrivez {} ici."),
    ("{} is no longer valid.", "{} n'est plus valable."), ("Enter {}.", "Saisissez {}."),
    ("The number is {}.", "Le numéro est {}."), ("Keep {} for later.", "Gardez {} pour plus tard."),
)  # fmt: skip
TELEPHONE_SENTENCES = (
    ("{}", "{}"), ("Call {}.", "Appelez le {}."), ("Phone: {}", "Téléphone : {}"),
    ("Call me at {}.", "Appelle-moi au {}."), ("My number is {}.", "Mon numéro est le {}."),
    ("For more information, call {}.", "Pour plus d'informations, appelez le {}."),
    ("Call {} before noon.", "Appelez le {} avant midi."),
    ("You can reach us on {}.", "Vous pouvez nous joindre au {}."),
)  # fmt: skip
CODE_SENTENCES = (
    *COPIED_SENTENCES[:8], ("Run {} now.", "Exécutez {} maintenant."),
    ("Open {}.", "Ouvrez {}."), ("Set {} first.", "Définissez d'abord {}."),
    ("{} does not work.", "{} ne fonctionne pas."), ("Delete {}?", "Supprimer {} ?"),
    ("The error is in {}.", "L'erreur est dans {}."),
)  # fmt: skip
DURATION_SENTENCES = (
    ("{}", "{}"), ("Wait {}.", "Attendez {}."), ("It lasted {}.", "Cela a duré {}."),
    ("The journey takes {}.", "Le trajet dure {}."), ("We stayed {}.", "Nous sommes restés {}."),
    ("He worked there for {}.", "Il y a travaillé pendant {}."),
)  # fmt: skip
SCALE_SENTENCES = (
    ("{}", "{}"), ("More than {}", "Plus de {}"), ("The figure is {}.", "Le chiffre est de {}."),
    ("Nearly {}, according to the report.", "Près de {}, selon le rapport."),
)  # fmt: skip
WORD_SENTENCES = (
    ("{}", "{}"), ("There are {}.", "Il y a {}."), ("Only {} are left.", "Il ne reste que {}."),
    ("That makes {}.", "Cela fait {}."), ("We counted {}.", "Nous avons compté {}."),
)  # fmt: skip
ERA_SENTENCES = (
    ("It was built {}.", "Il a été construit {}."), ("He died {}.", "Il est mort {}."),
    ("The city was founded {}.", "La ville a été fondée {}."),
    ("It all began {}.", "Tout a commencé {}."),
)  # fmt: skip
RANK_SENTENCES = (("{}", "{}"), ("It is {}.", "C'est {}."), ("After {}", "Après {}"))

Kind = tuple[float, Callable[[Random], Written], tuple[Written, ...]]

KINDS: tuple[Kind, ...] = (
    (0.2, telephone, TELEPHONE_SENTENCES),
    (0.15, identifier, COPIED_SENTENCES),
    (0.25, code, CODE_SENTENCES),
    (0.1, duration, DURATION_SENTENCES),
    (0.1, scale, SCALE_SENTENCES),
    (0.08, words, WORD_SENTENCES),
    (0.07, era, ERA_SENTENCES),
    (0.05, rank, RANK_SENTENCES),
)
"""Share, generator and sentences of each kind."""
