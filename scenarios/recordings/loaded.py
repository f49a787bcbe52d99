"""A recording read and tagged once, which any number of questions with the same needs can share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scenarios.options.read import ReadOptions
from scenarios.recordings.recording import Look, Progress, Recording, load_workload, open_recording
from simulator.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a question needs of a recording: questions with equal readings can share one workload."""

    read: ReadOptions
    block_size: int
    """Tokens of a KV block."""
    every_prompt_twice: bool
    """Whether turns may be drawn again."""
    keep_ids: bool
    """Whether a drafter is run on the recorded token ids."""
    keep_forced: bool = False
    """Whether it must be known which tokens are forced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A recording with its workload; neither is changed by the questions that share it."""

    recording: Recording
    workload: Workload

    def own_recording(self) -> Recording:
        """The recording with assumptions of its own, which a question may add to."""
        return replace(self.recording, assumptions=dict(self.recording.assumptions))


def load(
    paths: Sequence[str], reading: Reading, *, progress: Progress | None = None, look: Look | None = None
) -> Loaded:
    """Read and tag the recordings at *paths*; *look* sees their text as it is read.

    Raises TraceError or SimtoolError for recordings that cannot be used.
    """
    recording = open_recording(paths, reading.read, progress)
    workload = load_workload(
        recording,
        reading.read,
        block_size=reading.block_size,
        every_prompt_twice=reading.every_prompt_twice,
        keep_ids=reading.keep_ids,
        keep_forced=reading.keep_forced,
        progress=progress,
        look=look,
    )
    return Loaded(recording=recording, workload=workload)
