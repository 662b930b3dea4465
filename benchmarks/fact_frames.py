"""Tables for generated facts: sentences with a gap, and what may fill it, in English and French."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "fr"]

FRAMES: dict[Language, dict[str, tuple[str, ...]]] = {
    "en": {
        "count": (
            "There are {} houses in the village.", "We counted {} birds this morning.",
            "The report has {} pages.", "She wrote {} letters last year.",
            "The school has {} pupils.", "They sold {} books.",
        ),
        "decimal": (
            "The box weighs {} kilograms.", "It is {} metres long.",
            "The river rose by {} centimetres.", "He ran {} kilometres.",
        ),
        "money": (
            "It costs {}.", "I paid {} for the ticket.", "He owes me {}.",
            "The company lost {} last year.", "You can buy it for {} here.",
        ),
        "time": (
            "The train leaves at {}.", "Call me at {}.", "The meeting starts at {}.",
            "The shop opens at {} on Monday.",
        ),
        "ordinal": ("We live on the {} floor.", "It is the {} time that he asks."),
        "part": ("He ate {} of the cake.", "About {} of the pupils were ill."),
        "range": (
            "It takes {} minutes.", "Children aged {} may come.", "The text is on pages {}.",
        ),
        "degrees": ("It was {} last night.", "The temperature fell to {}."),
        "date": ("He arrived on {}.", "The law of {} is still valid."),
        "unit": ("It weighs {}.", "I need {} for the work.", "There is only {} left."),
        "scaled": ("The city has {} inhabitants.", "The film was seen by {} people."),
        "reign": ("The palace was built under {}.", "A book about {} is on the table."),
        "year": ("He was born in {}.", "The war ended in {}.", "The house was built in {}."),
        "percent": ("Prices rose by {}.", "About {} of the people voted.", "We save {}."),
        "symbol": (
            "I love {} very much.", "The children {} play in the garden.",
            "She wrote {} on the wall.", "My brother said {} to me.",
            "We {} thank you for your help.",
        ),
    },
    "fr": {
        "count": (
            "Il y a {} maisons dans le village.", "Nous avons compté {} oiseaux ce matin.",
            "Le rapport a {} pages.", "Elle a écrit {} lettres l'année dernière.",
            "L'école a {} élèves.", "Ils ont vendu {} livres.",
        ),
        "decimal": (
            "La boîte pèse {} kilogrammes.", "Il fait {} mètres de long.",
            "La rivière est montée de {} centimètres.", "Il a couru {} kilomètres.",
        ),
        "money": (
            "Cela coûte {}.", "J'ai payé {} pour le billet.", "Il me doit {}.",
            "L'entreprise a perdu {} l'année dernière.", "Vous pouvez l'acheter pour {} ici.",
        ),
        "time": (
            "Le train part à {}.", "Appelle-moi à {}.", "La réunion commence à {}.",
            "Le magasin ouvre à {} le lundi.",
        ),
        "ordinal": ("Nous habitons au {} étage.", "C'est la {} fois qu'il demande."),
        "part": ("Il a mangé {} du gâteau.", "Environ {} des élèves étaient malades."),
        "range": (
            "Cela prend {} minutes.", "Les enfants de {} ans peuvent venir.",
            "Le texte se trouve aux pages {}.",
        ),
        "degrees": ("Il a fait {} la nuit dernière.", "La température est tombée à {}."),
        "date": ("Il est arrivé le {}.", "La loi du {} est toujours en vigueur."),
        "unit": ("Cela pèse {}.", "J'ai besoin de {} pour le travail.", "Il ne reste que {}."),
        "scaled": ("La ville compte {} d'habitants.", "Le film a été vu par {} de personnes."),
        "reign": (
            "Le palais a été construit sous {}.", "Un livre sur {} se trouve sur la table.",
        ),
        "year": (
            "Il est né en {}.", "La guerre s'est terminée en {}.",
            "La maison a été construite en {}.",
        ),
        "percent": (
            "Les prix ont augmenté de {}.", "Environ {} des gens ont voté.",
            "Nous économisons {}.",
        ),
        "symbol": (
            "J'aime beaucoup {} aussi.", "Les enfants {} jouent dans le jardin.",
            "Elle a écrit {} sur le mur.", "Mon frère m'a dit {} hier.",
            "Nous {} vous remercions de votre aide.",
        ),
    },
}  # fmt: skip
KEPT = (
    "😀", "👍🏽", "👨‍👩‍👧", "❤️", "🇫🇷", "3️⃣",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "🎉🎉",
    "✓", "→", "★★★", "☎", "♫", "∞", "½", "m²", "CO₂",
    "привет", "добрый день", "日本語", "שלום", "مرحبا", "नमस्ते", "Ελλάδα", "한국어", "😀 😎",
    "👩🏾‍💻",
)  # fmt: skip
MONTHS: dict[Language, tuple[str, ...]] = {
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ),
    "fr": (
        "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
        "octobre", "novembre", "décembre",
    ),
}  # fmt: skip
ORDINALS = {
    11: "eleventh|onzième", 12: "twelfth|douzième", 13: "thirteenth|treizième",
    15: "fifteenth|quinzième", 16: "sixteenth|seizième", 20: "twentieth|vingtième",
    30: "thirtieth|trentième",
}  # fmt: skip
UNITS = (
    ("km", "km|kilom"), ("kg", "kg|kilo"), ("cm", "cm|centim"), ("mg", "mg|millig"),
    ("GB", "GB|Go|gig"), ("ml", "ml|mL|millil"), ("m", "m\\b|met|mèt"),
)  # fmt: skip
REIGNS = (
    ("Louis", "XIV"),
    ("Charles", "IX"),
    ("Henri", "IV"),
    ("Napoléon", "III"),
    ("Philippe", "VI"),
)
OTHER_DIGITS = "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３４５６７８９"
