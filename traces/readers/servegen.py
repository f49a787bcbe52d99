"""ServeGen clients: request rates over time (CSV) and length histograms (JSON), from which requests are drawn.

The recording holds no single request. Per window of the rate table, gaps are drawn from the recorded family
(Gamma, Weibull or Poisson) with the recorded shape, scaled so that the mean gap is 1/rate; input and output
lengths are drawn independently from the histograms in force. The seed is the client's name, so equal files
give equal requests. Where the share of reasoning in the output is recorded, it is drawn as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

import numpy as np

from traces.lengths import length_turn, single, usable_lengths
from traces.model import LengthPrompt, OpaqueBlock, Session, Times
from traces.readers.servegen_client import Client, arrivals, client_of, generator, pick
from traces.readlog import ReadLog
from traces.records import as_text, head_objects
from traces.source import SourceFile

_RATES = "-trace.csv"
_LENGTHS = "-dataset.json"
_WINDOW_CELLS = 6


class ServeGenReader:
    """Reads pairs of NAME-trace.csv and NAME-dataset.json."""

    name = "servegen"
    title = "ServeGen client rates (CSV) with their length histograms (JSON); requests are drawn from them"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """Confidence from a window of six cells without a header, or from histograms written as strings."""
        cells = head.partition(b"\n")[0].strip().split(b",")
        if len(cells) == _WINDOW_CELLS and _is_window(cells):
            return 0.9
        for document in head_objects(head)[:1]:
            for window in document.values():
                if not isinstance(window, dict):
                    return 0.0
                texts = (as_text(window.get(key)) for key in ("input_tokens", "output_tokens"))
                return 0.9 if all(text is not None and text.startswith("{") for text in texts) else 0.0
        return 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session a drawn request; nothing is drawn for a client that lacks one of its files."""
        rates = {_client_name(file, _RATES): file for file in files if file.suffix == ".csv"}
        lengths = {_client_name(file, _LENGTHS): file for file in files if file.suffix != ".csv"}
        pairs = sorted(rates.keys() & lengths.keys())
        lone = sorted(rates.keys() ^ lengths.keys())
        if not pairs:
            reason = "ServeGen rates without length histograms, or the reverse, hold no request"
            log.invalid(files[0].name, None, reason, f"give both NAME{_RATES} and NAME{_LENGTHS} of a client")
            return
        if lone:
            log.omit("ServeGen file without the other one of its client", len(lone))
        log.assume("ServeGen records rates and histograms: requests are drawn from them", len(pairs))
        for name in pairs:
            yield from _requests(client_of(name, rates[name], lengths[name], log), log)


READER = ServeGenReader()


def _is_window(cells: list[bytes]) -> bool:
    numbers = [*cells[:3], *cells[4:]]
    try:
        return all(float(cell) >= 0 for cell in numbers) and not cells[3].strip(b" ").isdigit()
    except ValueError:
        return False


def _client_name(file: SourceFile, ending: str) -> str:
    return PurePath(file.name).name.removesuffix(ending)


def _requests(client: Client, log: ReadLog) -> Iterator[Session]:
    number = 0
    for window in client.windows:
        rng = generator(client.name, window.start_s)
        sent = arrivals(window, rng)
        lengths = client.lengths_at(window.start_s)
        if sent.size and lengths is None:
            log.omit("ServeGen request in a window without a length histogram", sent.size)
        if not sent.size or lengths is None:
            continue
        columns = [pick(values, rng, sent.size).astype(np.int64).tolist() for values in (lengths.input, lengths.output)]
        shares: list[float | None] = [None] * sent.size
        if lengths.reasoning is not None:
            shares = pick(lengths.reasoning, rng, sent.size).tolist()
        for sent_s, tokens, output, share in zip(sent.tolist(), *columns, shares, strict=True):
            number += 1
            if usable_lengths(tokens, output, log):
                yield _session(f"{client.name}:{number}", sent_s, tokens, output, share)


def _session(name: str, sent_s: float, input_tokens: int, output_tokens: int, share: float | None) -> Session:
    output: tuple[OpaqueBlock, ...] = ()
    if share is not None:
        reasoning = round(output_tokens * min(1.0, max(0.0, share)))
        parts = ((reasoning, "R"), (output_tokens - reasoning, "F"))
        output = tuple(OpaqueBlock(tokens=tokens, label=label) for tokens, label in parts if tokens)
    turn = length_turn(
        "t1", LengthPrompt(tokens=input_tokens), output_tokens, times=Times(sent_s=sent_s), output=output
    )
    return single(name, turn, sent_s)
