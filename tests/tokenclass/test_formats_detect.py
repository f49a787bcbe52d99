"""Detection of a trace's output format."""

from __future__ import annotations

import pytest

from tokenclass.detect import MAX_TEXTS, detect_family

_KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>"
)
_HERMES = 'Sure.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


def test_confidence_grows_with_the_evidence():
    confidences = [detect_family([_KIMI] * n)[0].confidence for n in (1, 2, 8)]
    assert confidences == [0.5, 0.75, 1 - 0.5**8]


def test_plain_prose_goes_with_the_format_found():
    (found,) = detect_family([_KIMI, "Done.", "Nothing to do."])
    assert (found.family, found.share) == ("kimi_k2", 1.0)


def test_a_mixed_trace_gives_both_formats_by_share():
    found = detect_family([_KIMI, _HERMES, _HERMES])
    assert [d.family for d in found] == ["hermes", "kimi_k2"]
    assert [d.share for d in found] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert "qwen3" in found[0].equivalent


def test_unexplained_markup_is_said():
    (found,) = detect_family(["<tool_use><name>f</name></tool_use>", '<call_tool name="f"/> <invoke name="f">'])
    assert found.family is None
    assert "<tool_use>" in found.reason


@pytest.mark.parametrize(("texts", "said"), [([], "no completions"), (["Hello."], "no evidence")])
def test_no_evidence_is_said(texts, said):
    (found,) = detect_family(texts)
    assert (found.family, found.confidence) == (None, 0.0)
    assert said in found.reason


def test_unknown_tools_do_not_make_brackets_calls():
    tools = [{"name": "g", "parameters": {"type": "object", "properties": {}}}]
    assert detect_family(["[f(a=1)]"], tools)[0].family is None
    assert detect_family(["[g()]"], tools)[0].family == "pythonic"


def test_a_long_trace_is_sampled():
    (found,) = detect_family([_KIMI] * (MAX_TEXTS + 50))
    assert found.share == 1.0
    assert found.reason.startswith(str(MAX_TEXTS))
