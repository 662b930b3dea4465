"""HTTP: thin adapters to the service, a module a resource.

A route reads its request by `handling`, converts it by `app.wire`, and calls `app.translation`.
Called by `app.main` only, which puts the routes into the application.
"""
