"""Models by catalogue name or by the config.json of a checkpoint on disk."""

from __future__ import annotations

from pathlib import Path

import msgspec

from simulator.hardware import ConfigError, ModelShape, model_named, shape_from_config
from traces.errors import TraceError

CONFIG_NAME = "config.json"


def model_of(text: str, option: str) -> ModelShape:
    """The model that *text* names: a catalogue name, a config.json, or a folder with one.

    Raises ValueError with *option* for unknown names, TraceError for files that no shape can be made of.
    """
    path = Path(text)
    if path.is_dir():
        path = path / CONFIG_NAME
    if path.suffix == ".json" or path.is_file():
        return read_model(path)
    return model_named(text, option)


def read_model(path: Path) -> ModelShape:
    """The shape that the Hugging Face configuration at *path* describes, called by its folder's name."""
    try:
        config = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "give a config.json") from error
    except msgspec.DecodeError as error:
        raise TraceError(str(path), None, f"is no JSON: {error}", "give the checkpoint's config.json") from error
    if not isinstance(config, dict):
        raise TraceError(str(path), None, "is no JSON object", "give the checkpoint's config.json")
    name = path.resolve().parent.name if path.name == CONFIG_NAME else path.stem
    try:
        return shape_from_config(config, name or path.stem)
    except ConfigError as error:
        mend = "give a decoder-only model's config.json, or --c-t-ms and the other declared costs"
        raise TraceError(str(path), None, str(error), mend) from error
