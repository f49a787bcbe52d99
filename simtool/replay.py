"""``simtool replay``: is speculation worth it for this recording, how deep, and what does it cost?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simtool import options as o
from simtool import serving_options as v
from simtool import sessionoptions as agents
from simtool import specoptions as sp

_S = o.SPECULATION

EXIT_SLO_MISSED = 4
"""Exit code of --fail-on-slo."""


def command(
    traces: o.Paths,
    *,
    gamma: sp.Gamma = "8",
    speculative_method: Annotated[
        str,
        typer.Option(
            "--speculative-method",
            help="draft_model, eagle, eagle3, mtp, medusa, ngram, suffix or none.",
            rich_help_panel=_S,
        ),
    ] = "draft_model",
    draft_model: Annotated[
        str, typer.Option("--draft-model", help="Draft model by name, or its config.json.", rich_help_panel=_S)
    ] = "Qwen3-4B",
    kappa: Annotated[float | None, typer.Option(min=0, help="Draft alignment constant.", rich_help_panel=_S)] = None,
    rho_s: Annotated[float | None, typer.Option(min=0, max=1, help="Predictability of S.", rich_help_panel=_S)] = None,
    rho_r: Annotated[float | None, typer.Option(min=0, max=1, help="Predictability of R.", rich_help_panel=_S)] = None,
    rho_f: Annotated[float | None, typer.Option(min=0, max=1, help="Predictability of F.", rich_help_panel=_S)] = None,
    eps: Annotated[
        str | None,
        typer.Option(
            metavar="S=..,R=..,F=..",
            help="Mismatch by class, or by sub-class of S (D N K V T P).",
            rich_help_panel=_S,
        ),
    ] = None,
    acceptance_length: Annotated[
        float | None,
        typer.Option(min=1, help="Mean tokens a round emits at this gamma, as vLLM reports it.", rich_help_panel=_S),
    ] = None,
    profile: sp.Profile = None,
    gamma_by_batch_size: sp.GammaByBatchSize = None,
    confidence_threshold: sp.ConfidenceThreshold = None,
    prompt_lookup_min: sp.PromptLookupMin = 5,
    prompt_lookup_max: sp.PromptLookupMax = 5,
    prompt_lookup_match: sp.PromptLookupMatch = sp.Match.EARLIEST,
    suffix_decoding_max_tree_depth: sp.SuffixMaxTreeDepth = 24,
    suffix_decoding_max_cached_requests: sp.SuffixMaxCachedRequests = 10_000,
    suffix_decoding_max_spec_factor: sp.SuffixMaxSpecFactor = 1.0,
    suffix_decoding_min_token_prob: sp.SuffixMinTokenProb = 0.1,
    gpu: Annotated[str, typer.Option(help="GPU by name.", rich_help_panel=o.ENGINE)] = "H200",
    model: Annotated[
        str, typer.Option(help="Target model by name, or its config.json.", rich_help_panel=o.ENGINE)
    ] = "Qwen3-32B",
    quantization: Annotated[
        str, typer.Option(help="Weights: auto (as published), none, fp8, int4 or mxfp4.", rich_help_panel=o.ENGINE)
    ] = "auto",
    draft_quantization: Annotated[
        str, typer.Option(help="The same of the draft model.", rich_help_panel=o.ENGINE)
    ] = "auto",
    kv_cache_dtype: Annotated[str, typer.Option(help="auto (BF16) or fp8.", rich_help_panel=o.ENGINE)] = "auto",
    draft_placement: Annotated[
        str,
        typer.Option(
            help="local: draft on the target's GPUs; separate: on one more GPU; remote: across a network.",
            rich_help_panel=o.ENGINE,
        ),
    ] = "local",
    draft_gpu: Annotated[
        str | None, typer.Option(help="GPU of a draft that is not local; as --gpu.", rich_help_panel=o.ENGINE)
    ] = None,
    rtt_ms: Annotated[
        float | None, typer.Option(help="Round trip between draft and target in ms.", rich_help_panel=o.ENGINE)
    ] = None,
    cuda_graph_padding: Annotated[
        bool,
        typer.Option("--cuda-graph-padding", help="Pad steps to captured graph sizes.", rich_help_panel=o.ENGINE),
    ] = False,
    cost_table: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Measured step times (benchmarks/measure_gpu.py).", rich_help_panel=o.ENGINE),
    ] = None,
    tensor_parallel_size: Annotated[
        int, typer.Option("--tensor-parallel-size", "-tp", min=1, help="GPUs a replica.", rich_help_panel=o.ENGINE)
    ] = 1,
    max_num_seqs: Annotated[int | None, typer.Option(help="Sequences in a batch.", rich_help_panel=o.ENGINE)] = None,
    max_num_batched_tokens: Annotated[
        int | None, typer.Option(help="Token budget of a step.", rich_help_panel=o.ENGINE)
    ] = None,
    max_model_len: Annotated[
        int | None, typer.Option(help="Tokens of prompt and output.", rich_help_panel=o.ENGINE)
    ] = None,
    num_gpu_blocks: Annotated[
        int | None, typer.Option(help="KV blocks, instead of what the memory gives.", rich_help_panel=o.ENGINE)
    ] = None,
    gpu_memory_utilization: Annotated[
        float | None, typer.Option(help="Share of the memory that the engine may use.", rich_help_panel=o.ENGINE)
    ] = None,
    enable_chunked_prefill: Annotated[
        bool,
        typer.Option(
            "--enable-chunked-prefill/--no-enable-chunked-prefill", help="Chunk prompts.", rich_help_panel=o.ENGINE
        ),
    ] = True,
    long_prefill_token_threshold: Annotated[
        int | None, typer.Option(help="Largest prefill chunk; 0: no limit.", rich_help_panel=o.ENGINE)
    ] = None,
    c_t_ms: Annotated[
        float | None,
        typer.Option(
            "--c-t-ms",
            help="Declared c_T: a target pass in ms. Any of these five replaces the roofline.",
            rich_help_panel=o.ENGINE,
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Declared delta: per extra token.", rich_help_panel=o.ENGINE)
    ] = None,
    d: Annotated[
        float | None, typer.Option("--d", help="Declared d: per draft pass.", rich_help_panel=o.ENGINE)
    ] = None,
    overhead: Annotated[
        float | None, typer.Option(help="Declared o: per round, relative to c_T.", rich_help_panel=o.ENGINE)
    ] = None,
    prefill_us_per_token: Annotated[
        float | None, typer.Option(help="Declared prefill time in us a token.", rich_help_panel=o.ENGINE)
    ] = None,
    enable_prefix_caching: Annotated[
        bool,
        typer.Option(
            "--enable-prefix-caching/--no-enable-prefix-caching", help="Reuse KV blocks.", rich_help_panel=o.CACHE
        ),
    ] = True,
    block_size: Annotated[int | None, typer.Option(help="Tokens a KV block.", rich_help_panel=o.CACHE)] = None,
    max_concurrency: Annotated[
        int | None,
        typer.Option(
            help="Sessions at a time in closed loop (the default; 8): a turn arrives when the one before and its "
            "tools are done.",
            rich_help_panel=o.LOAD,
        ),
    ] = None,
    request_rate: Annotated[
        float | None,
        typer.Option(help="Open loop: mean requests/s; sessions arrive at random.", rich_help_panel=o.LOAD),
    ] = None,
    burstiness: Annotated[
        float, typer.Option(help="1: Poisson; below: burstier, above: steadier.", rich_help_panel=o.LOAD)
    ] = 1.0,
    self_timed: Annotated[
        bool | None,
        typer.Option(
            "--self-timed/--no-self-timed",
            help="Sessions start at their recorded times (default for requests without sessions).",
            rich_help_panel=o.LOAD,
        ),
    ] = None,
    speedup: Annotated[
        float, typer.Option(help="Recorded start times are divided by it.", rich_help_panel=o.LOAD)
    ] = 1.0,
    tool_speedup: Annotated[float, typer.Option(help="Tool waits are divided by it.", rich_help_panel=o.LOAD)] = 1.0,
    unknown_tool_wait: Annotated[
        float, typer.Option(min=0, help="Seconds of a tool without recorded duration.", rich_help_panel=o.LOAD)
    ] = 0.0,
    user_waits: Annotated[
        bool, typer.Option("--user-waits", help="Keep recorded waits for a person.", rich_help_panel=o.LOAD)
    ] = False,
    tool_waits: agents.ToolWaits = agents.ToolWaitsOption.RECORDED,
    sub_agents: agents.SubAgentsOption = agents.SubAgents.JOIN,
    arrival_profile: agents.ArrivalProfile = None,
    gate: agents.Gate = None,
    nu: Annotated[
        float | None,
        typer.Option(
            help="Draws per accepted turn, geometric; default: the recorded attempts.", rich_help_panel=o.LOAD
        ),
    ] = None,
    replicas: v.Replicas = 1,
    router: v.Router = None,
    prefill_replicas: v.PrefillReplicas = 0,
    kv_transfer_gb_per_s: v.KvTransfer = None,
    kv_offload_gb: v.KvOffload = 0.0,
    kv_offload_gb_per_s: v.KvOffloadRate = None,
    metric_percentiles: v.MetricPercentiles = "50,90,95,99",
    goodput: v.GoodputOption = None,
    slo_attainment: v.SloAttainment = 0.99,
    fail_on_slo: v.FailOnSlo = False,
    warmup_s: v.WarmupS = 0.0,
    num_warmups: v.NumWarmups = 0,
    drain_s: v.DrainS = 0.0,
    gpu_price_per_hour: Annotated[float | None, typer.Option(help="USD per GPU-hour.", rich_help_panel=o.MONEY)] = None,
    prices: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="TOML or JSON with [usd_per_gpu_hour] by GPU.", rich_help_panel=o.MONEY),
    ] = None,
    idle_watts: Annotated[float | None, typer.Option(help="Power of an idle board.", rich_help_panel=o.MONEY)] = None,
    max_watts: Annotated[float | None, typer.Option(help="Power of a busy board.", rich_help_panel=o.MONEY)] = None,
    format_name: o.Format = None,
    skip_invalid: o.SkipInvalid = False,
    tokenizer: o.TokenizerName = "qwen3",
    tool_call_format: o.ToolCallFormat = "hermes",
    output_format: o.OutputFormat = None,
    format_file: o.FormatFile = None,
    reasoning_end: o.ReasoningEnd = "strict",
    recording_tokenizer: o.RecordingTokenizer = None,
    class_mix: o.ClassMixOption = None,
    mix_from: o.MixFrom = None,
    span_tokens: o.SpanTokens = 64.0,
    seed: o.Seed = 0,
    json: o.Json = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output-dir",
            "-o",
            help="Folder for summary.json, turns.parquet, load.parquet and baseline_turns.parquet.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite results in --output-dir.", rich_help_panel=o.OUTPUT)
    ] = False,
    timeline: v.Timeline = None,
    timeline_events: v.TimelineEvents = 200_000,
    quiet: o.Quiet = False,
    no_progress: o.NoProgress = False,
) -> None:
    """Replay a recording with and without speculation and give the verdict.

    Speculation on or off, at which depth, what it saves net of the draft's own cost, and what throughput,
    latency and C_total become.
    """
    from scenarios.ask import ask
    from scenarios.options import (
        AcceptanceOptions,
        CostOptions,
        LoadOptions,
        OptionError,
        PlatformOptions,
        ReplayOptions,
        parse_eps,
    )
    from scenarios.outputs import check_output_dir, write_outputs
    from scenarios.recording import ReadOptions
    from scenarios.serving import ClusterOptions, MeasureOptions
    from scenarios.speculation import DrafterOptions, PolicyOptions, parse_batch_sizes, parse_gamma
    from scenarios.timeline import write_timeline
    from simtool.console import write_json
    from simtool.progress import progress
    from simtool.show_replay import show
    from simulator.acceptance.ngram import Occurrence
    from simulator.gate import parse_gate

    try:
        depth, by_class = parse_gamma(gamma)
        asked = ReplayOptions(
            platform=PlatformOptions(
                gpu=gpu,
                tensor_parallel_size=tensor_parallel_size,
                model=model,
                draft_model=draft_model,
                speculative_method=speculative_method,
                num_speculative_tokens=depth,
                max_num_seqs=max_num_seqs,
                max_num_batched_tokens=max_num_batched_tokens,
                max_model_len=max_model_len,
                block_size=block_size,
                num_gpu_blocks=num_gpu_blocks,
                gpu_memory_utilization=gpu_memory_utilization,
                enable_prefix_caching=enable_prefix_caching,
                enable_chunked_prefill=enable_chunked_prefill,
                long_prefill_token_threshold=long_prefill_token_threshold,
                gpu_price_per_hour=gpu_price_per_hour,
                quantization=quantization,
                draft_quantization=draft_quantization,
                kv_cache_dtype=kv_cache_dtype,
                draft_placement=draft_placement,
                draft_gpu=draft_gpu,
                rtt_ms=rtt_ms,
                cuda_graph_padding=cuda_graph_padding,
                prices=prices,
                idle_watts=idle_watts,
                max_watts=max_watts,
            ),
            cost=CostOptions(
                c_T_ms=c_t_ms,
                delta=delta,
                d=d,
                overhead=overhead,
                prefill_us_per_token=prefill_us_per_token,
                table=cost_table,
            ),
            acceptance=AcceptanceOptions(
                kappa=kappa,
                rho_S=rho_s,
                rho_R=rho_r,
                rho_F=rho_f,
                eps=parse_eps(eps) if eps is not None else None,
                acceptance_length=acceptance_length,
                profile=profile,
            ),
            drafter=DrafterOptions(
                prompt_lookup_min=prompt_lookup_min,
                prompt_lookup_max=prompt_lookup_max,
                prompt_lookup_match=Occurrence(prompt_lookup_match.value),
                suffix_decoding_max_tree_depth=suffix_decoding_max_tree_depth,
                suffix_decoding_max_cached_requests=suffix_decoding_max_cached_requests,
                suffix_decoding_max_spec_factor=suffix_decoding_max_spec_factor,
                suffix_decoding_min_token_prob=suffix_decoding_min_token_prob,
            ),
            policy=PolicyOptions(
                gamma_by_class=by_class,
                gamma_by_batch_size=parse_batch_sizes(gamma_by_batch_size) if gamma_by_batch_size else None,
                confidence_threshold=confidence_threshold,
            ),
            load=LoadOptions(
                max_concurrency=max_concurrency,
                request_rate=request_rate,
                burstiness=burstiness,
                self_timed=self_timed,
                speedup=speedup,
                tool_speedup=tool_speedup,
                unknown_tool_wait_s=unknown_tool_wait,
                user_waits=user_waits,
                tool_waits=tool_waits.value,
                join_sub_agents=sub_agents is agents.SubAgents.JOIN,
                arrival_profile=arrival_profile,
            ),
            cluster=ClusterOptions(
                replicas=replicas,
                router=router,
                prefill_replicas=prefill_replicas,
                kv_transfer_gb_per_s=kv_transfer_gb_per_s,
                kv_offload_gb=kv_offload_gb,
                kv_offload_gb_per_s=kv_offload_gb_per_s,
            ),
            measure=MeasureOptions(
                metric_percentiles=metric_percentiles,
                goodput=tuple(goodput or ()),
                slo_attainment=slo_attainment,
                warmup_s=warmup_s,
                num_warmups=num_warmups,
                drain_s=drain_s,
            ),
            nu=nu,
            gate=parse_gate(gate) if gate is not None else None,
            seed=seed,
        )
        read = ReadOptions(
            format_name=format_name,
            skip_invalid=skip_invalid,
            tokenizer=tokenizer,
            tool_call_format=tool_call_format,
            output_format=output_format,
            format_file=format_file,
            reasoning_end=reasoning_end,
            recording_tokenizer=recording_tokenizer,
            class_mix=class_mix,
            mix_from=mix_from,
            span_tokens=span_tokens,
            seed=seed,
        )
        if fail_on_slo and not goodput:
            raise OptionError("--fail-on-slo needs objectives: give --goodput, for example --goodput ttft:500")
        if output_dir is not None:
            check_output_dir(output_dir, force=force)
        with progress("sessions read", enabled=not no_progress and not quiet) as count:
            asked_and_answered = ask(traces, read, asked, progress=count)
    except (OptionError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None
    if output_dir is not None:
        write_outputs(asked_and_answered, output_dir)
    if timeline is not None:
        write_timeline(asked_and_answered, timeline, timeline_events)
    if json is not None:
        write_json(asked_and_answered.answer, json)
    if json != "-":
        show(asked_and_answered.answer, quiet=quiet)
    found = asked_and_answered.answer.replay.goodput
    if fail_on_slo and found is not None and not found.met:
        raise typer.Exit(EXIT_SLO_MISSED)
