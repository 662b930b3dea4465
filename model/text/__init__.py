"""Text to ids and back: the tokeniser interface and its two implementations.

`text_codec` is the interface; `tokenizer` is for models that attend trains, `marian_tokenizer` for
Marian models, both based on `sentence_pieces`. `words` defines words. No torch; any folder may
import it.
"""
