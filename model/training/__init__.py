"""Training by the recipe of §5 of the paper; nothing else in the product depends on it."""
