"""Every labelled completion of the shared case file: labels, streams, forced runs, detection."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.shared import SHARED, require_shared
from tokenclass.classes import PositionClass, SubClass
from tokenclass.conformance import Case, check, first_difference, main, parse_case, read_cases
from tokenclass.detect import detect_family
from tokenclass.formats.registry import FAMILIES
from tokenclass.parse import parse_output
from tokenclass.streaming import LabelRun, StreamTagger

require_shared()
_PATH = SHARED / "format_cases.jsonl"
_CASES = list(read_cases(_PATH))
_RAW = [case for case in _CASES if case.blocks is None]
_FAMILIES = sorted({case.family for case in _RAW})
_MAX_CUTS = 12


@pytest.mark.parametrize("case", _CASES, ids=[case.id for case in _CASES])
def test_labels_are_exact(case: Case):
    assert first_difference(case) is None


def test_the_file_covers_every_family():
    assert {case.family for case in _CASES} == set(FAMILIES)
    tallies = check(_PATH)
    assert (
        sum(tally.exact for tally in tallies.values()) == sum(tally.total for tally in tallies.values()) == len(_CASES)
    )
    assert sum(tally.ambiguous for tally in tallies.values()) == sum(case.ambiguous for case in _CASES)


def test_command_line_passes(capsys):
    assert main([str(_PATH)]) == 0
    assert f"all: {len(_CASES)}/{len(_CASES)} exact" in capsys.readouterr().out


def _as_runs(case: Case) -> list[LabelRun]:
    parsed = parse_case(case)
    runs = [LabelRun(s, e, PositionClass.S, label) for s, e, label in parsed.sub]
    for start, end, label in parsed.spans:
        if label is not PositionClass.S:
            runs.append(LabelRun(start, end, label, SubClass.R if label is PositionClass.R else SubClass.F))
    return sorted(runs)


def _merged(runs: list[LabelRun]) -> list[LabelRun]:
    joined = []
    for (label, sub), group in groupby(runs, key=lambda run: (run.label, run.sub)):
        for run in group:
            if joined and joined[-1][1] == run.start and joined[-1][2:] == (label, sub):
                joined[-1] = (joined[-1][0], run.end, label, sub)
            else:
                joined.append((run.start, run.end, label, sub))
    return [LabelRun(*run) for run in joined]


@pytest.mark.parametrize("family", _FAMILIES)
def test_streams_label_like_the_whole_text(family):
    for case in (case for case in _RAW if case.family == family):
        expected = _as_runs(case)
        step = max(1, len(case.text) // _MAX_CUTS)
        pieces = [[case.text[:cut], case.text[cut:]] for cut in range(0, len(case.text) + 1, step)]
        for split in [*pieces, list(case.text)]:
            tagger = StreamTagger(case.family, case.tools, case.prompt_tail)
            runs = [run for piece in split for run in tagger.feed(piece)] + tagger.close()
            assert _merged(runs) == expected, case.id
            assert tagger.calls == case.calls, case.id


@pytest.mark.parametrize("family", _FAMILIES)
def test_forced_runs_lie_inside_calls_and_off_free_text(family):
    for case in (case for case in _RAW if case.family == family):
        parsed = parse_case(case)
        label_at = {at: sub.label for sub in parsed.sub for at in range(sub.start, sub.end)}
        forced = {at for start, end in parsed.forced for at in range(start, end)}
        assert all(at in label_at for at in forced), case.id
        assert not any(label_at[at] is SubClass.T for at in forced), case.id
        delimiters_only = parse_output(case.text, family, None, case.prompt_tail)
        labels = {at: sub.label for sub in delimiters_only.sub for at in range(sub.start, sub.end)}
        bare = {at for start, end in delimiters_only.forced for at in range(start, end)}
        assert all(labels[at] in (SubClass.D, SubClass.P, SubClass.K) for at in bare), case.id
        assert bare <= forced, case.id


@pytest.mark.parametrize("family", _FAMILIES)
def test_detection_names_a_family_that_labels_alike(family):
    cases = [case for case in _RAW if case.family == family]
    tools = {tool["name"]: tool for case in cases for tool in case.tools}
    found = detect_family([case.text for case in cases], list(tools.values()))[0]
    assert found.family is not None
    assert 0.3 <= found.confidence <= 1
    for case in cases:
        if case.ambiguous:
            continue
        own = parse_case(case)
        detected = parse_output(case.text, found.family, case.tools, case.prompt_tail, tool_choice=case.tool_choice)
        assert (own.spans, own.sub, own.calls) == (detected.spans, detected.sub, detected.calls), case.id


def test_a_mixed_trace_gives_each_of_its_formats():
    texts = [case.text for case in _RAW if case.family in ("qwen3_coder", "kimi_k2", "gemma4")]
    found = {detection.family for detection in detect_family(texts)}
    assert {"qwen3_coder", "kimi_k2", "gemma4"} <= found
