"""The pipeline of a request, below HTTP and above the queue, in plain requests and answers.

Reading order: `service` (requests), `translated_text` (their texts), `language_paths` (models),
`pipeline` (steps) and `windows`, `block` (a text and its translation), `segments`, `served_model`,
`partial_results` (streaming), `explainer`; `file_service` (files) joins at `pipeline`.
"""
