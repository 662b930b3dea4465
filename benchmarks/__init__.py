"""What is measured, and against what; each module is a program: python -m benchmarks.overhead."""
