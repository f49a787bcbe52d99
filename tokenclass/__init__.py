"""Classes of output positions: output formats, and the labels of a completion."""

from __future__ import annotations

from tokenclass.classes import PositionClass, Span, SubClass, SubSpan
from tokenclass.detect import Detection, detect_family
from tokenclass.formats.family import Family
from tokenclass.formats.formatfile import load_format_file
from tokenclass.formats.registry import FAMILIES, get_family
from tokenclass.parse import ParsedOutput, parse_output
from tokenclass.streaming import LabelRun, StreamTagger

__all__ = [
    "FAMILIES",
    "Detection",
    "Family",
    "LabelRun",
    "ParsedOutput",
    "PositionClass",
    "Span",
    "StreamTagger",
    "SubClass",
    "SubSpan",
    "detect_family",
    "get_family",
    "load_format_file",
    "parse_output",
]
