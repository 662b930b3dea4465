"""Benchmarks. Each is a program, such as python -m benchmarks.decode."""
