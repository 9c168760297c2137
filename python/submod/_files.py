"""Counts in files: file.h. Whoever reads one sees it whole, or a FileError that says why not."""

from __future__ import annotations

import ctypes
import os
from typing import Any, ClassVar, TypeVar, Union

import numpy as np
import numpy.typing as npt

from ._errors import FileError
from ._library import call, function

Path = Union[str, "os.PathLike[str]"]
Words = npt.NDArray[np.uint64]
Self = TypeVar("Self", bound="Saved")


def encoded(path: Path) -> bytes:
    """As the library takes it."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"a path with a byte of 0: {path!r}")
    return name


def save_words(path: Path, kind: str, words: Words) -> None:
    """Numbers of one's own, as submod_file_save has it."""
    words = np.ascontiguousarray(words, np.uint64)
    call("file_save", path=encoded(path), kind=kind.encode(), words=words, count=words.size)


def load_words(path: Path, kind: str) -> Words:
    """What save_words has written. FileError: the file is missing, damaged, of another kind .."""
    words, count = ctypes.c_void_p(), ctypes.c_size_t()
    places = {"words": ctypes.byref(words), "count": ctypes.byref(count)}
    call("file_load", path=encoded(path), kind=kind.encode(), **places)
    try:
        found = np.empty(count.value, np.uint64)
        ctypes.memmove(found.ctypes.data, words, found.nbytes)
    finally:
        function("file_free")(words)
    return found


def impossible(path: Path) -> FileError:
    return FileError(f"{os.fspath(path)} holds numbers that such counts cannot have")


def whole_number(word: Any) -> int:
    """A word as the int64_t that it was."""
    return int(np.uint64(word).astype(np.int64))


def _plain(option: Any) -> Any:
    """An option as files have it: lists of classes ascending."""
    return option if option is None or np.ndim(option) == 0 else sorted(map(int, option))


class Saved:
    """What a stream of counts needs for files. _kind and _argument: its name in C, and that of the
    argument. _in_file: what its files hold, by their own words. The first words of a file say how
    was counted: _settings_in() reads them."""

    _kind: str
    _argument: str
    _in_file: ClassVar[str]
    _handle: Any

    def save(self, path: Path) -> None:
        """Writes what was counted, and what that depends on, to a file: a new one takes the place
        of the old one when it is whole. submod/file.h has the format, which C reads too."""
        with self._handle.lock:
            call(f"{self._kind}_save", **{self._argument: self._handle}, path=encoded(path))

    @classmethod
    def load(cls: type[Self], path: Path, **options: Any) -> Self:
        """One with the counts of a file that save() has written, here or in C. What counts depend
        on, classes and ignore_index among it, is in the file; other options are as for a new one.
        FileError: it is missing, damaged, cut off, of something else."""
        made_of, words = cls._read(path, options)
        loaded = cls(**made_of)
        loaded._take(words, path)
        return loaded

    @classmethod
    def _read(cls, path: Path, options: dict[str, Any]) -> tuple[dict[str, Any], Words]:
        """The options for a new one, and the words that were counted."""
        words = load_words(path, cls._in_file)
        found, used = cls._settings_in(words, path)
        for name in found.keys() & options.keys():
            if _plain(options[name]) != found[name]:
                said = f"{name}={found[name]!r}, not {options[name]!r}"
                raise ValueError(f"{os.fspath(path)} was counted with {said}")
        return {**options, **found}, words[used:]

    def _take(self, words: Words, path: Path) -> None:
        """The words of a file, in place of what was counted."""
        try:
            self._set_words(words)
        except ValueError as error:
            raise impossible(path) from error

    @classmethod
    def _settings_in(cls, words: Words, path: Path) -> tuple[dict[str, Any], int]:
        """The options that a file has, and how many words these are; those of all streams."""
        if words.size < 4 or not 0 < words[0] <= words.size or words[1] > 1:
            raise impossible(path)
        ignored = whole_number(words[2]) if words[1] else None
        return {"classes": int(words[0]), "ignore_index": ignored}, 3

    @classmethod
    def _means_in(cls, words: Words, path: Path, names: list[str]) -> tuple[dict[str, Any], int]:
        """The same for those that keep means: the convention, and the classes in means."""
        found, used = Saved._settings_in(words, path)
        end = used + 1 + found["classes"]
        chosen = np.flatnonzero(words[used + 1 : end]).tolist()
        if words.size < end or words[used] >= len(names) or not chosen:
            raise impossible(path)
        found["absent"] = names[int(words[used])]
        found["class_list"] = None if len(chosen) == found["classes"] else chosen
        return found, end

    def _set_words(self, words: Words) -> None:
        arguments = {self._argument: self._handle, "words": words, "count": words.size}
        with self._handle.lock:
            call(f"{self._kind}_set_words", **arguments)
