"""Coroutines and threads beside each other: in order, in the background, until nobody waits."""
