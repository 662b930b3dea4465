"""Import of M2M-100 and NLLB: their languages, their vocabularies, their folders."""
