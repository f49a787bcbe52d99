"""Files that appear whole or not at all, alone or as a set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from traces.errors import SimtoolError


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a temporary path beside *target* to write to; it becomes *target* when the block ends well.

    On an error or an interruption the temporary file is removed and *target* stays what it was. Raises
    SimtoolError when the folder cannot be written to.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        reason = error.strerror or error
        raise SimtoolError(f"cannot write {target}: {reason} (check the folder and its space)") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_set(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Give a temporary folder to write files *names* to; when the block ends well they take their places in *folder*.

    They do so in the order of *names*; those that were not written are removed from *folder*. On an error or an
    interruption before that *folder* stays what it was; one that comes while files move waits until all have. Raises
    SimtoolError when the folder cannot be written to.
    """
    made = not folder.exists()
    temporary = folder / f".{os.getpid()}.part"
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        yield temporary
        written = [name for name in names if (temporary / name).exists()]
        try:
            _place(temporary, folder, names, written)
        except KeyboardInterrupt:
            _place(temporary, folder, names, written)
            raise
        made = False
    except OSError as error:
        reason = error.strerror or error
        raise SimtoolError(f"cannot write to {folder}: {reason} (check the folder and its space)") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if made and folder.exists() and not any(folder.iterdir()):
            folder.rmdir()


def _place(temporary: Path, folder: Path, names: Sequence[str], written: Sequence[str]) -> None:
    """Move what was written and is not moved yet; the last of *names* stands only beside all others."""
    if (temporary / names[-1]).exists():
        (folder / names[-1]).unlink(missing_ok=True)
    for name in names:
        if name not in written:
            (folder / name).unlink(missing_ok=True)
        elif (temporary / name).exists():
            (temporary / name).replace(folder / name)
