"""A small valid recording of each agent format, for breaking."""

from __future__ import annotations

_T = "2026-01-01T00:00:00Z"
_CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_PARTS = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c", "name": "f", "input": {}}]
_RESULT_PARTS = [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "r"}]}]
_GEMINI_PARTS = [{"text": "t", "thought": True}, {"functionCall": {"name": "f", "args": {}}}]
_GEMINI_RESULT = [{"functionResponse": {"id": "c", "name": "f", "response": {"output": "r"}}}]
_GEMINI_USAGE = {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 14}
_COUNTS = {"input_tokens": 9, "cached_input_tokens": 2, "output_tokens": 4, "reasoning_output_tokens": 1}
_MODEL_EVENT = {
    "event": "model",
    "timestamp": _T,
    "span_id": "s",
    "input": [{"role": "user", "content": "attachment://k"}],
    "input_refs": [[0, 1]],
    "tools": [{"name": "f", "parameters": {}}],
    "config": {"max_tokens": 3},
    "output": {
        "choices": [
            {"message": {"role": "assistant", "content": "a", "tool_calls": [{"function": "f", "arguments": {}}]}}
        ],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
}

LINES: dict[str, list[object]] = {
    "codex": [
        {"timestamp": _T, "type": "session_meta", "payload": {"id": "i", "source": {"subagent": {"thread_spawn": {}}}}},
        {
            "timestamp": _T,
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        },
        {"timestamp": _T, "type": "response_item", "payload": {"type": "reasoning", "summary": [{"text": "s"}]}},
        {
            "timestamp": _T,
            "type": "response_item",
            "payload": {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
        },
        {
            "timestamp": _T,
            "type": "event_msg",
            "payload": {"type": "token_count", "info": {"total_token_usage": _COUNTS, "last_token_usage": _COUNTS}},
        },
        {
            "timestamp": _T,
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c", "output": {"content": "r", "success": True}},
        },
        {"timestamp": _T, "type": "compacted", "payload": {"message": "m", "replacement_history": [{"role": "user"}]}},
        {"timestamp": _T, "role": "assistant", "content": "a", "model": "m"},
    ],
    "gemini-responses": [
        {
            "method": "generateContentStream",
            "response": [{"candidates": [{"content": {"parts": _GEMINI_PARTS}}], "usageMetadata": _GEMINI_USAGE}],
        },
        {"method": "generateContent", "response": {"candidates": [{"content": {"parts": []}}]}},
    ],
    "kimi-cli": [
        {"type": "config.update", "systemPrompt": "s", "time": 1},
        {"type": "llm.tools_snapshot", "tools": [{"name": "f"}], "time": 1},
        {"type": "context.append_message", "message": {"role": "user", "content": [{"text": "q"}]}, "time": 2},
        {"type": "context.append_loop_event", "event": {"type": "step.begin", "uuid": "u"}, "time": 3},
        {"type": "llm.request", "model": "m", "maxTokens": 5, "systemPromptHash": "h", "toolsHash": "t", "time": 3},
        {
            "type": "context.append_loop_event",
            "event": {"type": "tool.call", "toolCallId": "c", "name": "f", "args": {}},
            "time": 4,
        },
        {
            "type": "context.append_loop_event",
            "event": {"type": "tool.result", "toolCallId": "c", "result": {"output": "r"}},
            "time": 5,
        },
        {
            "type": "context.append_loop_event",
            "event": {"type": "step.end", "usage": {"inputOther": 4, "output": 2}, "llmFirstTokenLatencyMs": 3},
            "time": 6,
        },
        {"type": "llm.request", "kind": "compaction", "time": 7},
        {"type": "usage.record", "usage": {"inputOther": 4, "output": 2}, "time": 8},
        {"type": "context.apply_compaction", "summary": "s", "keptUserMessageCount": 1, "time": 9},
    ],
    "qwen-code": [
        {"uuid": "a", "parentUuid": None, "sessionId": "s", "type": "user", "message": {"parts": [{"text": "q"}]}},
        {
            "uuid": "b",
            "parentUuid": "a",
            "sessionId": "s",
            "type": "assistant",
            "timestamp": _T,
            "message": {"parts": _GEMINI_PARTS},
            "usageMetadata": _GEMINI_USAGE,
        },
        {"uuid": "c", "parentUuid": "b", "sessionId": "s", "type": "tool_result", "message": {"parts": _GEMINI_RESULT}},
        {"uuid": "d", "parentUuid": "c", "sessionId": "s", "type": "assistant", "message": {"parts": [{"text": "a"}]}},
    ],
    "copilot-cli": [
        {"type": "session.start", "data": {"sessionId": "s"}, "timestamp": _T},
        {"type": "user.message", "data": {"content": "q"}, "timestamp": _T},
        {
            "type": "assistant.message",
            "data": {
                "messageId": "m",
                "content": "a",
                "toolRequests": [{"toolCallId": "c", "name": "f", "arguments": {}}],
            },
            "timestamp": _T,
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "c", "result": {"content": "r"}, "toolTelemetry": {"metrics": {"durationMs": 1}}},
            "timestamp": _T,
        },
        {"type": "assistant.message", "data": {"parentToolCallId": "c", "content": "i"}, "timestamp": _T},
    ],
    "cursor": [
        {"role": "user", "message": {"content": [{"type": "text", "text": "q"}]}},
        {"role": "assistant", "message": {"content": _PARTS}},
        {"role": "user", "message": {"content": _RESULT_PARTS}},
        {"type": "turn_ended"},
    ],
    "droid": [
        {"type": "session_start", "id": "d"},
        {"type": "message", "id": "m", "timestamp": _T, "message": {"role": "assistant", "content": _PARTS}},
        {"type": "message", "id": "n", "timestamp": _T, "message": {"role": "user", "content": _RESULT_PARTS}},
        {"type": "tool_call", "session_id": "d", "toolCallId": "c", "toolName": "f", "parameters": {}},
        {"type": "tool_result", "session_id": "d", "toolCallId": "c", "value": {"stdout": "r"}},
        {"type": "completion", "session_id": "d", "finalText": "end"},
    ],
    "pi": [
        {"type": "session", "version": 3, "id": "p", "timestamp": _T},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": [{"text": "q"}]}},
        {
            "type": "message",
            "id": "b",
            "parentId": "a",
            "timestamp": _T,
            "message": {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "c", "name": "f", "arguments": {}}],
                "usage": {"input": 3, "output": 2, "cacheRead": 1, "cacheWrite": 0},
                "timestamp": 1_780_000_000_000,
            },
        },
        {"type": "message", "id": "r", "parentId": "b", "message": {"role": "toolResult", "toolCallId": "c"}},
        {"type": "compaction", "id": "k", "parentId": "r", "summary": "s", "firstKeptEntryId": "a"},
        {"type": "message", "id": "z", "parentId": "a", "message": {"role": "assistant", "content": "x"}},
    ],
    "antigravity": [
        {"step_index": 0, "source": "USER", "type": "USER_INPUT", "created_at": _T, "content": "q"},
        {
            "step_index": 1,
            "source": "MODEL",
            "type": "PLANNER_RESPONSE",
            "created_at": _T,
            "thinking": "t",
            "content": "a",
            "truncated_fields": ["content"],
            "tool_calls": [{"name": "f", "args": {"x": '"y"'}}],
        },
        {"step_index": 2, "source": "MODEL", "type": "RUN", "created_at": _T, "content": "r"},
        {"step_index": 3, "source": "SYSTEM", "type": "CHECKPOINT", "content": "s"},
    ],
    "lmcache": [
        {"timestamp": 1_760_000_000_000_000, "input": "a\nb", "output": "x", "session_id": "s"},
        {"timestamp": 1_760_000_000_000_001, "input": "a\nc", "output": "y", "session_id": "s"},
    ],
    "bfcl": [
        {
            "id": "q",
            "question": [[{"role": "user", "content": "u"}]],
            "function": [{"name": "f", "parameters": {"type": "dict"}}],
        },
        {
            "id": "q",
            "result": [[[{"f": "{}"}], "x"]],
            "input_token_count": [[1, 2]],
            "output_token_count": [[1, 2]],
            "reasoning_content": [["r", ""]],
            "latency": [[0.1, 0.2]],
        },
    ],
    "openhands": [
        {
            "instance_id": "i",
            "history": [
                {"source": "user", "action": "message", "args": {"content": "q", "tools": None}},
                {
                    "source": "agent",
                    "action": "run",
                    "timestamp": _T,
                    "tool_call_metadata": {
                        "tool_call_id": "c",
                        "model_response": {
                            "id": "m",
                            "choices": [{"message": {"content": "a", "tool_calls": [_CHAT_CALL]}}],
                            "usage": {"prompt_tokens": 3, "completion_tokens": 1},
                        },
                    },
                },
                {"source": "agent", "observation": "run", "content": "r", "tool_call_metadata": {"tool_call_id": "c"}},
                {"source": "agent", "action": "run", "args": {"thought": "t", "command": "ls"}},
                {"observation": "recall", "extras": {"microagent_knowledge": [{"content": "k"}]}},
            ],
            "metrics": {"response_latencies": [{"response_id": "m", "latency": 1.0}], "token_usages": []},
        },
        {"instance_id": "j", "history": [{"source": "agent", "action": "message", "args": {"content": "x"}}]},
    ],
}

DOCUMENTS: dict[str, object] = {
    "gemini-cli": {
        "sessionId": "g",
        "projectHash": "h",
        "messages": [
            {"id": "u", "type": "user", "timestamp": _T, "content": [{"text": "q"}]},
            {
                "id": "m",
                "type": "gemini",
                "timestamp": _T,
                "content": "a",
                "thoughts": [{"description": "d"}],
                "tokens": {"input": 3, "output": 2, "thoughts": 1, "cached": 0, "total": 6},
                "toolCalls": [{"id": "c", "name": "f", "args": {}, "timestamp": _T, "result": _GEMINI_RESULT}],
            },
        ],
    },
    "hermes-agent": {
        "session_id": "h",
        "platform": "cli",
        "system_prompt": "s",
        "tools": [{"name": "f", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "a", "reasoning": "r", "tool_calls": [_CHAT_CALL]},
            {"role": "tool", "tool_call_id": "c", "tool_name": "f", "content": "r"},
        ],
    },
    "swe-agent": {
        "trajectory": [
            {
                "action": "ls",
                "observation": "o",
                "response": "r",
                "execution_time": 0.5,
                "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            }
        ],
        "history": [
            {"role": "user", "content": [{"type": "text", "text": "q"}], "agent": "main"},
            {"role": "assistant", "content": "a", "agent": "main", "tool_calls": [_CHAT_CALL]},
            {"role": "tool", "content": "o", "agent": "main", "tool_call_ids": ["c"]},
        ],
    },
    "mini-swe-agent": {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"config": {"model": {"model_name": "m"}}},
        "messages": [
            {"role": "user", "content": "q", "extra": {"timestamp": 1.0}},
            {
                "role": "assistant",
                "content": "```bash\nls\n```",
                "extra": {"timestamp": 2.0, "response": {"usage": {}}},
            },
            {"object": "response", "output": [{"type": "function_call", "name": "f", "call_id": "c"}], "usage": {}},
            {"type": "function_call_output", "call_id": "c", "output": [{"text": "o"}]},
        ],
    },
    "toolbench": {
        "tree": {
            "tree": {
                "node_type": "Action Input",
                "description": "",
                "children": [
                    {
                        "node_type": "Action",
                        "description": "f",
                        "children": [
                            {
                                "node_type": "Action Input",
                                "description": "{}",
                                "expand_num": 1,
                                "observation": "o",
                                "children": [],
                            }
                        ],
                    }
                ],
            }
        },
        "answer_generation": {
            "query": "q",
            "function": [{"name": "f"}],
            "train_messages": [
                [{"role": "user", "content": "q"}, {"role": "assistant", "function_call": {"name": "f"}}]
            ],
        },
    },
    "inspect": {
        "status": "success",
        "eval": {"task": "t", "run_id": "r"},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "attachments": {"k": "v"},
                "message_pool": [{"role": "tool", "tool_call_id": "c", "content": "r", "error": {"message": "e"}}],
                "events": [
                    {"event": "span_begin", "id": "s", "parent_id": "s", "type": "agent"},
                    {"event": "step", "action": "begin", "type": "solver"},
                    _MODEL_EVENT,
                    {"event": "tool", "id": "c", "function": "f", "timestamp": _T, "completed": _T, "events": []},
                ],
            }
        ],
    },
    "openai-agents": {
        "$schemaVersion": "1.10",
        "original_input": [{"type": "message", "role": "user", "content": "q"}],
        "current_agent": {"name": "a"},
        "model_responses": [
            {
                "response_id": "r",
                "output": [{"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"}],
                "usage": {"input_tokens": 3, "input_tokens_details": [{"cached_tokens": 1}], "output_tokens": 2},
            }
        ],
        "generated_items": [{"raw_item": {"type": "function_call_output", "call_id": "c", "output": "o"}}],
    },
    "harbor": {
        "schema_version": "ATIF-v1.5",
        "session_id": "h",
        "agent": {"name": "a", "tool_definitions": [{"type": "function", "function": {"name": "f"}}]},
        "steps": [
            {"step_id": 1, "source": "user", "message": "q"},
            {
                "step_id": 2,
                "source": "agent",
                "timestamp": _T,
                "message": "a",
                "reasoning_content": "r",
                "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
                "observation": {"results": [{"source_call_id": "c", "content": "o"}]},
                "metrics": {"prompt_tokens": 4, "completion_tokens": 2, "extra": {"reasoning_tokens": 1}},
            },
        ],
        "subagent_trajectories": [{"session_id": "i", "steps": []}],
    },
    "opencode": {"id": "m", "sessionID": "s", "role": "assistant", "time": {"created": 1}, "tokens": {"input": 2}},
    "no-trace": [{"instance_id": "i", "model_patch": "d", "model_name_or_path": "m"}],
}
