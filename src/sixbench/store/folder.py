"""Directories that are held open, and files in them that are whole or not there.

A run directory may come from anyone, and others may be able to write in it. Everything in it is therefore
reached from its descriptor, by a name of one component. Links are never followed. Only regular files are read, and only
up to a limit. A directory that is renamed meanwhile is still the same directory.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import weakref
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from ..model.errors import StoreError, UsageError, WriteError
from ..model.files import open_regular
from ..model.quoting import printable, shown_path

PARTIAL_SUFFIX = ".partial"
MAX_NAME_BYTES = 255
"""NAME_MAX of Linux (limits.h)."""
MAX_FILE_BYTES = 2**30
"""The largest file of a run. A trial's record has some kilobytes, and its packets have some megabytes."""

_LEAST_ROOM_BYTES = 2**16
"""For a file that grows meanwhile, as the journal of a run does."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
"""The kinds of files of Linux (inode(7))."""
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Folder:
    """A directory, held open for as long as this lives.

    Attributes:
        path: where it was when it was opened, for messages.
        descriptor: its file descriptor.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self.close = weakref.finalize(self, os.close, descriptor)
        """Closes it. The end of this object closes it too."""

    @classmethod
    def open(cls, path: Path, *, follow_links: bool = True) -> Folder:
        """Opens a directory where the user says it is. Raises `OSError`.

        Args:
            follow_links: whether the last component of the path may be a symbolic link. Those before it may be links.
        """
        try:
            return cls(path, os.open(path, _DIRECTORY | (0 if follow_links else os.O_NOFOLLOW)))
        except OSError:
            if not follow_links and path.is_symlink():
                raise OSError(errno.ELOOP, "it is a symbolic link; name the directory itself") from None
            raise

    def reopened(self) -> Folder:
        """The same directory, opened once more: it is locked and closed by itself. Raises `OSError`."""
        return Folder(self.path, os.open(".", _DIRECTORY, dir_fd=self.descriptor))

    def folder(self, name: str) -> Folder:
        """Opens a directory in it, which must not be a link. Raises `StoreError`."""
        try:
            descriptor = os.open(component(name), _DIRECTORY | os.O_NOFOLLOW, dir_fd=self.descriptor)
            return Folder(self.path / name, descriptor)
        except OSError as error:
            raise StoreError(f"opening {self._shown(name)}: {error.strerror}") from error

    def read_in(self, folder: str, name: str, most_bytes: int = MAX_FILE_BYTES) -> bytes:
        """The content of a regular file in a directory in it, as `folder` and `read` give it. A run has such a
        directory for each trial, so none is kept open. Raises `StoreError`."""
        try:
            descriptor = os.open(component(folder), _DIRECTORY | os.O_NOFOLLOW, dir_fd=self.descriptor)
        except OSError as error:
            raise StoreError(f"opening {self._shown(folder)}: {error.strerror}") from error
        try:
            return _content(descriptor, most_bytes, self.path, folder, name)
        finally:
            os.close(descriptor)

    def make_folder(self, name: str) -> Folder:
        """Makes a directory in it. Raises `OSError`."""
        os.mkdir(component(name), dir_fd=self.descriptor)
        return self.folder(name)

    def lock(self, taken: str) -> None:
        """Keeps others from locking it for as long as it is open. Raises `UsageError` with these words where another
        process has locked it, `WriteError` where it cannot be locked."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                raise UsageError(taken) from error
            raise WriteError(f"locking {self.path}: {error.strerror}") from error

    @property
    def identity(self) -> tuple[int, int]:
        """Its device and inode, which stay when it is renamed."""
        here = os.fstat(self.descriptor)
        return here.st_dev, here.st_ino

    @property
    def current_path(self) -> Path:
        """Its path now. That is the path it was opened by, unless it has been renamed since."""
        if not self.close.alive:
            return self.path
        try:
            there = os.stat(self.path)
        except OSError:
            there = None
        here = os.fstat(self.descriptor)
        if there is not None and (there.st_dev, there.st_ino) == self.identity:
            return self.path
        # For a removed directory the kernel gives the former name and "(deleted)".
        return Path(os.readlink(f"/proc/self/fd/{self.descriptor}")) if here.st_nlink else self.path

    def names(self) -> list[str]:
        with os.scandir(self.descriptor) as entries:
            return sorted(entry.name for entry in entries)

    def has(self, name: str) -> bool:
        """True if there is anything of that name."""
        try:
            os.stat(component(name), dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return False
        return True

    def has_file(self, name: str) -> bool:
        """True if there is a regular file of that name."""
        return stat.S_ISREG(self._mode(name) or 0)

    def kind(self, name: str) -> str | None:
        """The kind of the entry with this name, in words such as `a file` and `a FIFO`; None where nothing has. Raises
        `OSError`."""
        mode = self._mode(name)
        return None if mode is None else _KINDS[stat.S_IFMT(mode)]

    def _mode(self, name: str) -> int | None:
        """Type and permissions of what has this name; None where nothing has. Raises `OSError`."""
        try:
            return os.stat(component(name), dir_fd=self.descriptor, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    def read(self, name: str, most_bytes: int = MAX_FILE_BYTES) -> bytes:
        """The content of a regular file in it. Raises `StoreError` if it cannot be read, is another kind of file, or is
        larger."""
        return _content(self.descriptor, most_bytes, self.path, name)

    def write(self, name: str, content: str | bytes) -> None:
        """Writes a file beside, flushes it to the disk, renames it into place. Raises `WriteError`, and then nothing is
        left behind. A file that has this name already is replaced. A link is replaced by the file, and what it names
        stays."""
        with self.replacing(name) as file:
            file.write(encoded(content))

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """A file to write, which gets its name as in `write` when the context ends, and is removed where an exception
        ends it. Raises `WriteError`, also where writing to it fails."""
        partial = component(name) + PARTIAL_SUFFIX
        try:
            self._remove(partial)
            with self._new(partial) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.rename(partial, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
            os.fsync(self.descriptor)
        except BaseException as error:
            self._try_to_remove(partial)
            # A file has no reader that can leave, so a broken pipe comes from another output of the caller.
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise WriteError(f"writing {self._shown(name)}: {error.strerror or error}") from error
            raise

    def open_to_append(self, name: str, helps: str = "; remove it") -> int:
        """The descriptor of a file to whose end is written, and which can be read. It is made where there is none.
        Raises `WriteError` where it cannot be written, is no regular file, or has another name as well: what is there
        would change too.

        Args:
            helps: advice about an entry of that name that is not written to. Only names of ours are removed.
        """
        # Without O_NONBLOCK, opening a FIFO waits for whoever reads from it.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(component(name), flags, 0o666, dir_fd=self.descriptor)
        except OSError as error:
            raise WriteError(f"writing {self._shown(name)}: {error.strerror or error}") from error
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_nlink <= 1:
            return descriptor
        os.close(descriptor)
        what = "it has another name, too" if stat.S_ISREG(status.st_mode) else "it is not a regular file"
        raise WriteError(f"writing {self._shown(name)}: {what}{helps}")

    def open_to_write_through(self, name: str) -> int:
        """The descriptor of a FIFO or a character device. As everywhere, opening a FIFO waits for its reader. Raises
        `OSError`."""
        descriptor = os.open(component(name), os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.descriptor)
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it was replaced meanwhile")
        return descriptor

    def create(self, name: str, content: str, mode: int = 0o666) -> None:
        """Writes a file that must not be there yet. Raises `FileExistsError` where there is anything of that name, and
        `WriteError`, and then nothing is left behind."""
        try:
            file = self._new(component(name), mode)
        except FileExistsError:
            raise
        except OSError as error:
            raise WriteError(f"writing {self._shown(name)}: {error.strerror or error}") from error
        try:
            with file:
                file.write(encoded(content))
                file.flush()
                os.fsync(file.fileno())
        except BaseException as error:
            self._try_to_remove(name)
            if isinstance(error, OSError):
                raise WriteError(f"writing {self._shown(name)}: {error.strerror or error}") from error
            raise

    def write_folder(self, name: str, files: Mapping[str, bytes], also: Collection[int] = ()) -> None:
        """Makes a directory of these files beside, flushes it, renames it into place. Raises `WriteError`, and then
        nothing is left behind. What is there already is never replaced: what is written is immutable.

        Args:
            also: descriptors of other files, which are flushed before the directory gets its name.
        """
        with self._new_folder(name) as result, contextlib.ExitStack() as written:
            new = [written.enter_context(result._new(component(file))) for file in files]
            for file, content in zip(new, files.values(), strict=True):
                file.write(content)
                file.flush()
            _flush([*(file.fileno() for file in new), result.descriptor, *also])

    def write_folders(self, name: str, folders: Mapping[str, Mapping[str, bytes]]) -> None:
        """Makes a directory of such directories, as `write_folder` makes one: all of them are there, or none is. Raises
        `WriteError`."""
        with self._new_folder(name) as result:
            for folder, files in folders.items():
                result.write_folder(folder, files)

    @contextlib.contextmanager
    def _new_folder(self, name: str) -> Iterator[Folder]:
        """A directory to fill, which gets its name when the context ends, and is removed where that fails."""
        partial = component(name) + PARTIAL_SUFFIX
        try:
            self._remove(partial)
            yield self.make_folder(partial)
            if self.has(name):
                raise FileExistsError(0, "it already exists")
            os.rename(partial, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
            os.fsync(self.descriptor)
        except OSError as error:
            self._try_to_remove(partial)
            raise WriteError(f"writing {self._shown(name)}: {error.strerror or error}") from error
        except WriteError:
            self._try_to_remove(partial)
            raise

    def move(self, name: str, to: Folder) -> None:
        """Moves what has this name into another directory of the file system. What is there already is never replaced.
        Raises `WriteError`."""
        try:
            if to.has(name):
                raise FileExistsError(0, "it already exists")
            os.rename(component(name), name, src_dir_fd=self.descriptor, dst_dir_fd=to.descriptor)
            os.fsync(to.descriptor)
        except OSError as error:
            raise WriteError(f"moving {self._shown(name)} to {to.path}: {error.strerror or error}") from error

    def remove_empty(self, name: str) -> None:
        """Removes a directory in it that has nothing. Raises `OSError`."""
        os.rmdir(component(name), dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Removes a file, a link or a directory with all that is in it, if there is one. Raises `WriteError`."""
        try:
            self._remove(component(name))
        except OSError as error:
            raise WriteError(f"removing {self._shown(name)}: {error.strerror}") from error

    def others_who_may_write(self) -> str | None:
        """Others who may change its content, in words. None: only this user and root."""
        status = os.fstat(self.descriptor)
        if status.st_uid not in (os.geteuid(), 0):
            return f"it belongs to the user {status.st_uid}"
        return "others may write in it" if status.st_mode & _OTHERS_MAY_WRITE else None

    def _new(self, name: str, mode: int = 0o666) -> BinaryIO:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(name, flags, mode, dir_fd=self.descriptor), "wb")

    def _remove(self, name: str) -> None:
        try:
            status = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(name, dir_fd=self.descriptor)
            return
        descriptor = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=self.descriptor)
        inside = Folder(self.path / name, descriptor)
        for text in inside.names():
            inside._remove(text)
        inside.close()
        os.rmdir(name, dir_fd=self.descriptor)

    def _try_to_remove(self, name: str) -> None:
        """After a failure: where it cannot be removed either, as on a file system that became read-only, it stays."""
        try:
            self._remove(name)
        except OSError:
            return

    def _shown(self, name: str) -> str:
        return shown_path(self.path / name)


def _content(folder: int, most_bytes: int, path: Path, *names: str) -> bytes:
    """The content of a regular file, as `Folder.read` gives it.

    Args:
        folder: descriptor of the directory that it is in.
        path: a directory above it, for messages.
        names: the way from there; the last is the file's.
    """
    try:
        with open_regular(component(names[-1]), in_folder=folder, follow_links=False) as file:
            # Python allocates as many bytes as are requested, so no more are requested than the file may have.
            there = max(_LEAST_ROOM_BYTES, os.fstat(file.fileno()).st_size)
            content = file.read(min(most_bytes, there) + 1)
    except OSError as error:
        raise StoreError(f"reading {shown_path(path.joinpath(*names))}: {error.strerror}") from error
    if len(content) > most_bytes:
        where = shown_path(path.joinpath(*names))
        raise StoreError(f"{where} has more than {most_bytes} bytes; no file of a run is that large")
    return content


def _flush(descriptors: Collection[int]) -> None:
    """Flushes files and directories, all at once: a file system with a journal then writes that once or twice, and not
    once for each. Raises `OSError`."""
    with ThreadPoolExecutor(len(descriptors), thread_name_prefix="flush") as pool:
        for done in [pool.submit(os.fsync, descriptor) for descriptor in descriptors]:
            done.result()


def encoded(content: str | bytes) -> bytes:
    """Text as UTF-8. A byte of a file's name that is no UTF-8 is escaped in it."""
    return content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content


def folders_in(folder: Folder) -> Iterator[str]:
    """The names of the directories in it that are whole, in order; links are none."""
    for name in folder.names():
        status = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode) and not name.endswith(PARTIAL_SUFFIX):
            yield name


def component(name: str) -> str:
    """A name of one component. Raises `StoreError` on any other."""
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > MAX_NAME_BYTES:
        raise StoreError(f'"{printable(name)[:80]}" is not the name of a file in a directory')
    return name
