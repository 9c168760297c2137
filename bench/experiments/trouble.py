"""What is told in a sentence, without a traceback."""

from __future__ import annotations


class Trouble(Exception):
    """Something the user can put right. Its text says what must hold and what to do."""

    status = 2  # of the command


class Failed(Trouble):
    """A job. Its text says which, why, and where its log is."""

    status = 1
