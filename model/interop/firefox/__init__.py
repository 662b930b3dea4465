"""Firefox's translation models ("Bergamot"): Marian's binary format with 8-bit matrices."""
