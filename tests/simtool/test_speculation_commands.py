"""Measured drafters, draft depths by rule, law-check, optimize-gamma and calibrate as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.scenarios.server.test_perrequest import response
from tests.shared import AGENT_LOOP

SAMPLE = str(AGENT_LOOP)


@pytest.mark.parametrize("method", ["ngram", "suffix"])
def test_acceptance_of_a_drafter_without_model_is_measured(replayed, method: str) -> None:
    document = replayed("--speculative-method", method, "--gamma", "4")
    assert document["config"]["acceptance"]["origin"] == "measured"
    assert document["config"]["draft_model"]["value"] is None
    tokens = document["comparison"][0]
    assert tokens["measured"] == pytest.approx(tokens["sampled"], rel=1e-3)
    assert tokens["exact"] == pytest.approx(tokens["measured"], rel=0.02)
    speculation = document["replay"]["speculation"]
    assert 0 < speculation["num_draft_tokens"] < 4 * document["replay"]["total_output_tokens"]
    assert document["replay"]["cost"]["C_pre_draft_s"] == 0
    tau = {row["label"]: row["tau"] for row in document["classes"]}
    assert tau["S"] > tau["F"]
    assert {row["name"] for row in document["predictions"]} == {"P1", "R1", "R2"}
    assert document["verdict"]["spread_of"].startswith("measured")


def test_measured_drafters_do_not_depend_on_the_seed_but_on_their_options(replayed) -> None:
    base = ("--speculative-method", "ngram")
    one, other = (replayed(*base, "--seed", seed)["comparison"][0]["measured"] for seed in ("1", "2"))
    shorter = replayed(*base, "--prompt-lookup-min", "2", "--prompt-lookup-max", "3")
    latest = replayed(*base, "--prompt-lookup-match", "latest")
    assert one == other
    assert shorter["comparison"][0]["measured"] > one
    assert latest["comparison"][0]["measured"] != one
    assert latest["config"]["prompt_lookup_match"]["value"] == "latest"


def test_repeated_draws_repeat_the_measured_rounds(replayed) -> None:
    once = replayed("--speculative-method", "ngram", "--nu", "1")
    twice = replayed("--speculative-method", "ngram", "--nu", "2")
    rate = "mean_acceptance_length"
    assert twice["replay"]["speculation"][rate] == pytest.approx(once["replay"]["speculation"][rate], rel=0.05)
    assert twice["replay"]["total_output_tokens"] > 1.6 * once["replay"]["total_output_tokens"]


def test_declared_acceptance_takes_the_place_of_the_measured_one(replayed) -> None:
    document = replayed("--speculative-method", "ngram", "--acceptance-length", "3")
    assert document["config"]["acceptance"]["origin"] == "declared"
    assert document["comparison"][0]["exact"] == pytest.approx(3, rel=0.03)


def test_a_recording_without_text_cannot_be_measured_on(cli, tmp_path: Path) -> None:
    file = tmp_path / "mooncake.jsonl"
    line = '{"timestamp": %d, "input_length": 600, "output_length": 20, "hash_ids": [1, %d]}\n'
    file.write_text("".join(line % (at, at + 2) for at in range(5)))
    ran = cli("replay", str(file), "--speculative-method", "ngram")
    assert ran.code == 2
    assert "--acceptance-length" in ran.err


def test_depths_by_class_draft_less_than_one_depth(replayed) -> None:
    fixed = replayed("--gamma", "8")
    by_class = replayed("--gamma", "S=8,R=2,F=0,T=4")
    assert by_class["config"]["num_speculative_tokens"]["value"] == 8
    assert by_class["config"]["gamma_by_class"]["value"].startswith("D=8,N=8,K=8,V=8,T=4,P=8,R=2,F=0")
    drafted = [one["replay"]["speculation"]["num_draft_tokens"] for one in (by_class, fixed)]
    assert drafted[0] < 0.7 * drafted[1]
    equal = replayed("--gamma", "S=8,R=8,F=8")
    assert equal["replay"] == fixed["replay"]


def test_depths_by_tool_change_the_calls_of_that_tool_alone(replayed) -> None:
    fixed = replayed("--gamma", "8")
    deeper = replayed("--gamma", "8,call:edit_file=16")
    assert deeper["config"]["num_speculative_tokens"]["value"] == 16
    assert deeper["config"]["gamma_by_tool"]["value"] == "edit_file=16"
    rounds = [{one["label"]: one["rounds"] for one in document["classes"]} for document in (fixed, deeper)]
    assert rounds[1]["R"] == pytest.approx(rounds[0]["R"], rel=1e-3)
    assert rounds[1]["S"] < rounds[0]["S"]
    drafted = [one["replay"]["speculation"]["num_draft_tokens"] for one in (fixed, deeper)]
    assert drafted[0] < drafted[1] < 1.5 * drafted[0]
    every = replayed("--gamma", "8,call:edit_file=8")
    assert every["replay"] == fixed["replay"]


def test_depths_by_batch_size_and_confidence_cut_rounds(replayed) -> None:
    fixed = replayed("--gamma", "8", "--max-concurrency", "4")
    for args in (("--gamma-by-batch-size", "1-2:8,3-:1"), ("--confidence-threshold", "0.5")):
        cut = replayed("--gamma", "8", "--max-concurrency", "4", *args)
        rates = [one["replay"]["speculation"]["draft_acceptance_rate"] for one in (cut, fixed)]
        assert rates[0] > rates[1]
        assert cut["replay"]["total_output_tokens"] == fixed["replay"]["total_output_tokens"]


@pytest.mark.parametrize(
    ("args", "needed"),
    [
        (("--gamma", "x"), "give 0..1024"),
        (("--gamma", "S=4"), "no depth for R, F"),
        (("--gamma", "Q=4,S=1,R=1,F=1"), "'Q' is no class"),
        (("--gamma", "8,call:edit_fil=4"), "did you mean edit_file?"),
        (("--gamma", "8,call:=4"), "or call:TOOL"),
        (("--gamma-by-batch-size", "1-8"), "not LOW-HIGH:DEPTH"),
        (("--gamma-by-batch-size", "1-8:4,8-9:2"), "overlap"),
        (("--gamma-by-batch-size", "1-8:9"), "at most --gamma (8)"),
        (("--confidence-threshold", "2"), "within 0 and 1"),
        (("--confidence-threshold", "0.5", "--speculative-method", "ngram"), "no probabilities"),
        (("--prompt-lookup-min", "0"), "--prompt-lookup-min is 0"),
        (("--prompt-lookup-min", "6"), "--prompt-lookup-max is 5"),
        (("--suffix-decoding-max-tree-depth", "1"), "max-tree-depth is 1"),
        (("--suffix-decoding-min-token-prob", "1.5"), "within 0 and 1"),
        (("--profile", "none.json"), "none.json"),
        (("--profile", "none.json", "--eps", "S=0"), "exclude each other"),
    ],
)
def test_bad_options_name_option_value_and_rule(cli, args: tuple[str, ...], needed: str) -> None:
    ran = cli("replay", SAMPLE, *args)
    assert ran.code in (2, 3)
    assert needed in " ".join(ran.err.replace("│", " ").split())
    assert "Traceback" not in ran.err


def test_law_check_prints_each_reckoning(cli) -> None:
    ran = cli("law-check", SAMPLE, "--eps", "S=0.05,R=0.8,F=0.9")
    assert ran.code == 0
    for needed in (
        "law, per class",
        "span limit",
        "sampled",
        "By span length",
        "w_S*, on the real spans",
        "pays above",
    ):
        assert needed in ran.out


def test_optimize_gamma_replays_what_it_recommends(cli, replayed) -> None:
    ran = cli("optimize-gamma", SAMPLE, "--max-gamma", "6", "--json", "-")
    assert ran.code == 0
    document = json.loads(ran.out)
    fixed, by_class, by_size = document["candidates"]
    assert by_class["expected_net_saving"] >= fixed["expected_net_saving"] - 1e-9
    setting = replayed("--gamma", fixed["option"])["verdict"]["net_saving"]
    assert setting["value"] == pytest.approx(fixed["replayed"]["value"], abs=1e-12)
    sizes = [point["gamma"] for point in document["by_batch_size"]]
    assert sizes == sorted(sizes, reverse=True)  # the larger the batch, the dearer a draft
    option, _, rows = by_size["option"].partition(" --gamma-by-batch-size ")
    setting = replayed("--gamma", option, "--gamma-by-batch-size", rows)["verdict"]["net_saving"]
    assert setting["value"] == pytest.approx(by_size["replayed"]["value"], abs=1e-12)


def test_a_calibrated_profile_is_replayed(cli, replayed, tmp_path: Path) -> None:
    responses = tmp_path / "responses.jsonl"
    responses.write_text("".join(json.dumps(response([20 + at, 10, 30, 40])) + "\n" for at in range(20)))
    profile = tmp_path / "profile.json"
    ran = cli("calibrate", str(responses), "-o", str(profile), "--date", "2026-03-04")
    assert ran.code == 0, ran.err
    for needed in ("gamma 3", "acceptance length", "per depth", "bonus", "95 %"):
        assert needed in ran.out
    document = json.loads(profile.read_text())
    jsonschema.validate(document, json.loads(cli("schema", "profile").out))
    answer = replayed("--gamma", "3", "--profile", str(profile))
    length = 1 + sum(sum((20 + at, 10, 30, 40)[k] * k for k in range(4)) for at in range(20)) / sum(
        100 + at for at in range(20)
    )
    assert answer["comparison"][0]["exact"] == pytest.approx(length, rel=0.02)
    assert answer["config"]["eps.S" if "eps.S" in answer["config"] else "eps.T"]["origin"] == "measured"
    assert answer["verdict"]["spread"]["low"] < answer["verdict"]["spread"]["high"]


def test_a_profile_in_toml_is_read_too(cli, replayed, tmp_path: Path) -> None:
    profile = tmp_path / "profile.toml"
    eps = "\n".join(
        f'[eps.{name}]\nvalue = 0.5\nlow = 0.4\nhigh = 0.6\norigin = "measured"\nsource = "x"' for name in "DNKVTPRF"
    )
    kappa = 'kappa = {value = 1.0, low = 1.0, high = 1.0, origin = "declared", source = "x"}'
    profile.write_text(f'name = "mine"\n{kappa}\n{eps}\n')
    answer = replayed("--gamma", "1", "--profile", str(profile))
    assert answer["comparison"][0]["law"] == pytest.approx(1.5)
    profile.write_text("name = 3\n")
    ran = cli("replay", SAMPLE, "--profile", str(profile))
    assert ran.code == 3
    assert "not an acceptance profile" in ran.err


def test_calibrate_says_what_it_cannot_use(cli, tmp_path: Path) -> None:
    dump = tmp_path / "metrics"
    dump.write_text("# HELP x\nvllm:spec_decode_num_drafts_total 3\n")
    assert "--earlier" in cli("calibrate", str(dump), str(dump)).err
    ran = cli("calibrate", SAMPLE, "-o", str(tmp_path / "p.json"))
    assert ran.code == 2
    assert "no profile to write" in " ".join(ran.err.replace("│", " ").split())
    assert cli("calibrate", str(dump), "--date", "tomorrow").code == 2
    assert cli("calibrate", str(tmp_path / "none")).code == 3


@pytest.mark.parametrize("given", [["--draft-tree", "medusa-1"], ["--eps", "S=0.2,R=0.3,F=0.4"]])
def test_acceptance_without_a_spread_is_said_to_have_none(cli, given: list[str]) -> None:
    """One value twice would read as a verdict that holds."""
    shown = cli("replay", SAMPLE, "-q", *given).out
    assert "no spread" in shown
    assert "Across the spread" not in shown
