"""Entropy by class from token logprobs, kappa, and what contradicts them."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from scenarios.calibration.fit import calibrate
from scenarios.calibration.logprobfit import LogprobFigures, LogprobTally
from scenarios.options.read import ReadOptions
from scenarios.server.run import ServerRun
from simulator.defaultprofile import DEFAULT_PROFILE
from simulator.origin import Origin
from tokenclass.layout import Layout
from tokenclass.tagger import TagOptions, tag_session
from tokenclass.tokenizers import load_tokenizer
from traces.model import Attempt, Message, MessagePrompt, RawBlock, Session, TextBlock, TokenLogprob, ToolSpec, Turn

TOOLS = (ToolSpec(name="look_up", parameters={"type": "object", "properties": {"city": {"type": "string"}}}),)
PROSE = ("I ", "look ", "it ", "up. ")
CALL = (
    "<tool_call>",
    "\n",
    '{"name": "',
    "look_up",
    '", "arguments": {"',
    "city",
    '": "',
    "Ulm",
    '"}}',
    "\n",
    "</tool_call>",
)


def token(text: str, shares: tuple[float, ...], **more: bool) -> TokenLogprob:
    return TokenLogprob(token=text, logprob=log(shares[0]), top=tuple(map(log, shares)), **more)


def session(
    prose: tuple[float, ...] = (0.5, 0.5), call: tuple[float, ...] = (1.0,), rounds: tuple[int, ...] | None = None
) -> Session:
    logprobs = (*(token(text, prose) for text in PROSE), *(token(text, call) for text in CALL))
    blocks = (RawBlock(text="".join((*PROSE, *CALL))),)
    attempt = Attempt(output=blocks, logprobs=logprobs, accepted_per_round=rounds)
    turn = Turn(id="1", prompt=MessagePrompt(ranges=((0, 1),)), attempts=(attempt,))
    return Session(id="s", messages=(Message(role="user", blocks=(TextBlock(text="?"),)),), turns=(turn,), tools=TOOLS)


def figures(*sessions: Session) -> LogprobFigures:
    tally = LogprobTally(ReadOptions(), ())
    for one in sessions:
        tally.look(one)
    found = tally.figures()
    assert found is not None
    return found


def test_classes_of_what_the_tokens_read() -> None:
    found = {one.label: one for one in figures(session(), session()).classes}
    assert (found["F"].tokens, found["S"].tokens) == (2 * len(PROSE), 2 * len(CALL))
    assert found["F"].entropy.value == pytest.approx(log(2))
    assert found["F"].rho.value == pytest.approx(0.5)
    assert found["F"].likeliest.value == pytest.approx(0.5)
    assert found["S"].entropy_most.value == 0
    assert found["S"].rho.value == 1


def test_rho_bar_is_the_share_weighted_mean() -> None:
    found = figures(session())
    assert found.rho_bar.value == pytest.approx((0.5 * len(PROSE) + len(CALL)) / (len(PROSE) + len(CALL)))


def test_top_k_alone_leaves_a_bound() -> None:
    (free,) = (one for one in figures(session(prose=(0.5, 0.3))).classes if one.label == "F")
    known = -0.5 * log(0.5) - 0.3 * log(0.3)
    assert free.entropy.value == pytest.approx(known - 0.2 * log(0.2))
    assert free.entropy_most.value > free.entropy.value + 0.2 * log(100_000)
    assert free.rho.low == pytest.approx(exp(-free.entropy_most.high))


def test_the_interval_covers_the_mean_of_many_outputs() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(60):
        shares = rng.uniform(0.5, 0.99, 20)
        (free,) = (one for one in figures(*(session(prose=(p, 1 - p)) for p in shares)).classes if one.label == "F")
        grid = np.linspace(0.5, 0.99, 2001)
        true = float(np.mean(-grid * np.log(grid) - (1 - grid) * np.log(1 - grid)))
        inside += free.entropy.low <= true <= free.entropy.high
    assert 50 <= inside <= 60


def test_reasoning_reported_apart_is_its_own_class() -> None:
    attempt = Attempt(
        output=(TextBlock(text="Hi"),), logprobs=(token("so", (0.9, 0.1), reasoning=True), token("Hi", (1.0,)))
    )
    turn = Turn(id="1", prompt=MessagePrompt(ranges=()), attempts=(attempt,))
    assert [one.label for one in figures(Session(id="s", messages=(), turns=(turn,))).classes] == ["R", "F"]


def test_a_profile_of_entropies_alone_takes_kappa_from_its_base() -> None:
    result = calibrate(DEFAULT_PROFILE, [], logprobs=figures(session()))
    assert result.profile is not None
    assert result.profile.eps["F"].value == pytest.approx(DEFAULT_PROFILE.kappa.value * 0.5)
    assert result.profile.eps["T"].value == 0
    assert result.profile.eps["F"].origin is Origin.DERIVED
    assert result.profile.eps["R"] == DEFAULT_PROFILE.eps["R"]
    assert not result.contradictions


def test_kappa_of_a_server_run_takes_the_traffics_own_rho_bar() -> None:
    run = ServerRun(
        source="run", num_drafts=1000, num_draft_tokens=1000, num_accepted_tokens=800, accepted_per_pos=(800,)
    )
    found = figures(session())
    result = calibrate(DEFAULT_PROFILE, [run], logprobs=found)
    assert result.profile is not None
    assert result.profile.kappa.value == pytest.approx(0.2 / (1 - found.rho_bar.value))
    assert "of the logprobs" in result.profile.kappa.source


def test_contradictions_are_said() -> None:
    result = calibrate(DEFAULT_PROFILE, [], logprobs=figures(session()), rho_bar=0.1)
    assert "--rho-bar is 0.1" in result.contradictions[0]
    above = calibrate(DEFAULT_PROFILE, [], logprobs=figures(session(prose=(0.9, 0.9))))
    assert "sum to more than" in above.contradictions[0]


def test_drafts_accepted_more_often_than_the_likeliest_token_are_a_contradiction() -> None:
    tokenizer, layout = load_tokenizer("qwen3"), Layout.named("hermes")
    options = TagOptions(raw_family="hermes")
    tokens = tag_session(session(), tokenizer, layout, options).turns[0].final.labels.n_tokens
    recorded = session(prose=(0.5, 0.5), rounds=(tokens - 2,))
    many = [tag_session(recorded, tokenizer, layout, options)] * 200
    result = calibrate(DEFAULT_PROFILE, [], many, logprobs=figures(recorded))
    assert any("class F" in text for text in result.contradictions)
    assert {one.label for one in result.kappa} >= {"F"}
