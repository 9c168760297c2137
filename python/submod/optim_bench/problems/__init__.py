"""The problems that take part: one file, one family."""
