"""The pipeline of a request, below HTTP and above the queue.

To read first: `service` (requests) and `file_service` (files), which both go through `pipeline`;
then `language_paths` (which models), `segmented_text` and `segment` (what of a text they read),
`served_model` (one checkpoint), `translated_document` and `partial_results` (the answer, whole or
as a stream). Called by routes, `app.runtime` and the command line.
"""
