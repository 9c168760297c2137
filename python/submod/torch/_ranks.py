"""How the ranks of a torch.distributed group reach each other: what they agree on before they do
anything together, sums and gathers of tensors, and the table of functions that dist.h asks for.

Operators know a group by its name, as torch.compile has to; "" is this process alone. A rank that
cannot go on says so where the others say that they can, so that all raise and nobody waits; its own
exception says why, those of the others name it. Whatever is lost on the way, because a rank has
died or the net is down, is raised as CommunicationError, from the exception of PyTorch's.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Callable, NamedTuple, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .._bindings import Comm, CommType, Status
from .._callbacks import Trap, call_trapped, put_callback
from .._errors import (
    CallbackError,
    CommunicationError,
    FileError,
    InvalidArgumentError,
    NonFiniteError,
    NumericError,
    OutOfMemoryError,
    SubmodError,
    UnsupportedError,
)
from .._library import function
from .._measure_check import check_used
from .._options import call_loss

T = TypeVar("T")

# What a rank may raise, so that the others raise the same type: the first that fits.
_ERRORS: tuple[type[Exception], ...] = (
    NonFiniteError,
    InvalidArgumentError,
    OutOfMemoryError,
    CallbackError,
    NumericError,
    UnsupportedError,
    CommunicationError,
    FileError,
    TypeError,
    ValueError,
    MemoryError,
    RuntimeError,
)
_TYPES = {CommType.I32: torch.int32, CommType.F64: torch.float64}


def named(group: Any) -> str:
    """The name of a group, "" for None."""
    if group is None:
        return ""
    if dist.is_available():
        if isinstance(group, dist.ProcessGroup):
            return str(group.group_name)
        if group is dist.GroupMember.NON_GROUP_MEMBER:
            raise ValueError("group: this process is not of the group; its ranks alone may call")
    raise TypeError(
        f"group = {group!r}; a ProcessGroup is needed, as torch.distributed.group.WORLD, or None "
        "for this process alone"
    )


def default(group: Any) -> tuple[str, int]:
    """The name and the size of a group, where None is all processes, if there are several. A
    process that is not of the group is alone."""
    if not (dist.is_available() and dist.is_initialized()):
        return "", 1
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        return "", 1
    return named(dist.group.WORLD if group is None else group), dist.get_world_size(group)


def of(name: str) -> Ranks:
    if not name:
        return Ranks()
    found: Any = dist.distributed_c10d  # of which the types say less than what there is
    return Ranks(found._resolve_process_group(name))


class _Named(NamedTuple):
    """What is saved of a group."""

    name: str


class Grouped(nn.Module):
    """A module that can be copied, and saved, with its group: that goes by its name, and is looked
    up where the module is loaded."""

    def __getstate__(self) -> dict[str, Any]:
        def kept(value: Any) -> Any:
            is_group = dist.is_available() and isinstance(value, dist.ProcessGroup)
            return _Named(value.group_name) if is_group else value

        return {name: kept(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = {k: of(v.name).group if isinstance(v, _Named) else v for k, v in state.items()}
        super().__setstate__(found)  # type: ignore[no-untyped-call]


def refuse(name: str, error: Exception) -> None:
    """The others, if there are any, hear that this rank could not go on, and all raise; who calls
    this raises otherwise. In a graph nothing is refused by its data, and all of the rest
    while it is made, before there is a call that others could wait in."""
    if name and not torch.compiler.is_compiling():
        of(name).together(lambda: _raise(error))


def _raise(error: Exception) -> NoReturn:
    raise error


class Ranks:
    """The ranks of a group, or this process alone; all methods that others are asked in are called
    by all of them."""

    def __init__(self, group: Any = None) -> None:
        self.group = group
        self.rank: int = 0 if group is None else group.rank()
        self.size: int = 1 if group is None else group.size()

    # ---- agreement ----

    def together(
        self,
        attempt: Callable[[], T],
        key: Callable[[], str] = str,
        counts: Sequence[int] = (0, 0),
    ) -> tuple[T, list[list[int]]]:
        """What the attempt of this rank gives, and the two counts of each rank, when no attempt has
        failed and all keys are the same; else all raise, by the type of the exception of the lowest
        rank that has one."""
        if self.size == 1:
            return attempt(), [list(counts)]
        found: list[T] = []
        failure: Exception | None = None
        words = ""
        try:
            found.append(attempt())
            words = key()
        except Exception as error:
            failure = error
        digest = hashlib.blake2b(words.encode(), digest_size=7).digest()
        kind = 0 if failure is None else 1 + _number_of(failure)
        facts = self._numbers([kind, int.from_bytes(digest, "little"), *counts])
        failed = [rank for rank, fact in enumerate(facts) if fact[0]]
        if failed:
            self._raise_of(failed[0], facts[failed[0]][0] - 1, failure)
        self._require_same([fact[1] for fact in facts], words)
        return found[0], [fact[2:] for fact in facts]

    def _raise_of(self, rank: int, kind: int, failure: Exception | None) -> NoReturn:
        if failure is not None and _number_of(failure) == kind:
            raise failure
        known = _ERRORS[kind] if kind < len(_ERRORS) else RuntimeError
        raise known(
            f"submod.torch: rank {rank} of the group failed; see its exception"
        ) from failure

    def _require_same(self, digests: list[int], key: str) -> None:
        other = next((rank for rank, d in enumerate(digests) if d != digests[0]), None)
        if other is not None:
            raise InvalidArgumentError(
                f"submod.torch: all ranks of the group have to make the same call, and rank "
                f"{other} makes another one than rank 0; this rank makes {key}"
            )

    def any(self, flag: bool) -> bool:
        """Of all ranks."""
        return flag if self.size == 1 else any(fact[0] for fact in self._numbers([int(flag)]))

    # ---- numbers and tensors ----

    def _numbers(self, mine: list[int]) -> list[list[int]]:
        """Those of all ranks, rank after rank: on the host, if the group can."""
        return self.gather(torch.tensor(mine, dtype=torch.int64)).tolist()

    def gather(self, tensor: Tensor) -> Tensor:
        """(ranks, ..) of equally shaped tensors."""
        if self.size == 1:
            return tensor[None]
        mine = self._placed(tensor)
        every = mine.new_empty(self.size * mine.numel())
        with _lost("all_gather_into_tensor"):
            dist.all_gather_into_tensor(every, mine.flatten(), group=self.group)
        return every.view(self.size, *mine.shape).to(tensor.device)

    def gather_rows(self, tensor: Tensor, rows: Sequence[int]) -> Tensor:
        """One after the other, of tensors of so many rows."""
        if self.size == 1:
            return tensor
        most = tensor.new_zeros((max(rows), *tensor.shape[1:]))
        most[: tensor.shape[0]] = tensor
        every = self.gather(most)
        return torch.cat([part[:count] for part, count in zip(every, rows)])

    def gather_bytes(self, data: bytes) -> list[bytes]:
        if self.size == 1:
            return [data]
        sizes = [size for (size,) in self._numbers([len(data)])]
        mine = torch.frombuffer(bytearray(data + b"\0"), dtype=torch.uint8)[:-1]
        joined = bytes(self.gather_rows(mine, sizes).tolist())
        ends = [sum(sizes[: rank + 1]) for rank in range(self.size)]
        return [joined[end - size : end] for end, size in zip(ends, sizes)]

    def sum(self, tensor: Tensor, in_place: bool = False) -> Tensor:
        return self._reduced(tensor, dist.ReduceOp.SUM, in_place)

    def largest(self, tensor: Tensor) -> Tensor:
        return self._reduced(tensor, dist.ReduceOp.MAX)

    def _reduced(self, tensor: Tensor, how: Any, in_place: bool = False) -> Tensor:
        """A new tensor, or the given one, if it may be used and is where the backend reads it."""
        if self.size == 1:
            return tensor
        total = self._placed(tensor)
        if not in_place:
            total = total.clone(memory_format=torch.contiguous_format)
        with _lost("all_reduce"):
            dist.all_reduce(total, how, group=self.group)
        return total.to(tensor.device)

    def _placed(self, tensor: Tensor) -> Tensor:
        """Where the backend of the group can read it; nccl knows CUDA alone."""
        kinds = [device.type for device in self.group._device_types]
        if tensor.device.type in kinds:
            return tensor.contiguous()
        return tensor.to("cpu" if "cpu" in kinds else kinds[0]).contiguous()

    # ---- the library's way ----

    def call(self, name: str, /, *, settings: Any, **arguments: Any) -> int:
        """submod_<name>(..), or submod_dist_<name>(comm, ..) of a group, if it is only one rank.
        What a measure in Python raises on one rank is a CallbackError on all."""
        if self.group is None:
            return call_loss(name, settings=settings, **arguments)
        table = _Table(self)
        arguments = {"comm": table.comm, "settings": settings, **arguments}
        failure: SubmodError | None = None
        status: int = Status.OK
        try:
            status = call_trapped((table,), f"dist_{name}", **arguments)
        except SubmodError as error:
            failure = error
        for raised in [trap.take() for trap in settings.traps]:
            if isinstance(raised, Exception):
                raise CallbackError(f"submod.torch: the measure raised {raised!r}") from raised
            if raised is not None:
                raise raised
        if failure is not None:
            raise failure
        check_used(settings.traps)
        return status


class _Table(Trap):
    """submod_comm. Memory of the library's is used in place, or copied where the backend needs."""

    def __init__(self, ranks: Ranks) -> None:
        super().__init__()
        self._ranks = ranks
        self.comm: Comm = function("comm_alone")()
        self.comm.rank, self.comm.ranks = ranks.rank, ranks.size
        put_callback(self.comm, "sum", self.guard(self._sum))
        put_callback(self.comm, "gather", self.guard(self._gather))

    def _sum(self, _: Any, numbers: int, kind: int, count: int) -> None:
        here = _memory(numbers, count, _TYPES[CommType(kind)])
        total = self._ranks.sum(here, in_place=True)
        if total is not here:
            here.copy_(total)

    def _gather(self, _: Any, mine: int, size: int, every: int) -> None:
        found = self._ranks.gather(_memory(mine, size))
        _memory(every, size * self._ranks.size).copy_(found.flatten())


def _memory(address: int | None, count: int, kind: torch.dtype = torch.uint8) -> Tensor:
    if count == 0 or address is None:
        return torch.empty(0, dtype=kind)
    buffer = (ctypes.c_char * (count * kind.itemsize)).from_address(address)
    return torch.frombuffer(buffer, dtype=kind)


def _number_of(error: Exception) -> int:
    fitting = (i for i, kind in enumerate(_ERRORS) if isinstance(error, kind))
    return next(fitting, len(_ERRORS))


@contextmanager
def _lost(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise CommunicationError(
            f"submod.torch: {what} over the ranks of the group has failed, a rank may have died: "
            f"{error}"
        ) from error
