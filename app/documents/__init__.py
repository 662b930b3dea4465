"""Files as texts to translate and as files again: a module a format.

`files` is the table of formats, where a new one is added. Built on `app.text`; called by
`app.translation.file_service`, and by routes and the command line for the names of formats.
"""
