"""Speed of tokenizing and labelling on one core: megabytes of output text a second.

Run by hand: python benchmarks/bench_tagger.py [megabytes]
"""

from __future__ import annotations

import json
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tokenclass.layout import Layout
from tokenclass.tagger import Tagger, TagOptions
from tokenclass.tokenizers import load_tokenizer
from traces.model import (
    Attempt,
    Block,
    MessagePrompt,
    RawBlock,
    ReasoningBlock,
    Session,
    TextBlock,
    ToolCallBlock,
    Turn,
)


def corpus() -> str:
    """English and code: the text of the standard library's modules."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))


def outputs(target_bytes: int) -> Iterator[tuple[int, tuple[Block, ...]]]:
    """Outputs of reasoning, prose and two calls each, cut from the corpus, with the bytes of their text."""
    text = corpus()
    rng = np.random.default_rng(0)
    made = 0

    def cut(length: int) -> str:
        start = int(rng.integers(0, len(text) - length))
        return text[start : start + length]

    while made < target_bytes:
        arguments = [
            json.dumps({"path": f"src/{int(rng.integers(99))}.py", "content": cut(400), "line": 7}) for _ in range(2)
        ]
        thought, spoken = cut(800), cut(600)
        size = len(thought) + len(spoken) + sum(map(len, arguments))
        made += size
        calls = (ToolCallBlock(name="write_file", arguments=text) for text in arguments)
        yield size, (ReasoningBlock(text=thought), TextBlock(text=spoken), *calls)


def as_raw(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The same output as completion text in Hermes format."""
    parts = []
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            parts.append(f"<think>\n{block.text}\n</think>\n\n")
        elif isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, ToolCallBlock):
            body = f'{{"name": "{block.name}", "arguments": {block.arguments}}}'
            parts.append(f"\n<tool_call>\n{body}\n</tool_call>")
    return (RawBlock(text="".join(parts)),)


def sessions(made: list[tuple[int, tuple[Block, ...]]]) -> list[Session]:
    """One session of one turn for each output."""
    return [
        Session(
            id=str(number),
            turns=(Turn(id="0", prompt=MessagePrompt(ranges=()), attempts=(Attempt(output=blocks),)),),
        )
        for number, (_, blocks) in enumerate(made)
    ]


def timed(name: str, megabytes: float, work: Callable[[], int]) -> None:
    """Run *work* once and print its speed."""
    start = time.process_time()
    tokens = work()
    seconds = time.process_time() - start
    print(f"{name:32} {megabytes / seconds:6.1f} MB/s  {tokens / seconds / 1e6:5.2f} M tokens/s")


def main() -> None:
    """Print one line for each way that an output can be recorded."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    made = list(outputs(int(megabytes * 1e6)))
    tokenizer = load_tokenizer()
    api = sessions(made)
    raw = sessions([(size, as_raw(blocks)) for size, blocks in made])
    texts = [blocks[0].text for session in raw if (blocks := session.turns[0].final.output)]
    layout = Layout.named("hermes")
    options = TagOptions(raw_family="hermes")

    def tag(items: list[Session]) -> int:
        tagger = Tagger(tokenizer, layout, options)
        return sum(tagger.tag(item).turns[0].final.labels.n_tokens for item in items)

    timed("tokenizer alone", megabytes, lambda: sum(len(tokenizer.encode(str(text))) for text in texts))
    timed("blocks: render, tokenize, label", megabytes, lambda: tag(api))
    timed("text: parse, tokenize, label", megabytes, lambda: tag(raw))


if __name__ == "__main__":
    main()
