"""Counts of model calls and tool calls straight from the raw JSON of agent recordings, without any reader."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def json_rows(path: Path) -> list[Json]:
    """The JSON objects of a file's lines."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def json_value(path: Path) -> Any:
    """The JSON value of a file."""
    return json.loads(path.read_text())


def swe_agent(path: Path) -> tuple[int, int]:
    """Assistant messages that are no demonstration, and their tool calls."""
    made = [m for m in json_value(path)["history"] if m["role"] == "assistant" and not m.get("is_demo")]
    return len(made), sum(len(m.get("tool_calls") or []) for m in made)


def mini_swe_agent(path: Path) -> tuple[int, int]:
    """Assistant messages of a list."""
    return sum(message["role"] == "assistant" for message in json_value(path)), 0


def openhands(path: Path) -> tuple[int, int]:
    """Distinct replies with their calls, or the agent's actions where no reply is recorded."""
    text = path.read_text()
    runs = json_rows(path) if path.suffix == ".jsonl" else [{"history": json.loads(text)}]
    turns = calls = 0
    for run in runs:
        replies: dict[str, Json] = {}
        for number, event in enumerate(run["history"]):
            reply = (event.get("tool_call_metadata") or {}).get("model_response")
            if reply:
                replies[reply["id"]] = reply
            elif event.get("source") == "agent":
                turns += event.get("action") == "message"
            elif "source" not in event and "action" in event and number > 0:
                turns += 1
        turns += len(replies)
        calls += sum(len(reply["choices"][0]["message"].get("tool_calls") or []) for reply in replies.values())
    return turns, calls


def toolbench(path: Path) -> tuple[int, int]:
    """The recorded number of queries, and the tree's filled-in inputs."""
    document = json_value(path)
    return document["answer_generation"]["query_count"], sum(
        node["node_type"] == "Action Input" for node in _nodes(document["tree"]["tree"])
    ) - 1


def inspect_ai(path: Path) -> tuple[int, int]:
    """Model events outside the scorers, and the calls of their first choices."""
    turns = calls = 0
    for sample in _inspect_samples(path):
        scoring = False
        events = sample.get("events") or sample["transcript"]["events"]
        scorers = {e["id"] for e in events if e["event"] == "span_begin" and e.get("type") == "scorer"}
        for event in events:
            if event["event"] == "step" and event["type"] == "scorer":
                scoring = event["action"] == "begin"
            if event["event"] == "model" and not scoring and event.get("span_id") not in scorers:
                turns += 1
                calls += len(event["output"]["choices"][0]["message"].get("tool_calls") or [])
    return turns, calls


def lmcache(path: Path) -> tuple[int, int]:
    """Rows with an output."""
    return sum(bool(row["output"]) for row in json_rows(path)), 0


def gemini_responses(path: Path) -> tuple[int, int]:
    """Replies less the empty ones that the same prompt length follows, and their calls."""
    parts: list[list[Json]] = []
    sizes: list[int | None] = []
    for row in json_rows(path):
        chunks = row["response"] if isinstance(row["response"], list) else [row["response"]]
        parts.append([part for c in chunks for part in c["candidates"][0]["content"].get("parts", [])])
        sizes.append(chunks[-1].get("usageMetadata", {}).get("promptTokenCount"))
    repeated = sum(not parts[i] and sizes[i] == sizes[i + 1] for i in range(len(parts) - 1))
    return len(parts) - repeated, sum("functionCall" in part for made in parts for part in made)


def kimi(path: Path) -> tuple[int, int]:
    """Closed steps and compactions, and the calls recorded."""
    rows = json_rows(path)
    kinds = [row["event"]["type"] for row in rows if row["type"] == "context.append_loop_event"]
    compactions = sum(row["type"] == "context.apply_compaction" for row in rows)
    return kinds.count("step.end") + compactions, kinds.count("tool.call")


def cursor(path: Path) -> tuple[int, int]:
    """Assistant rows and their tool uses."""
    said = [row["message"]["content"] for row in json_rows(path) if row.get("role") == "assistant"]
    return len(said), sum(part["type"] == "tool_use" for content in said for part in content)


def copilot(path: Path) -> tuple[int, int]:
    """Assistant messages and their requests."""
    said = [row["data"] for row in json_rows(path) if row["type"] == "assistant.message"]
    return len(said), sum(len(data["toolRequests"]) for data in said)


def pi(path: Path) -> tuple[int, int]:
    """Assistant entries and their tool calls."""
    said = [row["message"] for row in json_rows(path) if row["type"] == "message"]
    made = [message["content"] for message in said if message["role"] == "assistant"]
    return len(made), sum(part["type"] == "toolCall" for content in made for part in content)


def gemini_chat(path: Path) -> tuple[int, int]:
    """Messages of type gemini and their calls, in a document or in lines."""
    rows = json_rows(path) if path.suffix == ".jsonl" else [json_value(path)]
    listed = [m for row in rows for m in row.get("messages") or row.get("history") or [row]]
    made = [message for message in listed if "gemini" in (message.get("type"), message.get("role"))]
    return len(made), sum(len(message.get("toolCalls", [])) for message in made)


def _nodes(node: Json) -> Iterator[Json]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)


def _inspect_samples(path: Path) -> Iterator[Json]:
    if path.suffix == ".json":
        yield from json_value(path)["samples"]
        return
    archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    for name in archive.namelist():
        if name.startswith("samples/"):
            yield json.loads(archive.read(name))
