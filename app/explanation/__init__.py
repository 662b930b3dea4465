"""How a translation came about, for people who want to see it; no part of the pipeline."""
