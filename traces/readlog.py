"""What a reader is asked and has to say beside its sessions: what to read, omissions, duplicates, assumptions."""

from __future__ import annotations

from collections import Counter

from traces.errors import TraceError


class ReadLog:
    """Collects what was left out or assumed while reading.

    With *skip_invalid*, unusable records are counted by reason; without it the first one raises. With
    *simulated_users*, the calls of models that play an agent's user are read too, as sessions of their own.
    """

    def __init__(self, *, skip_invalid: bool = False, simulated_users: bool = False) -> None:
        self.skip_invalid = skip_invalid
        self.simulated_users = simulated_users
        self.omitted: Counter[str] = Counter()
        self.duplicates: Counter[str] = Counter()
        self.assumptions: dict[str, int] = {}
        self.formats: Counter[str] = Counter()
        """Files read as each format."""
        self._cut: set[str] = set()

    def invalid(self, path: str, line: int | None, reason: str, mend: str = "", *, kind: str = "") -> None:
        """Count an unusable record under *kind* (default: *reason*), or raise TraceError."""
        if not self.skip_invalid:
            hint = mend or "mend the record, or leave it out with --skip-invalid"
            raise TraceError(path, line, reason, hint)
        self.omitted[kind or reason] += 1

    def cut(self, path: str) -> None:
        """Count a file whose end cannot be decompressed, however often it is read."""
        if path not in self._cut:
            self._cut.add(path)
            self.omitted["end of a compressed file that cannot be decompressed"] += 1

    def omit(self, kind: str, count: int = 1) -> None:
        """Count records that are left out by design (telemetry, simulated users), whatever the mode."""
        self.omitted[kind] += count

    def duplicate(self, kind: str, count: int = 1) -> None:
        """Count records that repeat one already read."""
        self.duplicates[kind] += count

    def assume(self, text: str, count: int = 1) -> None:
        """Note an assumption made for *count* records; equal texts add up."""
        self.assumptions[text] = self.assumptions.get(text, 0) + count
