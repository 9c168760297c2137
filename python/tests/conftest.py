"""Set-up of all tests."""

import signal

import experiments_path  # noqa: F401, finds the package of the experiments

# A shell that starts us in the background has SIGINT ignored, here and in the processes of tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
