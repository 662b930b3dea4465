"""HTTP: thin adapters to the service, one module per resource.

A route reads its request with `handling`, converts it with `app.wire`, and calls `app.translation`.
Only `app.main` imports this package, to add the routes to the application.
"""
