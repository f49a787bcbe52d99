"""What the terms of a report mean: shown beside them on hover and focus, and listed at the end of the page."""

from __future__ import annotations

from scenarios.runs.metric import all_metrics

GLOSSARY: dict[str, str] = {
    "gamma": "Draft depth: tokens proposed in a round (vLLM: num_speculative_tokens). 0 is without speculation.",
    "net saving": (
        "Share of the GPU seconds of an accepted turn (C_total) that speculation saves against the same replay "
        "without it, the draft's own work and prefill included. Negative: it costs more."
    ),
    "s": "Saving of the decode seconds alone: 1 - c_net / c_T, draft passes included.",
    "95 %": (
        "Interval that holds the mean with 95 % confidence, by resampling sessions (turns, if there is one session)."
    ),
    "spread": (
        "Net saving expected at the low and the high end of what the acceptance may be: of the profile's published "
        "figures, or between the sessions of a measured drafter."
    ),
    "class": (
        "S: schema-constrained tool call. R: extended reasoning. F: free prose. Within S: D delimiters, N tool names, "
        "K keys, V typed values, T free strings, P punctuation."
    ),
    "w_S": "Share of output tokens that belong to tool calls.",
    "w_S*": "Share of tool-call tokens at which speculation neither saves nor loses.",
    "eps": "Mismatch: probability that the target rejects a draft token. eps_bar is its mean over the output.",
    "tau": "Drafts accepted per round that starts in the class.",
    "tokens per round": "Tokens that a verification pass emits: accepted drafts and the target's own token.",
    "law": "The Draft Law's closed form: one mean mismatch for the whole output.",
    "exact": "Expectation over the labelled output with independent drafts; nothing is sampled.",
    "sampled": "As the replay drew it; with a measured drafter it runs the known rounds.",
    "measured": "Known from recorded tokens (n-gram and suffix drafters), or reported by the recording.",
    "acceptance rate": "Accepted draft tokens over drafted ones.",
    "acceptance length": "1 + accepted draft tokens over drafts: tokens a drafted round emits.",
    "TTFT": "Time to first token: first token less arrival, queue included.",
    "TPOT": "Time per output token: (last token - first token) / (tokens - 1); undefined for one token.",
    "ITL": "Inter-token latency: gap between a request's successive engine steps, as a streaming client sees it.",
    "E2EL": "End-to-end latency: last token less arrival.",
    "session time": "From a session's first request to its last token, tools included.",
    "throughput": "Output tokens of accepted attempts per second of the measured window.",
    "goodput": "Requests, or their tokens, that meet every latency objective, per second.",
    "attainment": "Share of measured requests that meet an objective.",
    "KV use": "Share of the KV cache's blocks that are in use.",
    "running": "Requests in the batch (vLLM: num_requests_running).",
    "waiting": "Requests that arrived and are not in the batch (vLLM: num_requests_waiting).",
    "hit rate": "Prompt tokens found in the prefix cache over all prompt tokens (h).",
    "preemptions": "Times a running request lost its KV blocks to others and was computed again.",
    "C_total": "GPU seconds, or dollars, per accepted turn: nu times prefill, loading, decode and gate of one draw.",
    "C_pre": "Target prefill of one draw, in GPU seconds.",
    "C_dec": "Decode of one draw, in GPU seconds.",
    "nu": "Draws per accepted turn: 1 without retries.",
    "utilisation": "Busy seconds of the replicas over their wall seconds.",
    "delta": "Cost of verifying one more token, relative to c_T.",
    "d": "Cost of one draft pass, relative to c_T.",
    "c_T": "One decode pass of the target.",
    "origin": (
        "declared: given, or a default from published figures. derived: computed from other settings. measured: "
        "fitted to a measurement or read from the recording."
    ),
    "trace hash": "SHA-256 of the recording's files in their order.",
}
"""Term -> definition."""


def glossary() -> dict[str, str]:
    """All terms: these, and the metrics by their labels."""
    return GLOSSARY | {one.label: one.definition for one in all_metrics()}
