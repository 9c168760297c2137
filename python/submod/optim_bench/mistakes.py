"""What a user did wrong: said in a sentence, without a traceback."""


class Mistake(ValueError):
    """The sentence says what must hold."""
