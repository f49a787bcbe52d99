"""Families with Gemma, Python or channel bodies, reasoning only, or API blocks."""

from __future__ import annotations

from tokenclass.classes import PositionClass
from tokenclass.formats.channels import Channels
from tokenclass.formats.family import Api, Family
from tokenclass.formats.gemma import GemmaCalls
from tokenclass.formats.grammar import FirstOf
from tokenclass.formats.inkling import InklingCalls
from tokenclass.formats.json_calls import JsonCalls
from tokenclass.formats.pythonic import PythonCalls
from tokenclass.formats.reasoning import Reasoning
from tokenclass.formats.xml_calls import Element, XmlCalls

_LFM2 = (("<|tool_call_start|>",), ("<|tool_call_end|>",))
_ATEM = XmlCalls(
    section=("<atem:function_calls>",),
    section_close=("</atem:function_calls>",),
    call=Element("<atem:invoke name=", "</atem:invoke>"),
    parameter=Element("<atem:parameter name=", "</atem:parameter>"),
)
_RFL = XmlCalls(
    call=Element("<rfl:invoke name=", "</rfl:invoke>"),
    parameter=Element("<rfl:parameter name=", "</rfl:parameter>"),
    trim_newline=True,
)

OTHER_FAMILIES: tuple[Family, ...] = (
    Family(
        name="functiongemma",
        calls=GemmaCalls("<start_function_call>call:", "<end_function_call>", "<escape>"),
    ),
    Family(
        name="gemma4",
        calls=GemmaCalls("<|tool_call>call:", "<tool_call|>", '<|"|>'),
        reasoning=Reasoning(openers=("<|channel>thought",), closers=("<channel|>",), anywhere=True),
    ),
    Family(name="pythonic", calls=PythonCalls(bare=True)),
    Family(
        name="llama4_pythonic",
        calls=PythonCalls(opener=("<|python_start|>",), closer=("<|python_end|>",), bare=True),
    ),
    Family(
        name="lfm2",
        calls=FirstOf(
            options=(
                PythonCalls(opener=_LFM2[0], closer=_LFM2[1]),
                JsonCalls(opener=_LFM2[0], closer=_LFM2[1]),
            )
        ),
    ),
    Family(
        name="olmo3",
        calls=PythonCalls(opener=("<function_calls>",), closer=("</function_calls>",), lines=True),
    ),
    Family(
        name="inkling",
        calls=InklingCalls(),
        reasoning=Reasoning(
            openers=("<|message_model|><|content_thinking|>", "<|content_thinking|>"),
            closers=("<|end_message|>",),
            anywhere=True,
            implied=False,
        ),
    ),
    Family(
        name="openai_harmony",
        channels=Channels(tool_prefix="functions."),
        reasoning=None,
        aliases=("openai", "gpt-oss", "gpt_oss", "harmony"),
    ),
    Family(name="beam", channels=Channels(tool_prefix="functions.", body=_RFL), reasoning=None),
    Family(
        name="muse",
        channels=Channels(
            ends=("<|eom|>", "<|eot|>"),
            free_recipients=("user", "commentary"),
            thought_recipients=("self",),
            no_recipient=PositionClass.R,
            body=_ATEM,
            named_in_body=True,
        ),
        reasoning=None,
        aliases=("muse_glimmer", "musespark1x"),
    ),
    Family(name="deepseek_r1"),
    Family(name="kimi_think", reasoning=Reasoning(openers=("◁think▷",), closers=("◁/think▷",)), aliases=("kimi",)),
    Family(name="minimax_append_think"),
    Family(name="anthropic_messages", api=Api.ANTHROPIC_MESSAGES, reasoning=None, aliases=("anthropic",)),
    Family(name="openai_chat", api=Api.OPENAI_CHAT, reasoning=None),
    Family(name="openai_responses", api=Api.OPENAI_RESPONSES, reasoning=None),
)
