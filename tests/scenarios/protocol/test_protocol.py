"""The protocol's predicates can come out every way, and nothing runs before it is declared."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import orjson
import pytest

from scenarios.options.read import ReadOptions
from scenarios.options.replay import (
    AcceptanceOptions,
    ClusterOptions,
    CostOptions,
    LoadOptions,
    OptionError,
    PlatformOptions,
    ReplayOptions,
)
from scenarios.protocol import replays
from scenarios.protocol.arms import ArmOptions
from scenarios.protocol.calibration import calibrated
from scenarios.protocol.check import Outcome, Ruling, check, combined
from scenarios.protocol.pairs import compare_pair
from scenarios.protocol.prereg import REGISTRATION, arm_file, read_registration, registered, write_registration
from scenarios.protocol.replays import ProtocolOptions
from scenarios.protocol.report import ProtocolAnswer, check_protocol
from scenarios.protocol.results import CompositionFigures, Figures, Pair, Results, Run, read_results
from scenarios.protocol.schemas import read_tools
from scenarios.protocol.simulate import RESULTS, run_protocol
from scenarios.synth.words import Vocabulary
from simulator import law
from tokenclass.tokenizers import load_tokenizer
from traces.errors import TraceError


def figures(alpha: float, gamma: int = 4, rounds: float = 5000, **times: float) -> Figures:
    """Counts of rounds whose drafts are accepted independently with probability *alpha*."""
    return Figures(num_drafts=rounds, accepted_per_pos=tuple(rounds * alpha**i for i in range(1, gamma + 1)), **times)


def results(alpha_S: float, alpha_R: float, alpha_F: float, rounds: float = 5000, **more: Any) -> Results:
    arms = {"A": alpha_F, "B": alpha_S, "C": alpha_R}
    runs = [
        Run(arm=arm, gamma=4, batch=1, w_S=float(arm == "B"), figures=figures(alpha, rounds=rounds))
        for arm, alpha in arms.items()
    ]
    return Results(origin="measured", runs=runs, **more)


def by_name(rulings: list[Ruling]) -> dict[str, Ruling]:
    return {ruling.predicate: ruling for ruling in rulings if ruling.estimate is not None}


def test_rounds_give_the_law_s_tau_and_its_spread() -> None:
    found = by_name(check(results(0.9, 0.6, 0.5), []))
    ratio = found["P1 tau_S / tau_F"].estimate
    assert ratio is not None
    assert ratio.value == pytest.approx(law.tau(0.1, 4) / law.tau(0.5, 4))
    draws = np.random.default_rng(0).geometric([[0.1], [0.5]], (2, 200_000)) - 1
    means, errors = np.minimum(draws, 4).mean(axis=1), np.minimum(draws, 4).std(axis=1) / np.sqrt(5000)
    half = 1.96 * np.sqrt(((errors / means) ** 2).sum())
    assert np.log(ratio.high / ratio.value) == pytest.approx(half, rel=0.02)


@pytest.mark.parametrize(
    ("alphas", "rounds", "p1", "r1"),
    [
        ((0.9, 0.7, 0.5), 5000, Outcome.NOT_REJECTED, Outcome.NOT_REJECTED),
        ((0.9, 0.5, 0.7), 5000, Outcome.REJECTED, Outcome.NOT_REJECTED),
        ((0.6, 0.55, 0.5), 5000, Outcome.REJECTED, Outcome.NOT_REJECTED),
        ((0.4, 0.5, 0.6), 5000, Outcome.REJECTED, Outcome.REJECTED),
        ((0.7, 0.69, 0.68), 30, Outcome.NOT_ENOUGH, Outcome.NOT_ENOUGH),
    ],
)
def test_p1_and_r1_come_out_every_way(
    alphas: tuple[float, float, float], rounds: float, p1: Outcome, r1: Outcome
) -> None:
    rulings = check(results(*alphas, rounds=rounds), [])
    assert (combined(rulings, "P1"), combined(rulings, "R1")) == (p1, r1)


@pytest.mark.parametrize(
    ("tpot_ms", "error_ms", "w_S", "outcome"),
    [
        (10.0, 0.1, 0.7, Outcome.NOT_REJECTED),
        (22.0, 0.1, 0.7, Outcome.REJECTED),
        (19.9, 2.0, 0.7, Outcome.NOT_ENOUGH),
        (22.0, 0.1, 0.5, Outcome.NOT_ENOUGH),
        (22.0, None, 0.7, Outcome.NOT_ENOUGH),
    ],
)
def test_r2_looks_at_mixes_with_schema(tpot_ms: float, error_ms: float | None, w_S: float, outcome: Outcome) -> None:
    times = {"tpot_s": tpot_ms / 1e3, "plain_tpot_s": 0.02, "plain_tpot_error_s": 1e-4}
    if error_ms is not None:
        times["tpot_error_s"] = error_ms / 1e3
    run = Run(arm="D", gamma=4, batch=8, w_S=w_S, figures=figures(0.6, **times))
    assert combined(check(Results(origin="measured", runs=[run]), []), "R2") is outcome


@pytest.mark.parametrize(
    ("joint", "outcome"),
    [
        ([1.0, 1.01, 0.99], Outcome.NOT_REJECTED),
        ([1.5, 1.52, 1.49], Outcome.REJECTED),
        ([1.0, 1.5, 0.8], Outcome.NOT_ENOUGH),
        ([1.0], Outcome.NOT_ENOUGH),
    ],
)
def test_r3_needs_repetitions(joint: list[float], outcome: Outcome) -> None:
    given = Results(origin="measured", composition=CompositionFigures(formula=[1.0] * len(joint), joint=joint))
    assert combined(check(given, []), "R3") is outcome


def test_rounds_of_one_session_are_not_independent() -> None:
    """Sessions that differ in acceptance: the interval covers what new sessions would give, the naive one does not."""
    generator = np.random.default_rng(1)
    covered = naive = 0
    for _ in range(200):
        runs, pooled = [], []
        for arm, mean in (("B", 3.0), ("A", 2.0)):
            rounds = generator.integers(200, 600, 30).astype(float)
            accepted = mean * generator.lognormal(-0.02, 0.2, 30) * rounds
            plain = Figures(num_drafts=rounds.sum(), accepted_per_pos=(accepted.sum() / 8,) * 8)
            by_session = msgspec.structs.replace(
                plain, rounds_by_session=tuple(rounds), accepted_by_session=tuple(accepted)
            )
            runs.append(Run(arm=arm, gamma=8, batch=1, figures=by_session))
            pooled.append(Run(arm=arm, gamma=8, batch=1, figures=plain))
        wide, narrow = (
            by_name(check(Results(origin="measured", runs=some), []))["R1 tau_S <= tau_F"] for some in (runs, pooled)
        )
        assert wide.estimate is not None
        assert narrow.estimate is not None
        assert wide.estimate.value == pytest.approx(narrow.estimate.value)
        covered += wide.estimate.low <= 1.5 <= wide.estimate.high
        naive += narrow.estimate.low <= 1.5 <= narrow.estimate.high
        assert wide.sessions == 30
        assert "independent" in narrow.reason
    assert 182 <= covered <= 198
    assert naive < 160


def test_one_session_has_no_spread() -> None:
    runs = [
        Run(
            arm=arm,
            gamma=4,
            batch=1,
            figures=msgspec.structs.replace(
                figures(alpha), rounds_by_session=(5000.0,), accepted_by_session=(5000 * law.tau(1 - alpha, 4),)
            ),
        )
        for arm, alpha in (("B", 0.9), ("A", 0.5))
    ]
    ruling = by_name(check(Results(origin="measured", runs=runs), []))["R1 tau_S <= tau_F"]
    assert ruling.outcome is Outcome.NOT_ENOUGH


TERMS = {"nu": 1.25, "h": 0.9, "c_hit": 0.02, "C_pre": 0.5, "C_dec": 3.0, "c_net": 12.0, "c_1": 15.0}


def ruled_r3(*repetitions: dict[str, float]) -> Ruling:
    given = msgspec.convert({"origin": "measured", "composition": {"measured": list(repetitions)}}, Results)
    return next(ruling for ruling in check(given, []) if ruling.predicate == "R3")


@pytest.mark.parametrize(
    ("C_totals", "outcome"),
    [((3.07, 3.1, 3.05), Outcome.NOT_REJECTED), ((4.0, 4.1, 3.9), Outcome.REJECTED), ((3.07,), Outcome.NOT_ENOUGH)],
)
def test_r3_from_measured_terms(C_totals: tuple[float, ...], outcome: Outcome) -> None:
    predicted = 1.25 * ((1 - 0.9 + 0.9 * 0.02) * 0.5 + 12 / 15 * 3.0)
    ruling = ruled_r3(*({**TERMS, "C_total": value} for value in C_totals))
    assert ruling.outcome is outcome
    assert ruling.n == len(C_totals)
    assert ruling.estimate is not None
    assert ruling.estimate.value == pytest.approx(np.mean([abs(predicted / value - 1) for value in C_totals]))


def test_r3_says_which_terms_are_missing(tmp_path: Path) -> None:
    ruling = ruled_r3({**TERMS, "C_total": 3.0}, {name: TERMS[name] for name in ("nu", "h", "C_pre", "c_1")})
    assert ruling.outcome is Outcome.NOT_ENOUGH
    assert ruling.reason == "repetition 2 of C_total lacks c_hit, C_dec, c_net, C_total"
    path = tmp_path / "m.json"
    wrong = {**TERMS, "C_total": 3, "h": 2}
    path.write_bytes(orjson.dumps({"origin": "measured", "composition": {"measured": [wrong]}}))
    with pytest.raises(TraceError, match="h 2"):
        read_results(path)


def write_outputs(path: Path, rows: dict[str, list[int]]) -> None:
    path.write_bytes(b"".join(orjson.dumps({"id": name, "token_ids": ids}) + b"\n" for name, ids in rows.items()))


def test_r4_shows_the_first_mismatch(tmp_path: Path) -> None:
    write_outputs(tmp_path / "a", {"p1": [1, 2, 3], "p2": [4, 5, 6, 7], "p3": [8]})
    write_outputs(tmp_path / "b", {"p1": [1, 2, 3], "p2": [4, 5, 9, 7], "p4": [8]})
    compared = compare_pair(Pair(plain="a", speculative="b"), tmp_path)
    assert (compared.outputs, compared.mismatched, compared.unpaired, compared.tokens) == (2, 1, 2, 5)
    assert compared.first is not None
    assert (compared.first.output, compared.first.position) == ("p2", 2)
    assert "6 without, 9 with" in compared.first.text
    assert combined(check(Results(origin="measured"), [compared]), "R4") is Outcome.REJECTED
    same = compare_pair(Pair(plain="a", speculative="a"), tmp_path)
    assert combined(check(Results(origin="measured"), [same]), "R4") is Outcome.NOT_REJECTED


def test_r4_sees_an_output_that_ends_early_and_reads_benchmark_texts(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(orjson.dumps({"generated_texts": ["same", "longer"]}))
    (tmp_path / "b.json").write_bytes(orjson.dumps({"generated_texts": ["same", "long"]}))
    compared = compare_pair(Pair(plain="a.json", speculative="b.json"), tmp_path)
    assert compared.first is not None
    assert (compared.mismatched, compared.first.position) == (1, 4)
    assert "the end with" in compared.first.text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("protocol")
    run_protocol(small(), ReadOptions(), folder)
    return folder


def small(**replay: Any) -> ProtocolOptions:
    return ProtocolOptions(arms=ArmOptions(sessions=12), replay=ReplayOptions(**replay), gammas=(2, 4), batches=(1, 4))


def test_the_declaration_is_hashed_and_stands_before_anything_runs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registration = read_registration(folder / REGISTRATION)
    assert set(registration.content.arms) == set("ABCD")
    assert registration.content.arms["B"].w_S == 1
    assert registration.content.arms["A"].w_F == 1
    assert registration.content.arms["C"].w_R > 0.9

    def stopped(*_: object) -> None:
        assert (tmp_path / REGISTRATION).exists()
        raise InterruptedError

    monkeypatch.setattr(replays, "replay_once", stopped)
    with pytest.raises(InterruptedError):
        run_protocol(small(), ReadOptions(), tmp_path)
    assert read_registration(tmp_path / REGISTRATION).sha256 == registration.sha256


def test_another_experiment_does_not_replace_a_declaration(folder: Path) -> None:
    with pytest.raises(TraceError, match="declares another experiment"):
        run_protocol(small(acceptance=AcceptanceOptions(eps={"S": 0.2, "R": 0.2, "F": 0.2})), ReadOptions(), folder)


def test_a_changed_declaration_is_refused(folder: Path, tmp_path: Path) -> None:
    changed = (folder / REGISTRATION).read_text().replace('"p1_ratio": 1.5', '"p1_ratio": 1.1')
    (tmp_path / REGISTRATION).write_text(changed)
    with pytest.raises(TraceError, match="changed after declaration"):
        read_registration(tmp_path / REGISTRATION)


def copied(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target / RESULTS


def test_thresholds_of_one_s_own_are_refused_though_their_hash_is_right(folder: Path, tmp_path: Path) -> None:
    found = copied(folder, tmp_path / "own")
    content = msgspec.structs.replace(read_registration(folder / REGISTRATION).content, p1_ratio=1.1)
    write_registration(registered(content), found.parent / REGISTRATION, force=True)
    with pytest.raises(TraceError, match=r"p1_ratio 1\.1, not 1\.5"):
        check_protocol(found)


def test_other_traffic_than_declared_is_refused(folder: Path, tmp_path: Path) -> None:
    found = copied(folder, tmp_path / "traffic")
    arm = found.parent / arm_file("B")
    lines = arm.read_bytes().splitlines(keepends=True)
    arm.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(TraceError, match="not the traffic declared for arm B"):
        check_protocol(found)


def test_results_under_another_or_no_declaration(folder: Path, tmp_path: Path) -> None:
    found = copied(folder, tmp_path / "results")
    document = orjson.loads(found.read_bytes())
    found.write_bytes(orjson.dumps({**document, "preregistration_sha256": "0" * 64}))
    with pytest.raises(TraceError, match="under another declaration"):
        check_protocol(found)
    found.write_bytes(orjson.dumps({**document, "preregistration_sha256": None}))
    assert any("name no declaration" in note for note in check_protocol(found).notes)


def test_the_declaration_states_what_its_levers_may_cost_in_quality(folder: Path, tmp_path: Path) -> None:
    """One made before that was stated keeps its hash."""
    answer = check_protocol(folder / RESULTS)
    assert answer.quality is not None
    assert (answer.quality.total, answer.quality.undeclared) == (0.0, [])
    declared = read_registration(folder / REGISTRATION)
    stated = msgspec.to_builtins(declared.content)
    del stated["quality"]
    older = hashlib.sha256(msgspec.json.encode(stated, order="sorted"))
    path = tmp_path / REGISTRATION
    path.write_text(json.dumps({"sha256": older.hexdigest(), "content": stated}))
    assert read_registration(path).content.quality is None


def test_a_simulation_says_that_it_cannot_confirm_the_law(folder: Path) -> None:
    answer = check_protocol(folder / RESULTS)
    assert any("cannot confirm the law" in note for note in answer.notes)
    assert answer.outcomes["R4"] is Outcome.NOT_ENOUGH
    assert answer.outcomes["R1"] is Outcome.NOT_REJECTED


def test_arm_a_gives_back_the_constants_that_were_declared(tmp_path: Path) -> None:
    costs = CostOptions(c_T_ms=10.0, delta=0.02, d=0.1, overhead=0.3)
    options = ProtocolOptions(
        arms=ArmOptions(sessions=40), replay=ReplayOptions(cost=costs), gammas=(2, 4), batches=(1,)
    )
    registration, found = run_protocol(options, ReadOptions(), tmp_path)
    (row,) = calibrated(found, registration.content)
    assert row.c_1_s == pytest.approx(0.01)
    assert row.delta_plus_d == pytest.approx(0.12, rel=0.2)
    assert row.delta == pytest.approx((row.delta_plus_d or 0) - 0.1)
    assert row.o == pytest.approx(0.3, rel=0.2)
    declared = registration.content.acceptance["kappa"]
    assert list(row.kappa.values()) == pytest.approx([declared, declared], rel=0.03)


def measured(tmp_path: Path, **run: Any) -> ProtocolAnswer:
    manifest = {"origin": "measured", "runs": [{"arm": "B", "gamma": 2, "batch": 1, "w_S": 0.9, **run}]}
    (tmp_path / "manifest.json").write_bytes(orjson.dumps(manifest))
    return check_protocol(tmp_path / "manifest.json")


def bench(mean_ms: float, drafts: int = 0) -> bytes:
    rates = [0.8, 0.6] if drafts else []
    return orjson.dumps(
        {
            "completed": 400,
            "mean_tpot_ms": mean_ms,
            "std_tpot_ms": 1.0,
            "spec_decode_num_drafts": drafts,
            "spec_decode_draft_tokens": 2 * drafts,
            "spec_decode_accepted_tokens": 1.4 * drafts,
            "spec_decode_per_position_acceptance_rates": rates,
        }
    )


def test_a_manifest_of_benchmark_results(tmp_path: Path) -> None:
    (tmp_path / "on.json").write_bytes(bench(10.0, 5000))
    (tmp_path / "off.json").write_bytes(bench(20.0))
    answer = measured(tmp_path, files={"bench": "on.json", "plain_bench": "off.json"})
    r2 = next(ruling for ruling in answer.rulings if ruling.predicate == "R2")
    assert r2.estimate is not None
    assert r2.estimate.value == pytest.approx(0.5)
    assert r2.outcome is Outcome.NOT_REJECTED
    assert any("no pre-registration" in note for note in answer.notes)


def test_requests_give_sessions_to_a_manifest(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"r{number}",
            "metrics": {
                "acceptance_histogram": [2, 3, 5 + number],
                "num_spec_steps": 10 + number,
                "num_accepted_draft_tokens": 13 + 2 * number,
                "num_draft_tokens": 2 * (10 + number),
            },
        }
        for number in range(4)
    ]
    (tmp_path / "requests.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    files = {"requests": "requests.jsonl"}
    runs = [{"arm": arm, "gamma": 2, "batch": 1, "files": files} for arm in ("A", "B")]
    (tmp_path / "manifest.json").write_bytes(orjson.dumps({"origin": "measured", "runs": runs}))
    ruling = by_name(check_protocol(tmp_path / "manifest.json").rulings)["R1 tau_S <= tau_F"]
    assert ruling.sessions == 4
    assert ruling.n == 46
    assert ruling.estimate is not None
    assert ruling.estimate.value == pytest.approx(1)


def test_replicas_and_waits_are_declared_and_used(folder: Path, tmp_path: Path) -> None:
    options = small(cluster=ClusterOptions(replicas=2), load=LoadOptions(tool_speedup=4.0))
    registration, found = run_protocol(options, ReadOptions(), tmp_path)
    declared = registration.content.platform
    assert (declared["replicas"], declared["tool_speedup"]) == (2, 4.0)
    single = read_results(folder / RESULTS)
    assert [run.figures for run in found.runs] != [run.figures for run in single.runs]
    with pytest.raises(OptionError, match="exclude each other"):
        run_protocol(small(load=LoadOptions(request_rate=1.0)), ReadOptions(), tmp_path / "rate")


def test_a_drafter_without_a_model_is_not_measured_on_invented_text(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="invented"):
        run_protocol(small(platform=PlatformOptions(speculative_method="ngram")), ReadOptions(), tmp_path)


def test_a_manifest_that_contradicts_its_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "on.json").write_bytes(bench(10.0, 5000))
    with pytest.raises(TraceError, match="drafts 2 tokens a round"):
        measured(tmp_path, gamma=8, files={"bench": "on.json"})
    with pytest.raises(TraceError, match="either figures or files"):
        measured(tmp_path)


def test_schema_files_that_hold_none_are_errors(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"id": 1}\n')
    with pytest.raises(TraceError, match="no function schemas"):
        read_tools(tmp_path / "x.json", Vocabulary(load_tokenizer()))
    (tmp_path / "y.json").write_text("not json\n")
    with pytest.raises(TraceError, match=r"y\.json:1"):
        read_tools(tmp_path / "y.json", Vocabulary(load_tokenizer()))


def test_results_survive_their_file(folder: Path) -> None:
    found = read_results(folder / RESULTS)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Results) == found
    assert found.preregistration_sha256 == read_registration(folder / REGISTRATION).sha256
