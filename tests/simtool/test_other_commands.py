"""simtool law, validate, convert and schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool

SAMPLE = str(AGENT_LOOP)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, *args)

    return run


def test_law_states_both_break_evens_and_decides_by_the_exact_one(cli) -> None:
    """At gamma 8 and delta + d = 0.1225 the first order is far off: 0.195 against 0.504."""
    document = json.loads(cli("law", "--gamma", "8", "--eps-bar", "0.3", "--json", "-").out)
    assert document["eps_star_first_order"] == pytest.approx(0.195, abs=5e-4)
    assert document["eps_star_exact"] == pytest.approx(0.504, abs=5e-4)
    assert document["saving"] > 0
    assert "pays at gamma 8" in cli("law", "--gamma", "8", "--eps-bar", "0.3").out


def test_law_from_classes_is_the_law_of_their_mean(cli) -> None:
    mix = ("--kappa", "1", "--rho-s", "0.95", "--rho-r", "0.7", "--rho-f", "0.6", "--w-s", "0.5", "--w-r", "0.3")
    document = json.loads(cli("law", *mix, "--w-f", "0.2", "--json", "-").out)
    assert document["eps_bar"] == pytest.approx(1 - (0.5 * 0.95 + 0.3 * 0.7 + 0.2 * 0.6))
    assert document["rho_n"] == pytest.approx((0.3 * 0.7 + 0.2 * 0.6) / 0.5)
    assert {"w_S_star_first_order", "w_S_star_exact", "dtau_dw"} <= document.keys()


@pytest.mark.parametrize(
    "args", [(), ("--eps-bar", "0.1", "--kappa", "1"), ("--kappa", "1", "--w-s", "0.9"), ("--eps-bar", "1.2")]
)
def test_law_refuses_too_little_too_much_and_out_of_range(cli, args: tuple[str, ...]) -> None:
    ran = cli("law", *args)
    assert ran.code == 2
    assert ran.out == ""


def test_validate_says_what_was_found(cli) -> None:
    ran = cli("validate", SAMPLE)
    assert ran.code == 0
    assert ran.out.startswith("Usable: 11 sessions, 110 of 110 turns")
    document = json.loads(cli("validate", SAMPLE, "--json", "-").out)
    assert (document["sessions"], document["attempts"], document["rejected_attempts"]) == (11, 118, 8)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"])
def test_a_converted_trace_replays_the_same(cli, tmp_path: Path, name: str) -> None:
    target = str(tmp_path / name)
    assert cli("convert", SAMPLE, target).code == 0
    ours = json.loads(cli("replay", target, "--json", "-").out)
    theirs = json.loads(cli("replay", SAMPLE, "--json", "-").out)
    for document in (ours, theirs):
        del document["trace"]["sha256"]
    assert ours == theirs


def test_convert_keeps_what_is_there(cli, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("mine")
    assert cli("convert", SAMPLE, str(target)).code == 2
    assert target.read_text() == "mine"
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"simtool_trace": 1}\n{"id": 3}\n')
    ran = cli("convert", str(broken), str(target), "--force")
    assert ran.code == 3
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl", "out.jsonl"]


def test_every_line_of_the_sample_fits_the_published_schema(cli) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(cli("schema", "trace").out))
    lines = AGENT_LOOP.read_text(encoding="utf-8").splitlines()
    for line in lines:
        validator.validate(json.loads(line))
    assert not validator.is_valid({"id": 3})


def test_version_names_the_modelled_engine(cli) -> None:
    assert "modelled engine: vLLM" in cli("--version").out
