"""Files: read into texts to translate, and written again; one module per format.

`files` is the table of formats, where a new one is added. Built on `app.text`; called by
`app.translation.file_service`, and by routes and the command line for the names of formats.
"""
