"""Explains how a translation was found, for display; not part of the pipeline."""
