"""Labels of synthetic outputs as the tagger would give them, without a session around them."""

from __future__ import annotations

from collections.abc import Sequence

from tokenclass.layout import Layout
from tokenclass.outputs import label_tokens
from tokenclass.pieces import Hidden, Piece
from tokenclass.render import OutputRenderer
from tokenclass.segments import encode_pieces
from tokenclass.tagged import LabelRuns
from tokenclass.tokenizers import Tokenizer
from traces.model import Block, ToolSpec


class OutputLabels:
    """Labels outputs that consist of text, for the target that *tokenizer* and *layout* describe."""

    def __init__(self, tokenizer: Tokenizer, layout: Layout, tools: Sequence[ToolSpec]) -> None:
        self._tokenizer = tokenizer
        self._renderer = OutputRenderer(layout.form, tools)

    def of(self, blocks: Sequence[Block]) -> LabelRuns:
        """The labels of an output of *blocks*."""
        rendered = self._renderer.render(blocks, _no_hidden)
        pieces = [piece for piece in rendered if isinstance(piece, Piece)]
        labels, _ = label_tokens(encode_pieces(self._tokenizer, pieces), pieces)
        return labels


def _no_hidden(block: Block) -> Hidden:
    raise AssertionError(f"a block without text: {block!r}")
