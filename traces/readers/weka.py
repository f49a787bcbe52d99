"""Weka agentic traces: sessions of requests by time and length, with block ids and nested sub-agents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from traces.clock import scaled
from traces.lengths import ScopedIds, block_ids, blocks_prompt, length_turn, unique, usable_lengths
from traces.model import Session, SpawnLink, Times, ToolWait, Turn
from traces.plausible import plausible_times
from traces.readers.base import JsonReader, stem
from traces.readlog import ReadLog
from traces.records import Count, Json, as_count, as_dict, as_list, dicts, documents, first_text
from traces.source import SourceFile

_BLOCK_TOKENS = 64
_MAX_DEPTH = 20


class WekaReader(JsonReader):
    """Reads a document a session, JSON lines of them, or lines of bare requests; times are seconds."""

    name = "weka"
    title = "Weka agentic trace JSON (64-token blocks, nested sub-agents)"

    def score(self, rows: list[Json]) -> float:
        """Requests of t, in, out and hash_ids, bare or under ``requests``."""
        for row in rows:
            if any(_is_request(request) for request in [row, *_flat(row)]):
                return 0.95
        return 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield each session, its sub-agents behind it."""
        bare: list[object] = []
        taken: set[str] = set()
        for line, value in documents(file, log, _Plain):
            if isinstance(value, _Plain):
                yield from _Trace(file, line, _members(value), taken, log).sessions(stem(file))
                continue
            trace = as_dict(value)
            if "requests" in trace:
                yield from _Trace(file, line, trace, taken, log).sessions(stem(file))
            elif trace.get("type") == "subagent" or _is_request(trace):
                bare.append(trace)
            else:
                log.invalid(file.name, line, "no trace with requests, and no request of t, in, out and hash_ids")
        if bare:
            yield from _Trace(file, None, {"requests": bare}, taken, log).sessions(stem(file))


READER = WekaReader()


class _Request(msgspec.Struct, frozen=True, gc=False, rename={"input_tokens": "in", "output_tokens": "out"}):
    """A request in its usual form."""

    input_tokens: Count
    output_tokens: Count
    hash_ids: tuple[int | str, ...]
    t: float | None = None
    api_time: float | None = None
    ttft: float | None = None
    think_time: float | None = None
    model: str | None = None
    input_types: tuple[str, ...] = ()
    requests: None = None


class _Plain(msgspec.Struct, frozen=True, gc=False):
    """A trace without sub-agents whose requests all have their usual form."""

    requests: tuple[_Request, ...]
    id: str | None = None
    block_size: Count | None = None
    hash_id_scope: str | None = None
    subagent_type: str | None = None


def _members(trace: _Plain) -> Json:
    names = ("id", "block_size", "hash_id_scope", "subagent_type", "requests")
    return {name: getattr(trace, name) for name in names}


def _is_request(row: Json) -> bool:
    return "in" in row and "out" in row and ("hash_ids" in row or "t" in row)


def _flat(row: Json) -> Iterator[Json]:
    for request in dicts(row.get("requests")):
        yield request
        yield from dicts(request.get("requests"))


@dataclass(slots=True)
class _Trace:
    """One trace document and the sessions that it gives."""

    file: SourceFile
    line: int | None
    trace: Json
    taken: set[str]
    log: ReadLog
    found: list[Session] = field(default_factory=list)

    def sessions(self, default_id: str) -> list[Session]:
        """The trace's root session and those of its sub-agents, in the order of their starts in the file."""
        name = unique(first_text(self.trace.get("id")) or default_id, self.taken)
        scope = ScopedIds("" if self.trace.get("hash_id_scope") == "global" else name)
        self._session(name, self.trace, scope, None, 0)
        return self.found

    def _session(self, name: str, body: Json, scope: ScopedIds, parent: SpawnLink | None, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self.log.invalid(self.file.name, self.line, f"sub-agents nested more than {_MAX_DEPTH} deep")
            return
        place = len(self.found)
        turns: list[Turn] = []
        listed = body.get("requests")
        for entry in listed if isinstance(listed, tuple) else as_list(listed):
            if not isinstance(entry, _Request) and "requests" in as_dict(entry):
                inner = as_dict(entry)
                link = SpawnLink(session_id=name, turn_id=turns[-1].id if turns else None)
                child = unique(f"{name}/{first_text(inner.get('agent_id')) or 'sub-agent'}", self.taken)
                self._session(child, inner, scope, link, depth + 1)
                continue
            request = entry if isinstance(entry, _Request) else self._usual(as_dict(entry))
            if request is None:
                continue
            turn = self._turn(request, f"t{len(turns) + 1}", scope)
            if turn is None:
                continue
            if turns:
                turns[-1] = self._waiting(turns[-1], turn, request)
                turn = replace(turn, parent=turns[-1].id)
            turns.append(turn)
        if turns:
            times = turns[0].final.times
            agent = first_text(body.get("subagent_type"))
            start_s = times.sent_s if times is not None else None
            session = Session(id=name, turns=tuple(turns), parent=parent, agent=agent, start_s=start_s)
            self.found.insert(place, session)

    def _usual(self, request: Json) -> _Request | None:
        tokens, output = as_count(request.get("in")), as_count(request.get("out"))
        ids = block_ids(request.get("hash_ids"))
        if tokens is None or output is None or ids is None:
            reason = "a request needs whole numbers in `in` and `out`, and a list of hash_ids"
            self.log.invalid(self.file.name, self.line, reason)
            return None
        sent_s, took_s, first_s, wait_s = (
            scaled(request.get(key), 1.0) for key in ("t", "api_time", "ttft", "think_time")
        )
        kinds = tuple([kind for kind in as_list(request.get("input_types")) if isinstance(kind, str)])
        return _Request(tokens, output, ids, sent_s, took_s, first_s, wait_s, first_text(request.get("model")), kinds)

    def _turn(self, request: _Request, turn_id: str, scope: ScopedIds) -> Turn | None:
        tokens = request.input_tokens
        if not usable_lengths(tokens, request.output_tokens, self.log):
            return None
        size = as_count(self.trace.get("block_size")) or _BLOCK_TOKENS
        try:
            prompt = blocks_prompt(tokens, scope.of(request.hash_ids), size)
        except ValueError as error:
            self.log.invalid(self.file.name, self.line, str(error), kind="block ids that do not fit the length")
            return None
        times = None
        if request.t is not None:
            first, took = request.ttft, request.api_time
            times = Times(
                sent_s=request.t,
                first_token_s=request.t + first if first is not None and first >= 0 else None,
                end_s=request.t + took if took is not None and took >= 0 else None,
            )
            if first is not None and took is not None and 0 <= took < first:
                times = plausible_times(times, self.log)
        return length_turn(turn_id, prompt, request.output_tokens, times=times, model=request.model or None)

    def _waiting(self, turn: Turn, child: Turn, request: _Request) -> Turn:
        """*turn* with what was waited for until *child*: tools where the child's input is their results."""
        wait_s = request.think_time
        before, after = turn.final.times, child.final.times
        if wait_s is None and before is not None and after is not None and before.end_s is not None:
            wait_s = (after.sent_s or 0.0) - before.end_s
        if wait_s is not None and wait_s < 0:
            self.log.assume("request sent before the one it follows had ended: no wait between them")
            wait_s = 0.0
        if "tool_result" in request.input_types:
            return replace(turn, tool_waits=(ToolWait(name="tool", duration_s=wait_s),))
        return replace(turn, user_wait_s=wait_s)
