"""Text to ids and back: what serving needs of a tokeniser, and the two that there are.

`text_codec` is the seam; `tokenizer` is what attend trains, `marian_tokenizer` what Marian models
bring, both on `sentence_pieces`. `words` says what a word is. No torch; any folder may call it.
"""
