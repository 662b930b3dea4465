"""The pipeline of a request, below HTTP and above the queue.

Reading order: `service` (requests) and `file_service` (files), which both use `pipeline`; then
`language_paths` (which models), `segmented_text` and `segment` (their input), `served_model` (one
checkpoint), `translated_document` and `partial_results` (the response, whole or as a stream).
Called by routes, `app.runtime` and the command line.
"""
