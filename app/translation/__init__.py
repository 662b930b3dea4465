"""The pipeline of a request, below HTTP and above the queue.

To read first: `service` (requests) and `file_service` (files), then `language_selection` and
`language_path` (which models), `translated_document` and `segmented_text` (what of a text they
read), `served_model` (one checkpoint), `results` and `partial_results` (the answer, whole or as a
stream). Called by routes, `app.runtime` and the command line.
"""
