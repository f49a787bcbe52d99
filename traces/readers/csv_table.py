"""Plain CSV of requests: columns found by their usual names, or named by the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from traces.choice import hint
from traces.errors import SimtoolError
from traces.model import Session
from traces.readers.length_table import ROLES, Columns, read_table
from traces.readlog import ReadLog
from traces.source import SourceFile
from traces.tables import header_of, no_column, normal

_INPUT = ("input", "prompt", "context", "request", "num_prefill", "prefill", "num_input", "num_prompt")
_OUTPUT = ("output", "completion", "generated", "response", "num_decode", "decode", "num_output", "generation")
_MEASURES = ("tokens", "length", "len", "toks", "token_count", "size", "seq_len")
_UNITS = ("", "_s", "_ms", "_us", "_ns")
_ARRIVALS = (
    "arrival",
    "arrived_at",
    "arrival_time",
    "arrival_timestamp",
    "timestamp",
    "ts",
    "time",
    "sent_at",
    "created_time",
    "created_at",
    "request_time",
    "start_time",
    "start",
)

ALIASES: dict[str, tuple[str, ...]] = {
    "arrival": tuple(name + unit for name in _ARRIVALS for unit in _UNITS),
    "input": (*(f"{name}_{measure}" for measure in _MEASURES for name in _INPUT), "isl", "input", "prompt"),
    "output": (*(f"{name}_{measure}" for measure in _MEASURES for name in _OUTPUT), "osl", "output", "completion"),
    "model": ("model", "model_name", "model_id"),
    "session": ("session_id", "session", "conversation_id", "conversation", "chat_id"),
    "elapsed": tuple(n + u for n in ("elapsed", "elapsed_time", "latency", "duration", "e2e_latency") for u in _UNITS),
}
"""Normalised column names recognised for each role, the preferred first."""


class CsvReader:
    """Reads any table with a column of input and one of output tokens.

    *column_map* gives columns to roles by the user's choice (`ROLES`); it goes before the usual names.
    """

    name = "csv"
    title = "CSV of requests with columns for arrival, input and output tokens"

    def __init__(self, column_map: Mapping[str, str] | None = None) -> None:
        self.column_map = dict(column_map or {})

    def configured(self, detail: str) -> CsvReader:
        """This reader with columns named as in ``arrival=When,input=Size``. Raises SimtoolError for anything else."""
        column_map = {}
        for part in detail.split(","):
            role, equals, column = part.partition("=")
            if not equals or not column.strip():
                raise SimtoolError(f"--format csv:{detail}: {part!r} is not ROLE=COLUMN (roles: {', '.join(ROLES)})")
            column_map[role.strip()] = column
        _check_roles(column_map)
        return CsvReader(column_map)

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from the header row."""
        names = header_of(head)
        given = {normal(name) for name in self.column_map.values()}
        if given and given <= set(names):
            return 0.99
        return 0.5 if _found("input", names) and _found("output", names) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session a row, or one a value of the session column.

        Raises SimtoolError for an unknown role in the column map, TraceError for a missing column.
        """
        _check_roles(self.column_map)
        for file in files:
            yield from read_table(file, self._columns(file), log)

    def _columns(self, file: SourceFile) -> Columns:
        names = header_of(file.head())
        chosen: dict[str, str | None] = {}
        for role in ROLES:
            given = self.column_map.get(role)
            if given is None:
                chosen[role] = _found(role, names)
            elif normal(given) in names:
                chosen[role] = normal(given)
            else:
                raise no_column(file, f"{role}, {given!r}", names)
        return Columns(**chosen)


READER = CsvReader()


def _found(role: str, names: tuple[str, ...]) -> str | None:
    return next((alias for alias in ALIASES[role] if alias in names), None)


def _check_roles(column_map: Mapping[str, str]) -> None:
    for role in column_map:
        if role not in ROLES:
            raise SimtoolError(
                f"--format csv: {role!r} is no role of a column{hint(role, ROLES)} (known: {', '.join(ROLES)})"
            )
