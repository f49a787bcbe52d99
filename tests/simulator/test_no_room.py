"""What is said where no temporary file can grow: tried with a limit on the size of files."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
import pytest

from simulator import keyrecords, longcolumns
from simulator.keyrecords import RECORD, KeyRecords
from simulator.longcolumns import LongColumn, full_apart, zeros_apart
from traces import heldrows
from traces.errors import SimtoolError
from traces.heldrows import HeldRows

_FILE_BYTES = 4096
_FITS = _FILE_BYTES // RECORD.itemsize


class _Row(msgspec.Struct, array_like=True):
    text: str


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A disk on which files end after some bytes, and limits from which on files are used at once."""
    monkeypatch.setattr(heldrows, "_HELD_BYTES", 1)
    monkeypatch.setattr(longcolumns, "IN_MEMORY_BYTES", 1)
    monkeypatch.setattr(keyrecords, "_IN_MEMORY", 1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _rows_that_wait() -> None:
    HeldRows(_Row, 0).extend([_Row("x" * _FILE_BYTES)] * 2000)


def _a_column_that_grows() -> None:
    column = LongColumn(np.float64)
    for _ in range(2):
        column.append(np.ones(_FILE_BYTES // 12))


def _keys_at_once() -> None:
    KeyRecords().append(np.zeros(_FITS + 1, RECORD))


def _keys_one_chunk_after_the_other() -> None:
    records = KeyRecords()
    for _ in range(2):
        records.append(np.zeros(_FITS, RECORD))


@pytest.mark.parametrize(
    "write",
    [
        _rows_that_wait,
        _a_column_that_grows,
        _keys_at_once,
        _keys_one_chunk_after_the_other,
        lambda: zeros_apart(_FILE_BYTES, {"time_s": np.float64}),
        lambda: full_apart(_FILE_BYTES, np.nan, np.float64),
    ],
)
@pytest.mark.usefixtures("full_disk")
def test_no_room_is_an_error_that_says_what_to_do(write: Callable[[], object]) -> None:
    with pytest.raises(SimtoolError, match=r"File too large.*set TMPDIR"):
        write()


@pytest.mark.usefixtures("full_disk")
def test_what_fits_is_kept() -> None:
    records = KeyRecords()
    wanted = np.zeros(_FITS, RECORD)
    wanted["place"] = np.arange(_FITS)
    records.append(wanted)
    assert [chunk.tolist() for chunk in records.chunks()] == [wanted.tolist()]
