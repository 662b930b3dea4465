"""The segments of a text: the units that are translated, and repeated attempts to translate them.

Reading order: `segmented_text` (a text and its segments), `layout` (where it is split), `reading`
(the input of a model), `untranslatable` (what the model is not given), `segment` (one search and
its result), `attempts` (the next search, or the result to take), `term_places` (whether the terms
of a glossary are at the right positions).
"""
