"""One ServeGen client: windows of the arrival process, histograms of the lengths, and draws from both."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xxhash
from numpy.typing import NDArray

from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.records import as_dict, as_text, document
from traces.source import SourceFile

Floats = NDArray[np.float64]

_WINDOW_CELLS = 6
_DEFAULT_WINDOW_S = 600.0
_MAX_PER_WINDOW = 10_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """Arrivals from *start_s* for *length_s*: *rate* requests/s, gaps of *family* with *shape*."""

    start_s: float
    length_s: float
    rate: float
    family: str
    shape: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Values and their probabilities, summing to one."""

    values: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Lengths:
    """Histograms of a window; *reasoning*: share of the output that is reasoning."""

    input: Histogram
    output: Histogram
    reasoning: Histogram | None


@dataclass(frozen=True, slots=True)
class Client:
    """A client's windows and histograms, both by time."""

    name: str
    windows: tuple[Window, ...]
    lengths: tuple[Lengths | None, ...]
    starts: tuple[float, ...]

    def lengths_at(self, time_s: float) -> Lengths | None:
        """The histograms in force at *time_s*; None where the recording has an empty one."""
        index = bisect_right(self.starts, time_s) - 1
        return self.lengths[index] if index >= 0 else None


def windows_of(file: SourceFile, log: ReadLog) -> tuple[Window, ...]:
    """The windows with arrivals; each lasts until the next one starts."""
    found: list[tuple[float, float, str, float]] = []
    for number, line in file.lines():
        window = _window(line)
        if window is None:
            log.invalid(file.name, number, "no window of start, rate, CV, family and two parameters")
        else:
            found.append(window)
    found.sort()
    starts = [start for start, *_ in found]
    gaps = [later - start for start, later in pairwise(starts)]
    gaps.append(gaps[-1] if gaps else _DEFAULT_WINDOW_S)
    return tuple(
        Window(start, gap, rate, family, shape)
        for (start, rate, family, shape), gap in zip(found, gaps, strict=True)
        if rate > 0
    )


def client_of(name: str, rates: SourceFile, lengths: SourceFile, log: ReadLog) -> Client:
    """The client recorded in a rate table and a histogram file. Raises TraceError for unusable content."""
    histograms = sorted(_lengths_of(lengths, log), key=lambda pair: pair[0])
    return Client(
        name=name,
        windows=windows_of(rates, log),
        lengths=tuple(value for _, value in histograms),
        starts=tuple(start for start, _ in histograms),
    )


def generator(name: str, start_s: float) -> np.random.Generator:
    """The random stream of one window of one client."""
    return np.random.default_rng(xxhash.xxh3_64_intdigest(f"{name}@{start_s!r}".encode()))


def arrivals(window: Window, rng: np.random.Generator) -> Floats:
    """Times of the window's requests in seconds.

    Gaps have mean 1/rate whatever the family's own scale; the first one starts at the window's start.
    """
    expected = min(_MAX_PER_WINDOW, window.rate * window.length_s)
    times = np.empty(0)
    last = 0.0
    while last < window.length_s and times.size < _MAX_PER_WINDOW:
        gaps = _gaps(window, rng, int(expected + 4 * math.sqrt(expected)) + 16)
        more = last + np.cumsum(gaps)
        times = np.concatenate([times, more])
        last = float(more[-1])
    return window.start_s + times[times < window.length_s]


def pick(histogram: Histogram, rng: np.random.Generator, size: int) -> Floats:
    """*size* independent draws."""
    return rng.choice(histogram.values, size=size, p=histogram.weights)


def _gaps(window: Window, rng: np.random.Generator, size: int) -> Floats:
    mean_s = 1.0 / window.rate
    if window.family == "gamma":
        return rng.gamma(window.shape, mean_s / window.shape, size)
    if window.family == "weibull":
        return rng.weibull(window.shape, size) * (mean_s / math.gamma(1 + 1 / window.shape))
    return rng.exponential(mean_s, size)


def _window(line: bytes) -> tuple[float, float, str, float] | None:
    cells = line.decode(errors="replace").split(",")
    if len(cells) != _WINDOW_CELLS:
        return None
    family = cells[3].strip().lower()
    try:
        start, rate, shape = float(cells[0]), float(cells[1]), float(cells[4])
    except ValueError:
        return None
    sound = all(map(math.isfinite, (start, rate, shape))) and start >= 0 and rate >= 0
    if not sound or (rate > 0 and family in ("gamma", "weibull") and shape < 0.01):
        return None
    return start, rate, family, shape


def _lengths_of(file: SourceFile, log: ReadLog) -> list[tuple[float, Lengths | None]]:
    found: list[tuple[float, Lengths | None]] = []
    try:
        windows = as_dict(document(file))
    except TraceError as error:
        log.invalid(file.name, error.line, error.reason, error.mend, kind="file that is not valid JSON")
        return found
    for key, value in windows.items():
        try:
            start_s = float(key)
        except ValueError:
            log.invalid(file.name, None, f"window {key!r} is no time in seconds", kind="window without a time")
            continue
        window = as_dict(value)
        try:
            parts = [_histogram(window.get(name)) for name in ("input_tokens", "output_tokens", "reason_ratio")]
        except ValueError as error:
            log.invalid(file.name, None, f"window {key!r}: {error}", kind="window with an unreadable histogram")
            continue
        inputs, outputs, reasoning = parts
        if inputs is None or outputs is None:
            found.append((start_s, None))
        else:
            found.append((start_s, Lengths(inputs, outputs, reasoning)))
    return found


def _histogram(value: object) -> Histogram | None:
    """The histogram in a text like ``{45: 0.25, 46: 0.75}``; None if empty. Raises ValueError if it is none."""
    text = (as_text(value) or "").strip()
    if text.removeprefix("{").removesuffix("}").strip() == "":
        return None
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("the histogram is no text in braces")
    pairs = [item.partition(":") for item in text[1:-1].split(",") if item.strip()]
    values = np.array([float(left) for left, _, _ in pairs])
    weights = np.array([float(right) for _, _, right in pairs])
    total = float(weights.sum())
    if not np.isfinite(values).all() or not math.isfinite(total) or (weights < 0).any():
        raise ValueError("the histogram holds a number that is not finite or a negative weight")
    return Histogram(values, weights / total) if total > 0 else None
