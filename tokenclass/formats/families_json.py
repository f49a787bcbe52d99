"""Families whose call bodies are JSON."""

from __future__ import annotations

from tokenclass.formats.family import Family
from tokenclass.formats.grammar import FirstOf
from tokenclass.formats.json_calls import ArgumentsOnly, BareJson, JsonCalls
from tokenclass.formats.named_json import MistralCalls, NamedJson
from tokenclass.formats.reasoning import Reasoning
from tokenclass.formats.wrapper import Wrapper

HERMES_CALLS = JsonCalls(opener=("<tool_call>",), closer=("</tool_call>",))
_TOOL_CALLS = JsonCalls(opener=("<tool_calls>",), closer=("</tool_calls>",), separators=())
_PLUGIN = ("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>")
_INTERN = JsonCalls(opener=_PLUGIN, closer=("<|action_end|>",))
_MISTRAL_ARRAY = JsonCalls(opener=("[TOOL_CALLS]",))
_MISTRAL_THINK = Reasoning(openers=("[THINK]", "<think>"), closers=("[/THINK]", "</think>"))
_COHERE_THINK = Reasoning(openers=("<|START_THINKING|>",), closers=("<|END_THINKING|>",), anywhere=True)
_COHERE_CALLS = JsonCalls(
    opener=("<|START_ACTION|>",),
    closer=("<|END_ACTION|>",),
    wrapper=Wrapper(name_keys=("tool_name",), args_keys=("parameters",), id_keys=("tool_call_id",)),
)
_DEEPSEEK = "<｜tool▁calls▁begin｜>"
_PLAMO = "<|plamo:{}:plamo|>".format
_LLAMA_WRAPPER = Wrapper(args_keys=("parameters", "arguments"))
_GRANITE_THINK = Reasoning(
    openers=("Here is my thought process:", "Here's my thought process:"),
    closers=("Here is my response:", "Here's my response:"),
    start_only=True,
    implied=False,
)

JSON_FAMILIES: tuple[Family, ...] = (
    Family(name="hermes", calls=HERMES_CALLS, aliases=("hermes_2_pro",)),
    Family(name="qwen3", calls=HERMES_CALLS, aliases=("qwen", "qwen25", "qwen3_json")),
    Family(name="trinity", calls=HERMES_CALLS, calls_in_reasoning=True),
    Family(name="granite4", calls=HERMES_CALLS),
    Family(name="ernie45", calls=HERMES_CALLS),
    Family(
        name="longcat",
        calls=JsonCalls(opener=("<longcat_tool_call>",), closer=("</longcat_tool_call>",)),
        reasoning=Reasoning(openers=("<longcat_think>", "<think>"), closers=("</longcat_think>", "</think>")),
    ),
    Family(
        name="granite",
        calls=JsonCalls(opener=("<|tool_call|>", "<tool_call>")),
        reasoning=_GRANITE_THINK,
    ),
    Family(name="granite-20b-fc", calls=JsonCalls(opener=("<function_call>",))),
    Family(name="jamba", calls=_TOOL_CALLS),
    Family(name="minimax_m1", calls=_TOOL_CALLS, aliases=("minimax",)),
    Family(name="hunyuan_a13b", calls=_TOOL_CALLS, glued=("\n</answer>",)),
    Family(name="nemotron_json", calls=JsonCalls(opener=("<TOOLCALL>",), closer=("</TOOLCALL>",))),
    Family(name="internlm", calls=_INTERN),
    Family(name="interns1", calls=_INTERN),
    Family(
        name="apertus",
        calls=JsonCalls(
            opener=("<|tools_prefix|>",), closer=("<|tools_suffix|>",), wrapper=Wrapper(keyed_by_name=True)
        ),
        reasoning=Reasoning(openers=("<|inner_prefix|>",), closers=("<|inner_suffix|>",), anywhere=True),
        calls_in_reasoning=True,
        aliases=("apertus2509",),
    ),
    Family(name="cohere_command3", calls=_COHERE_CALLS, reasoning=_COHERE_THINK),
    Family(name="cohere_command4", calls=_COHERE_CALLS, reasoning=_COHERE_THINK),
    Family(
        name="xlam",
        calls=FirstOf(
            options=(
                JsonCalls(opener=("[TOOL_CALLS]",), known_names=True),
                JsonCalls(opener=("<tool_call>",), closer=("</tool_call>",), known_names=True),
                BareJson(fence=True),
            )
        ),
    ),
    Family(
        name="phi4_mini",
        calls=FirstOf(
            options=(
                JsonCalls(opener=("functools",), known_names=True),
                JsonCalls(opener=("<|tool_call|>",), closer=("<|/tool_call|>",)),
            )
        ),
        aliases=("phi4_mini_json",),
    ),
    Family(
        name="llama3_json",
        calls=FirstOf(
            options=(
                JsonCalls(opener=("<|python_tag|>",), wrapper=_LLAMA_WRAPPER, separators=(";",)),
                BareJson(array=False, wrapper=_LLAMA_WRAPPER, separators=(";",)),
            )
        ),
        aliases=("llama3", "llama4_json"),
    ),
    Family(name="mistral_array", calls=FirstOf(options=(_MISTRAL_ARRAY, MistralCalls())), reasoning=_MISTRAL_THINK),
    Family(name="mistral", calls=FirstOf(options=(_MISTRAL_ARRAY, MistralCalls())), reasoning=_MISTRAL_THINK),
    Family(
        name="deepseek_v3",
        calls=NamedJson(
            section=(_DEEPSEEK,),
            section_close=("<｜tool▁calls▁end｜>",),
            call_open=("<｜tool▁call▁begin｜>function<｜tool▁sep｜>",),
            call_close=("<｜tool▁call▁end｜>",),
            fence=True,
        ),
        aliases=("deepseekv3",),
    ),
    Family(
        name="deepseek_v31",
        calls=NamedJson(
            section=(_DEEPSEEK,),
            section_close=("<｜tool▁calls▁end｜>",),
            call_open=("<｜tool▁call▁begin｜>",),
            name_end=("<｜tool▁sep｜>",),
            call_close=("<｜tool▁call▁end｜>",),
        ),
        aliases=("deepseekv31",),
    ),
    Family(
        name="kimi_k2",
        calls=NamedJson(
            section=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
            section_close=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
            call_open=("<|tool_call_begin|>",),
            name_end=("<|tool_call_argument_begin|>",),
            call_close=("<|tool_call_end|>",),
            counted_id=True,
        ),
    ),
    Family(
        name="plamo3",
        calls=NamedJson(
            section=(_PLAMO("begin_tool_requests"),),
            section_close=(_PLAMO("end_tool_requests"),),
            call_open=(_PLAMO("begin_tool_request"), _PLAMO("begin_tool_name")),
            name_end=(
                _PLAMO("end_tool_name"),
                _PLAMO("begin_tool_arguments"),
                "?<|plamo:constrain|>json",
                "?<|plamo:msg|>",
            ),
            call_close=(_PLAMO("end_tool_arguments"), _PLAMO("end_tool_request")),
        ),
        reasoning=Reasoning(openers=(_PLAMO("begin_think"),), closers=(_PLAMO("end_think"),), anywhere=True),
    ),
    Family(
        name="gigachat3",
        calls=JsonCalls(
            opener=(
                "<|message_sep|>\n\nfunction call<|role_sep|>\n",
                "function call<|role_sep|>\n",
                "<|function_call|>",
            )
        ),
    ),
    Family(
        name="forced_json",
        calls=FirstOf(options=(BareJson(), BareJson(array=False), ArgumentsOnly())),
    ),
)
