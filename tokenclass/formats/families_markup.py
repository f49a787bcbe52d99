"""Families whose call bodies are elements or key and value pairs."""

from __future__ import annotations

from tokenclass.formats.family import Family
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.nested_xml import NestedXmlCalls
from tokenclass.formats.pair_calls import PairCalls
from tokenclass.formats.reasoning import Reasoning
from tokenclass.formats.xml_calls import Element, XmlCalls

_FUNCTION = Element("<function=", "</function>", quoted=False)
_PARAMETER = Element("<parameter=", "</parameter>", quoted=False)
_INVOKE = Element("<invoke name=", "</invoke>")
_NAMED_PARAMETER = Element("<parameter name=", "</parameter>")
_ALWAYS_THINKS = Reasoning(always=True)
_SUFFIXED_THINK = Reasoning(suffix=True)
_M3 = "]<]minimax[>["


def _function_calls(opener: str, closer: str, *, trim_newline: bool) -> XmlCalls:
    return XmlCalls(
        section=(opener,),
        section_close=(closer,),
        call=_FUNCTION,
        parameter=_PARAMETER,
        trim_newline=trim_newline,
        bare_call=True,
    )


def _marked(mark: str, *sections: str) -> XmlCalls:
    """Elements whose names carry a mark token, with a `string` attribute that says how to read a value."""
    return XmlCalls(
        section=tuple(f"<{mark}{section}>" for section in sections),
        section_close=tuple(f"</{mark}{section}>" for section in sections),
        call=Element(f"<{mark}invoke name=", f"</{mark}invoke>"),
        parameter=Element(f"<{mark}parameter name=", f"</{mark}parameter>"),
        type_attribute="string",
    )


_QWEN3_CODER: Grammar = _function_calls("<tool_call>", "</tool_call>", trim_newline=True)
_GLM = PairCalls()

MARKUP_FAMILIES: tuple[Family, ...] = (
    Family(name="qwen3_coder", calls=_QWEN3_CODER, aliases=("qwen3_xml", "minicpmv")),
    Family(name="step3p5", calls=_QWEN3_CODER, reasoning=_ALWAYS_THINKS, aliases=("step5", "nanbeige")),
    Family(name="nemotron_v3", calls=_QWEN3_CODER, aliases=("granite_thinking",)),
    Family(name="mimo", calls=_function_calls("<tool_call>", "</tool_call>", trim_newline=False)),
    Family(
        name="seed_oss",
        calls=_function_calls("<seed:tool_call>", "</seed:tool_call>", trim_newline=False),
        reasoning=Reasoning(openers=("<seed:think>",), closers=("</seed:think>",)),
    ),
    Family(
        name="minimax_m2",
        calls=XmlCalls(
            section=("<minimax:tool_call>",),
            section_close=("</minimax:tool_call>",),
            call=_INVOKE,
            parameter=_NAMED_PARAMETER,
        ),
        reasoning=_ALWAYS_THINKS,
        aliases=("minimax-m2",),
    ),
    Family(
        name="minimax_m3",
        calls=NestedXmlCalls(
            section="<tool_call>",
            section_close="</tool_call>",
            call="<invoke name=",
            call_close="</invoke>",
            sentinel=_M3,
        ),
        reasoning=Reasoning(openers=("<mm:think>",), closers=("</mm:think>",)),
        aliases=("minimax-m3",),
    ),
    Family(
        name="minicpm5",
        calls=XmlCalls(
            call=Element("<function name=", "</function>"),
            parameter=Element("<param name=", "</param>"),
            cdata=True,
        ),
    ),
    Family(
        name="dots",
        calls=XmlCalls(
            section=("<dots_function_call>",),
            section_close=("</dots_function_call>",),
            call=_INVOKE,
            parameter=_NAMED_PARAMETER,
            json_section=True,
        ),
    ),
    Family(name="glm45", calls=_GLM, aliases=("glm",)),
    Family(name="glm47", calls=_GLM, aliases=("glm5",)),
    Family(name="ling3", calls=_GLM),
    Family(name="poolside_v1", calls=_GLM),
    Family(name="spark25", calls=_GLM),
    Family(name="iquest_q1", calls=PairCalls(call="iquest_tool_call")),
    Family(
        name="hy_v3",
        calls=PairCalls(section="tool_calls", separator="tool_sep", suffix=True),
        reasoning=_SUFFIXED_THINK,
        aliases=("hunyuan",),
    ),
    Family(
        name="hy_v4",
        calls=PairCalls(section="tool_calls", separator="tool_sep", suffix=True),
        reasoning=_SUFFIXED_THINK,
    ),
    Family(
        name="k2_horizon",
        calls=PairCalls(section="tool_calls", prefix="ifm|", typed=True, json_calls=True),
        reasoning=Reasoning(
            openers=("<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>"),
            closers=("</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"),
            always=True,
        ),
    ),
    Family(
        name="step3",
        calls=XmlCalls(
            section=("<｜tool_calls_begin｜>",),
            section_close=("<｜tool_calls_end｜>",),
            before_call=("<｜tool_call_begin｜>function<｜tool_sep｜>",),
            call=Element("<steptml:invoke name=", "</steptml:invoke>"),
            after_call=("<｜tool_call_end｜>",),
            parameter=Element("<steptml:parameter name=", "</steptml:parameter>"),
        ),
    ),
    Family(
        name="deepseek_v32",
        calls=_marked("｜DSML｜", "function_calls", "function calls", "functioncalls"),
        aliases=("deepseekv32",),
    ),
    Family(
        name="deepseek_v4",
        calls=_marked("｜DSML｜", "tool_calls", "tool calls", "toolcalls"),
        aliases=("deepseekv4",),
    ),
    Family(name="deepseek_v41", calls=_marked("｜DSML｜ ", "calls"), aliases=("deepseekv41",)),
    Family(name="gigachat35", calls=_marked("｜GCML｜", "tool_calls", "tool calls", "toolcalls")),
    Family(
        name="kimi_k3",
        calls=XmlCalls(
            section=("<|open|>tools<|sep|>",),
            section_close=("<|close|>tools<|sep|>",),
            call=Element("<|open|>call tool=", "<|close|>call<|sep|>", end="<|sep|>"),
            parameter=Element("<|open|>argument key=", "<|close|>argument<|sep|>", end="<|sep|>"),
            after_section=("<|close|>message<|sep|>",),
            type_attribute="type",
            entities=True,
        ),
        reasoning=Reasoning(
            openers=("<|open|>think<|sep|>",),
            closers=("<|close|>think<|sep|>",),
            anywhere=True,
            disproof="<|close|>response<|sep|>",
        ),
    ),
)
