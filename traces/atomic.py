"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
