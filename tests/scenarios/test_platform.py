"""Hardware, precision, placement, prices and step times as the options resolve them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import CostOptions, PlatformOptions
from scenarios.resolve.platform import Platform, resolve_platform
from simulator.cost import RooflineCost
from simulator.hardware import GPUS, MODELS, gpu_named
from simulator.origin import Origin
from tests.simulator.test_hardware_config import QWEN3_32B
from traces.errors import TraceError


def resolve(costs: CostOptions | None = None, **options: Any) -> tuple[Platform, ParameterBook]:
    book = ParameterBook()
    return resolve_platform(PlatformOptions(**options), costs or CostOptions(), book), book


def test_every_parameter_of_the_default_platform_has_an_origin() -> None:
    platform, book = resolve()
    assert {
        "gpu",
        "model",
        "draft_model",
        "quantization",
        "kv_cache_dtype",
        "step_time",
        "max_watts",
    } <= book.entries.keys()
    assert all(entry.source for entry in book.entries.values())
    assert {"efficiency.flops", "efficiency.draft_layer_overhead_s"} <= book.entries.keys()
    assert platform.gpu_usd_per_s == platform.baseline_gpu_usd_per_s == GPUS["H200"].price.usd_per_hour / 3600
    assert (platform.n_gpus, platform.baseline_n_gpus, len(platform.power)) == (1, 1, 1)


def test_the_baseline_has_no_drafter() -> None:
    platform, _ = resolve()
    assert isinstance(platform.baseline_cost, RooflineCost)
    assert platform.baseline_cost.draft is None
    assert platform.baseline_engine.num_gpu_blocks > platform.engine.num_gpu_blocks


def test_a_model_that_does_not_fit_is_an_error_in_gigabytes() -> None:
    with pytest.raises(ValueError, match=r"Qwen3-235B-A22B.*on 1 x H200: \d+\.\d GB short"):
        resolve(model="Qwen3-235B-A22B")
    platform, _ = resolve(model="Qwen3-235B-A22B", tensor_parallel_size=4)
    assert platform.gpu_usd_per_s == pytest.approx(4 * GPUS["H200"].price.usd_per_hour / 3600)


@pytest.mark.parametrize("method", ["eagle", "eagle3", "mtp", "medusa"])
def test_heads_leave_more_cache_than_a_draft_model_and_cost_less_a_pass(method: str) -> None:
    head, _ = resolve(speculative_method=method, num_speculative_tokens=4)
    draft, _ = resolve(num_speculative_tokens=4)
    none, _ = resolve(speculative_method="ngram", num_speculative_tokens=4)
    assert draft.engine.num_gpu_blocks < head.engine.num_gpu_blocks < none.engine.num_gpu_blocks
    times = [float(one.cost.decode_s(1, 4, 1000, 4)) for one in (none, head, draft)]
    assert times == sorted(times)


def test_quantization_and_cache_precision_make_room() -> None:
    full, _ = resolve(gpu="H100-SXM", draft_model="Qwen3-0.6B", max_model_len=8192)
    small, book = resolve(gpu="H100-SXM", draft_model="Qwen3-0.6B", quantization="fp8", kv_cache_dtype="fp8")
    assert small.engine.num_gpu_blocks > 8 * full.engine.num_gpu_blocks
    assert (book.entries["quantization"].value, book.entries["kv_cache_dtype"].value) == ("fp8", "fp8")


def test_a_separate_draft_costs_a_gpu_and_frees_memory() -> None:
    local, _ = resolve()
    own, book = resolve(draft_placement="separate", draft_gpu="L40S")
    assert own.n_gpus == 2
    assert own.baseline_n_gpus == 1
    assert own.gpu_usd_per_s - own.baseline_gpu_usd_per_s == pytest.approx(GPUS["L40S"].price.usd_per_hour / 3600)
    assert own.power[1].max_watts == gpu_named("L40S").max_watts
    assert own.engine.num_gpu_blocks > local.engine.num_gpu_blocks
    assert book.entries["rtt_ms"].source == "two GPUs of one host"


def test_the_smaller_memory_bounds_the_cache_of_a_separate_draft() -> None:
    wide, _ = resolve(draft_placement="separate", draft_gpu="H200")
    narrow, _ = resolve(draft_placement="separate", draft_gpu="RTX-4090", max_model_len=8192)
    assert narrow.engine.num_gpu_blocks < wide.engine.num_gpu_blocks


def test_a_remote_draft_pays_its_round_trip_each_round() -> None:
    near, _ = resolve(draft_placement="remote", rtt_ms=0.0)
    far, _ = resolve(draft_placement="remote", rtt_ms=40.0)
    assert far.cost.decode_s(1, 8, 1000, 8) - near.cost.decode_s(1, 8, 1000, 8) == pytest.approx(0.04)
    assert far.baseline_cost.decode_s(1, 0, 1000, 0) == near.baseline_cost.decode_s(1, 0, 1000, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draft_placement": "remote"}, "--draft-placement remote needs --rtt-ms"),
        ({"draft_placement": "remote", "rtt_ms": -1.0}, "--rtt-ms is -1.0"),
        ({"rtt_ms": 3.0}, "--rtt-ms and --draft-gpu need --draft-placement"),
        ({"draft_placement": "separate", "speculative_method": "eagle"}, "needs --speculative-method draft_model"),
        ({"draft_placement": "moon"}, "--draft-placement 'moon' is not one of local, separate, remote"),
        ({"quantization": "int3"}, "--quantization 'int3' is not one of"),
        ({"kv_cache_dtype": "int8"}, "--kv-cache-dtype 'int8' is not one of auto, fp8"),
        ({"tensor_parallel_size": 3}, "--tensor-parallel-size 3 does not divide the 64 heads"),
        ({"tensor_parallel_size": 0}, "--tensor-parallel-size is 0"),
        ({"model": "Llama-3.1-8B"}, "--draft-model Qwen3-4B has 151936 tokens and --model Llama-3.1-8B 128256"),
        ({"gpu_price_per_hour": -1.0}, "--gpu-price-per-hour is -1.0"),
        ({"idle_watts": 800.0}, "--idle-watts is 800.0 and --max-watts 700"),
        ({"draft_model": "Qwen3-5B"}, "--draft-model 'Qwen3-5B' is not in the catalogue; did you mean"),
    ],
)
def test_options_that_cannot_be_used_name_themselves(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve(**options)


def test_a_checkpoint_on_disk_is_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "my-qwen"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(QWEN3_32B))
    for given in (folder, folder / "config.json"):
        platform, book = resolve(model=str(given))
        assert book.entries["model"].value == "my-qwen"
        assert isinstance(platform.cost, RooflineCost)
        assert platform.cost.target.params == MODELS["Qwen3-32B"].params


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        ('{"hidden_size": 8}', "num_attention_heads: is missing"),
        (json.dumps({**QWEN3_32B, "ssm_cfg": {"a": 1}}), "state-space"),
    ],
)
def test_unusable_checkpoint_files_name_file_and_reason(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(TraceError, match=message) as caught:
        resolve(model=str(path))
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("prices.toml", 'date = "2026-11"\n[usd_per_gpu_hour]\nh200 = 2.0\n'),
        ("prices.json", '{"date": "2026-11", "usd_per_gpu_hour": {"H200": 2.0}}'),
    ],
)
def test_the_users_prices_replace_the_listed_ones(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    platform, book = resolve(prices=str(path))
    assert platform.gpu_usd_per_s == 2.0 / 3600
    assert book.entries["gpu_price_per_hour"].source == f"{name}, 2026-11"
    other, book = resolve(prices=str(path), gpu="B200")
    assert other.gpu_usd_per_s == GPUS["B200"].price.usd_per_hour / 3600
    assert book.entries["gpu_price_per_hour"].source.startswith(f"not in {name}; ")
    assert resolve(prices=str(path), gpu_price_per_hour=9.0)[0].gpu_usd_per_s == 9.0 / 3600


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("H200 = 2", "is no price table"),
        ("[usd_per_gpu_hour]\nH2000 = 2", "did you mean H200"),
        ("[usd_per_gpu_hour]\nH200 = -2", "H200 costs -2"),
        ("[usd_per_gpu_hour]\nH200 = nan", "H200 costs nan"),
        ("usd_per_gpu_hour = [", "is no price table"),
    ],
)
def test_unusable_price_tables_name_file_and_reason(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(content)
    with pytest.raises(TraceError, match=message):
        resolve(prices=str(path))
    with pytest.raises(TraceError, match="cannot be read"):
        resolve(prices=str(tmp_path / "none.toml"))


def test_declared_constants_replace_the_roofline_as_a_whole() -> None:
    platform, book = resolve(CostOptions(c_T_ms=20.0, d=0.1))
    assert platform.cost.decode_s(1, 8, 5, 8) == pytest.approx(0.036)
    assert book.entries["step_time"].origin is Origin.DECLARED
    assert "efficiency.flops" not in book.entries
