"""Numbers that stand for objects, where only numbers can go: through the operators of PyTorch."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

_alive: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)
_kept: dict[int, Held] = {}  # by the id of what they hold, which is nobody else's then


def new_token(thing: Any) -> int:
    """Which of() knows it by as long as it lives. No number is given twice."""
    token = next(_numbers)
    _alive[token] = thing
    return token


def of(token: int) -> Any:
    thing = _alive.get(token)
    if thing is None:
        raise ReferenceError(
            f"submod: token {token} stands for an object that is gone; keep a reference to the "
            "function or measure for as long as it is used, in compiled graphs too"
        )
    return thing.what if isinstance(thing, Held) else thing


class Held:
    """Something that has no room for a token of its own, and may have no other owner."""

    def __init__(self, what: Any) -> None:
        self.what = what
        self.token = new_token(self)


def keep(what: Any, _identity: int) -> int:
    """A token for ever, as graphs of torch.compile need it. _identity: id(what), which compilers
    look at; that of a function which they make themselves is of something else, and soon of another
    thing, so that we ask again."""
    return _kept.setdefault(id(what), Held(what)).token
