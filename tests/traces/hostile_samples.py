"""A small valid recording of every format as bytes, and what storage, transport and malice make of it."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from functools import cache

import msgspec
import zstandard

from tests.traces import samples_serving as serving
from tests.traces.agent_samples import DOCUMENTS, LINES
from traces.model import (
    Attempt,
    Message,
    MessagePrompt,
    Session,
    TextBlock,
    ToolCallBlock,
    Turn,
)

_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "lake"}'}}
_ASKED = {"role": "user", "content": "What is at the lake?"}
_ANSWERED = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "two boats"}
_SAID = {"role": "assistant", "content": "Two boats lie at the lake."}
_USAGE = {"prompt_tokens": 20, "completion_tokens": 9}
_TIME = "2026-01-01T00:00:0{}Z"
_SPOKEN = [{"type": "text", "text": "Two boats."}]
_PARTS = [{"functionCall": {"name": "look", "args": {"at": "lake"}}}]
_ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 20,
    "gen_ai.usage.output_tokens": 9,
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Two boats."}]}]),
}
_LLM = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "m",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "Two boats.",
    "llm.token_count.prompt": 20,
    "llm.token_count.completion": 9,
}


def _span(attributes: dict[str, object]) -> dict[str, object]:
    context = {"trace_id": "t", "span_id": "s"}
    times = {"start_time": _TIME.format(1), "end_time": _TIME.format(2)}
    return {"name": "chat m", "context": context, "parent_id": None, "attributes": attributes, **times}


def _canonical() -> bytes:
    turn = Turn(
        id="t1",
        prompt=MessagePrompt(ranges=((0, 1),)),
        attempts=(Attempt(output=(ToolCallBlock(name="look", arguments="{}"),)),),
    )
    asked = Message(role="user", blocks=(TextBlock(text="What is at the lake?"),))
    session = Session(id="s", turns=(turn,), messages=(asked,))
    return b'{"simtool_trace":1}\n' + msgspec.json.encode(session) + b"\n"


def _claude(number: int, role: str, content: object) -> dict[str, object]:
    message: dict[str, object] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"m{number}", "model": "c", "type": "message"}
        message["usage"] = {"input_tokens": 20, "output_tokens": 9}
    parent = f"u{number - 1}" if number > 1 else None
    row = {"type": role, "uuid": f"u{number}", "parentUuid": parent, "sessionId": "s", "isSidechain": False}
    return {**row, "timestamp": _TIME.format(number), "message": message}


_EXCHANGE = {
    "request": {"model": "m", "messages": [_ASKED]},
    "response": {"id": "r", "choices": [{"message": _ANSWERED}], "usage": _USAGE},
}
_RESPONSES = {
    "request": {"model": "m", "input": "What is at the lake?"},
    "response": {
        "id": "resp_1",
        "object": "response",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Boats."}]}],
        "usage": {"input_tokens": 20, "output_tokens": 9},
    },
}
_ANTHROPIC = {
    "request": {"model": "c", "max_tokens": 9, "messages": [_ASKED]},
    "response": {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "model": "c",
        "content": _SPOKEN,
        "usage": {"input_tokens": 20, "output_tokens": 9},
    },
}
_GEMINI = {
    "request": {"contents": [{"role": "user", "parts": [{"text": "What is at the lake?"}]}]},
    "response": {
        "candidates": [{"content": {"role": "model", "parts": _PARTS}}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 9, "totalTokenCount": 29},
    },
}
_LANGFUSE = {
    "trace": {"id": "t"},
    "observations": [
        {
            "id": "o",
            "traceId": "t",
            "type": "GENERATION",
            "name": "g",
            "startTime": _TIME.format(1),
            "endTime": _TIME.format(2),
            "input": [_ASKED],
            "output": _SAID,
            "usageDetails": {"input": 20, "output": 9, "total": 29},
        }
    ],
}
_TAU2 = {
    "info": {},
    "tasks": [],
    "simulations": [{"id": "s", "task_id": "1", "trial": 0, "messages": [_ASKED, {**_SAID, "turn_idx": 1}]}],
}
_CASSETTE = f"""
interactions:
- request:
    method: POST
    uri: https://api.openai.com/v1/chat/completions
    body: '{json.dumps(_EXCHANGE["request"])}'
    headers: {{content-type: [application/json]}}
  response:
    status: {{code: 200, message: OK}}
    headers: {{content-type: [application/json]}}
    body: {{string: '{json.dumps(_EXCHANGE["response"])}'}}
version: 1
"""
_HARMONY = (
    "<|start|>user<|message|>What is at the lake?<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Two boats.<|return|>"
)
_MOONCAKE = serving.lines(
    [
        {"timestamp": 0, "input_length": 1000, "output_length": 9, "hash_ids": [0, (1 << 63) + 5]},
        {"timestamp": 5, "input_length": 1500, "output_length": 9, "hash_ids": [0, (1 << 63) + 6, 1 << 40]},
    ]
)
_DELTA = serving.lines([{"session_id": "a", "timestamp": 0, "input_length": 40, "output_length": 9}])


def _dumped(value: object) -> bytes:
    return json.dumps(value).encode()


SAMPLES: dict[str, bytes] = {
    **{name: serving.lines(rows) for name, rows in LINES.items()},
    **{name: _dumped(document) for name, document in DOCUMENTS.items()},
    "agentic-mooncake": serving.lines(serving.AGENTIC_V1),
    "anthropic-messages": _dumped(_ANTHROPIC),
    "applied-compute": serving.lines(serving.APPLIED),
    "azure": b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44",
    "bench-summary": _dumped(serving.BENCH),
    "burstgpt": b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\r\n5,m,472,18,490,x",
    "canonical": _canonical(),
    "claude-code": serving.lines(
        [_claude(1, "user", "What is at the lake?"), _claude(2, "assistant", _SPOKEN), _claude(3, "user", "And now?")]
    ),
    "csv": b"arrival_s,input_tokens,output_tokens\r\n0.5,100,9\r\n0.7,200,3",
    "dynamo": serving.lines(serving.DYNAMO),
    "gemini": _dumped(_GEMINI),
    "harmony": _HARMONY.encode(),
    "langfuse": _dumped(_LANGFUSE),
    "llmservingsim": serving.lines(serving.LLMSERVINGSIM),
    "mooncake": _MOONCAKE,
    "mooncake-delta": _DELTA,
    "openai-chat": _dumped(_EXCHANGE),
    "openai-responses": _dumped(_RESPONSES),
    "openinference": _dumped([_span(dict(_LLM))]),
    "otel": _dumped([_span(dict(_ATTRIBUTES))]),
    "servegen": b"0,1.5,1.0,Gamma,0.5,0.7\n600,1.2,1.0,Weibull,0.5,0.7",
    "tau-bench": _dumped([{"task_id": 0, "reward": 1.0, "info": {}, "traj": [_ASKED, _ANSWERED, _RESULT, _SAID]}]),
    "tau2": _dumped(_TAU2),
    "vcr": _CASSETTE.encode(),
    "vidur": b"arrived_at,num_prefill_tokens,num_decode_tokens\r\n0.5,100,9",
    "weka": serving.lines(serving.WEKA),
}
"""By format; names that tell nothing of it go with them."""

DEEP = 100_000
LONG = 5 << 20


def spoiled(sample: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield (what was done, bytes) for a valid recording that storage or transport damaged."""
    yield "cut in the middle", sample[: len(sample) // 2]
    yield "cut before its end", sample[:-3]
    yield "bad UTF-8 in the middle", _with(sample, b"\xff\xfe\xc3")
    yield "bad UTF-8 at the end", sample + b"\n\xc3\x28\n"
    yield "NUL bytes in the middle", _with(sample, b"\x00" * 64)
    yield "NUL bytes at the end", sample + b"\x00" * 4096
    yield "twice", sample.rstrip(b"\n") + b"\n" + sample
    yield "byte order mark", b"\xef\xbb\xbf" + sample
    yield "carriage returns and no final line end", sample.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").rstrip()
    yield "UTF-16", sample.decode("utf-8", "replace").encode("utf-16")
    yield "corrupt gzip", gzip.compress(sample, mtime=0)[:-9] + b"\x00" * 9
    yield "cut gzip", gzip.compress(sample, mtime=0)[:20]
    yield "corrupt zst", zstandard.compress(sample)[:-4] + b"\xff" * 4
    yield "cut zst", zstandard.compress(sample)[:12]
    yield "one array of its lines", b"[" + b",".join(sample.strip().splitlines()) + b"]"
    yield "spread over lines", _spread(sample)
    yield "scalar lines between", sample.rstrip(b"\n") + b'\n42\n"x"\nnull\ntrue\n[1]\n{}\n' + sample


@cache
def malicious() -> tuple[tuple[str, bytes], ...]:
    """(what it is, bytes) of files that no recorder writes."""
    return tuple(_malicious())


def _malicious() -> Iterator[tuple[str, bytes]]:
    yield "nothing but blanks", b" \n\r\n\t\n"
    yield "empty object", b"{}"
    yield "empty array", b"[]"
    yield "scalar", b"42"
    yield "deep arrays", b"[" * DEEP
    yield "deep closed arrays", b"[" * DEEP + b"]" * DEEP
    yield "deep objects", b'{"messages":' * DEEP + b"1" + b"}" * DEEP
    yield "long line", b'{"messages":[{"role":"user","content":"' + b"x" * LONG + b'"}]}'
    yield "long line of no JSON", b"x" * LONG
    yield "long number", b'{"input_length":' + b"9" * 5000 + b"}"
    yield "archive bomb", _archive({"header.json": b"{}", "samples/1_epoch_1.json": b"[" + b"0," * (8 << 20) + b"0]"})
    yield "archive that climbs", _archive({"../outside.json": b"{}", "samples/../../x.json": b"{}"})
    yield "archive cut short", _archive({"header.json": b'{"eval":{}}' * 50})[:-30]
    yield "gzip bomb", gzip.compress(b"\x00" * (24 << 20), mtime=0)
    yield "zst bomb", zstandard.compress(b"\x00" * (24 << 20))
    yield (
        "yaml aliases",
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(9)),
    )


def graphs() -> Iterator[tuple[str, str, bytes]]:
    """Yield (format, what it is, bytes) for recordings whose ids repeat or go in a circle."""
    first, second, third = (_claude(at, "assistant" if at > 1 else "user", _SPOKEN) for at in (1, 2, 3))
    first["parentUuid"] = "u3"
    yield "claude-code", "rows that follow each other in a circle", serving.lines([first, second, third])
    second["parentUuid"] = "u2"
    yield "claude-code", "row that follows itself", serving.lines([second, third])
    yield "claude-code", "rows of one id", serving.lines([third, {**third, "parentUuid": "u1"}, third])
    spans = [{**_span(dict(_ATTRIBUTES)), "parent_id": "z", "context": {"trace_id": "t", "span_id": "s"}}]
    spans.append({**_span({}), "name": "up", "parent_id": "s", "context": {"trace_id": "t", "span_id": "z"}})
    yield "otel", "spans inside each other", _dumped(spans)
    lengths = {"session_id": "s", "input_length": 9, "output_length": 2, "hash_ids": []}
    waiting = [{"request_id": one, "wait_for": [other], **lengths} for one, other in ("ab", "ba")]
    yield "agentic-mooncake", "requests that wait for each other", serving.lines(list(waiting))
    yield "agentic-mooncake", "requests of one id", serving.lines([waiting[0], waiting[0]])
    turns = json.loads(_canonical().splitlines()[1])
    turns["turns"] = [{**turns["turns"][0], "parent": "t2"}, {**turns["turns"][0], "id": "t2", "parent": "t1"}]
    yield "canonical", "turns that wait for each other", _dumped(turns)
    yield "canonical", "sessions of one id", _canonical() + _canonical().splitlines()[1]


def _with(sample: bytes, inserted: bytes) -> bytes:
    middle = len(sample) // 2
    return sample[:middle] + inserted + sample[middle:]


def _spread(sample: bytes) -> bytes:
    """Its first JSON value indented; other texts as they are."""
    try:
        return json.dumps(json.loads(sample.strip().splitlines()[0]), indent=1).encode()
    except ValueError:
        return sample


def _archive(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()
