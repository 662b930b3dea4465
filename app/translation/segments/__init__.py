"""The segments of a text: what is translated at once, and what is tried to translate it well.

Reading order: `segmented_text` (a text and its segments), `reading` (how a model is given them),
`untranslatable` (what it is not given), `segment` (one search and its result), `attempts` (which
search comes next, and which result is taken), `term_places` (whether a glossary's terms are where
they belong).
"""
