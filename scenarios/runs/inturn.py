"""Several replays of the same requests, one after the other, watched as if they were one."""

from __future__ import annotations

from simulator.replay import Watch


class InTurn:
    """Gives each of a number of *replays* its share of *watch*."""

    def __init__(self, watch: Watch | None, replays: int) -> None:
        self._watch = watch
        self._replays = replays
        self._before = 0

    def next(self) -> Watch | None:
        """The watch of the next replay; None where nobody watches."""
        watch, replays, before = self._watch, self._replays, self._before
        self._before += 1
        if watch is None:
            return None
        return lambda ended, of: watch(before * of + ended, replays * of)
