"""GPUs, models and prices by name, with the figures that step times and memory follow from."""

from simulator.hardware.catalogue import gpu_named, model_named
from simulator.hardware.drafthead import DraftHead, HeadKind, head_for
from simulator.hardware.gpus import GPUS, Gpu, GpuFamily, LinkKind
from simulator.hardware.hfconfig import ConfigError, shape_from_config
from simulator.hardware.memory import kv_blocks
from simulator.hardware.models import MODELS
from simulator.hardware.precision import KvCacheDtype, Quantization, with_precision
from simulator.hardware.prices import PRICES_DATE, Price
from simulator.hardware.shape import Experts, Latent, ModelShape

__all__ = [
    "GPUS",
    "MODELS",
    "PRICES_DATE",
    "ConfigError",
    "DraftHead",
    "Experts",
    "Gpu",
    "GpuFamily",
    "HeadKind",
    "KvCacheDtype",
    "Latent",
    "LinkKind",
    "ModelShape",
    "Price",
    "Quantization",
    "gpu_named",
    "head_for",
    "kv_blocks",
    "model_named",
    "shape_from_config",
    "with_precision",
]
