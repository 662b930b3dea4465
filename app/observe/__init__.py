"""What operators see: metrics, logs, traces, timings. Never a word of any text.

Below everything else in `app` but the errors; every folder may call it.
"""
