"""The server and the command line around `model`."""
