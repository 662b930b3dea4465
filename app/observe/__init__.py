"""Observability for operators: metrics, logs, traces, timings. None contains any text.

Below everything in `app` except the errors; every folder may import it.
"""
