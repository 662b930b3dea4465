"""Tables for generated facts: sentences with a gap, and their contents, in English and French."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "fr"]

FRAMES: dict[Language, dict[str, tuple[str, ...]]] = {
    "en": {
        "count": (
            "There are {} houses in the village.", "We counted {} birds this morning.",
            "She wrote {} letters last year.",
        ),
        "decimal": ("The box weighs {} kilograms.", "The river rose by {} centimetres."),
        "money": ("It costs {}.", "He owes me {}.", "The company lost {} last year."),
        "time": ("The train leaves at {}.", "The shop opens at {} on Monday."),
        "ordinal": ("We live on the {} floor.", "It is the {} time that he asks."),
        "part": ("He ate {} of the cake.", "About {} of the pupils were ill."),
        "range": ("It takes {} minutes.", "Children aged {} may come."),
        "degrees": ("It was {} last night.", "The temperature fell to {}."),
        "date": ("He arrived on {}.", "The law of {} is still valid."),
        "unit": ("It weighs {}.", "There is only {} left."),
        "scaled": ("The city has {} inhabitants.", "The film was seen by {} people."),
        "reign": ("The palace was built under {}.", "A book about {} is on the table."),
        "year": ("He was born in {}.", "The war ended in {}."),
        "percent": ("Prices rose by {}.", "About {} of the people voted."),
        "symbol": (
            "I love {} very much.", "The children {} play in the garden.",
            "She wrote {} on the wall.", "We {} thank you for your help.",
        ),
    },
    "fr": {
        "count": (
            "Il y a {} maisons dans le village.", "Nous avons compté {} oiseaux ce matin.",
            "Elle a écrit {} lettres l'année dernière.",
        ),
        "decimal": ("La boîte pèse {} kilogrammes.", "La rivière est montée de {} centimètres."),
        "money": ("Cela coûte {}.", "Il me doit {}.", "L'entreprise a perdu {} l'an dernier."),
        "time": ("Le train part à {}.", "Le magasin ouvre à {} le lundi."),
        "ordinal": ("Nous habitons au {} étage.", "C'est la {} fois qu'il demande."),
        "part": ("Il a mangé {} du gâteau.", "Environ {} des élèves étaient malades."),
        "range": ("Cela prend {} minutes.", "Les enfants de {} ans peuvent venir."),
        "degrees": ("Il a fait {} la nuit dernière.", "La température est tombée à {}."),
        "date": ("Il est arrivé le {}.", "La loi du {} est toujours en vigueur."),
        "unit": ("Cela pèse {}.", "Il ne reste que {}."),
        "scaled": ("La ville compte {} d'habitants.", "Le film a été vu par {} de personnes."),
        "reign": ("Le palais a été construit sous {}.", "Un livre sur {} est sur la table."),
        "year": ("Il est né en {}.", "La guerre s'est terminée en {}."),
        "percent": ("Les prix ont augmenté de {}.", "Environ {} des gens ont voté."),
        "symbol": (
            "J'aime beaucoup {} aussi.", "Les enfants {} jouent dans le jardin.",
            "Elle a écrit {} sur le mur.", "Nous {} vous remercions de votre aide.",
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
REIGNS = "Louis XIV", "Charles IX", "Henri IV", "Napoléon III", "Philippe VI"
OTHER_DIGITS = "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３４５６７８９"
