"""The folder of a sweep: its definition, a file for each finished run, and the results made of them.

    DIR/sweep.json               the definition
    DIR/points/KEY.json          a finished run; KEY.parquet beside it holds its attempts
    DIR/results.parquet          all runs as one table
    DIR/summary.json             what they say

Every file appears whole or not at all, and KEY.json after KEY.parquet, so that an interruption at any moment leaves
finished runs and nothing else.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.jsonbytes import json_bytes
from scenarios.options.replay import OptionError
from scenarios.sweep.definition import Definition
from scenarios.sweep.work import Failure, Kept, Worked
from traces.atomic import whole_file
from traces.errors import SimtoolError

DEFINITION = "sweep.json"
POINTS = "points"
RESULTS = "results.parquet"
SUMMARY = "summary.json"
ASSUMPTIONS = "assumptions"
_WORK = ".work"


class Store:
    """The folder, opened for one definition."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._points = folder / POINTS
        self._known: dict[str, Kept] = {}

    def open(self, definition: Definition, *, force: bool) -> None:
        """Make the folder this sweep's; what finished of the same one before is taken over.

        Raises OptionError if it holds another sweep, or other results, and *force* is not set; then they are removed.
        """
        if force:
            self._remove()
        else:
            self._check(definition)
        try:
            self._points.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.folder / _WORK, ignore_errors=True)
        except OSError as error:
            raise SimtoolError(f"cannot make --output-dir {self.folder}: {error.strerror or error}") from error
        _write(self.folder / DEFINITION, definition)

    def work_folder(self) -> Path:
        """An empty folder for files of this run."""
        folder = self.folder / _WORK
        folder.mkdir(exist_ok=True)
        return folder

    def close(self) -> None:
        """Remove the files of this run, and all of them if nothing is finished, so that the folder is free again."""
        shutil.rmtree(self.folder / _WORK, ignore_errors=True)
        if not any(self._points.iterdir()):
            self._remove()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def kept(self, key: str) -> Kept | None:
        """What is kept of the run *key*; None if it is still to be done.

        So is one whose failure may have been bad luck, and one whose file is damaged.
        """
        if key in self._known:
            return self._known[key]
        try:
            found = msgspec.json.decode((self._points / f"{key}.json").read_bytes(), type=Kept)
            size = self._table(key).stat().st_size if found.attempts_bytes else 0
        except (OSError, msgspec.DecodeError):
            return None
        if size != found.attempts_bytes or found.failure in (Failure.DIED, Failure.ERROR):
            return None
        self._known[key] = found
        return found

    def keep(self, key: str, worked: Worked) -> Kept:
        """Write the result of the run *key*."""
        if worked.attempts:
            with whole_file(self._table(key)) as partial:
                partial.write_bytes(worked.attempts)
        _write(self._points / f"{key}.json", worked.kept)
        self._known[key] = worked.kept
        return worked.kept

    def attempts(self, key: str) -> pa.Table:
        """The attempts of the run *key*."""
        return pq.read_table(self._table(key), use_threads=False)

    def write_results(self, table: pa.Table, summary: Any) -> None:
        """Write the table of all runs and the summary, which goes last and says what stands in the table."""
        (self.folder / SUMMARY).unlink(missing_ok=True)
        with whole_file(self.folder / RESULTS) as partial:
            pq.write_table(table, partial, compression="zstd")
        _write(self.folder / SUMMARY, summary)

    def _table(self, key: str) -> Path:
        return self._points / f"{key}.parquet"

    def _check(self, definition: Definition) -> None:
        path = self.folder / DEFINITION
        if path.exists():
            try:
                held = msgspec.json.decode(path.read_bytes(), type=Definition)
            except (OSError, msgspec.DecodeError):
                raise OptionError(f"{path} is no definition of a sweep: add --force to replace it") from None
            differing = held.differs_from(definition)
            if differing:
                raise OptionError(
                    f"--output-dir {self.folder} holds another sweep, with other {', '.join(differing)}: "
                    "give another folder, or --force to replace it"
                )
            return
        for name in (SUMMARY, RESULTS, POINTS):
            if (self.folder / name).exists():
                raise OptionError(f"--output-dir {self.folder} already holds {name}: add --force to overwrite it")

    def _remove(self) -> None:
        for name in (SUMMARY, RESULTS, DEFINITION):
            (self.folder / name).unlink(missing_ok=True)
        for name in (POINTS, ASSUMPTIONS, _WORK):
            shutil.rmtree(self.folder / name, ignore_errors=True)


def run_key(values: Mapping[str, Any], digests: Mapping[str, str], trace_sha256: str, code: str) -> str:
    """Names what the result of a run depends on: options, contents of the files they name, recording, program."""
    named = {key: digests.get(value, value) if isinstance(value, str) else value for key, value in values.items()}
    text = msgspec.json.encode([named, trace_sha256, code], order="sorted")
    return hashlib.sha256(text).hexdigest()[:32]


def _write(path: Path, document: Any) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(json_bytes(document))
