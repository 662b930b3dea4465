"""Runs coroutines and threads concurrently: side by side, in the background, until abandoned."""
