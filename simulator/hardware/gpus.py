"""GPUs by name: memory, bandwidth, peak FLOPs, links, power and price, with where each figure comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simulator.hardware.prices import Price


class GpuFamily(StrEnum):
    """Architectures: one set of efficiencies holds for the GPUs of a family."""

    AMPERE = "ampere"
    ADA = "ada"
    HOPPER = "hopper"
    BLACKWELL = "blackwell"
    CDNA3 = "cdna3"


class LinkKind(StrEnum):
    """How the GPUs of one host reach each other."""

    NVLINK = "nvlink"
    PCIE = "pcie"
    INFINITY_FABRIC = "infinity_fabric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One accelerator. Memory is what the driver shows; FLOPs are dense, with 32-bit accumulation.

    *link_bytes_per_s* is one direction between a GPU and its peers. *max_watts* is the board limit, *idle_watts* what
    an idle board with loaded weights draws. *fp8_flops* equals *bf16_flops* where the GPU has no FP8 arithmetic.
    """

    name: str
    family: GpuFamily
    memory_bytes: float
    bandwidth_bytes_per_s: float
    bf16_flops: float
    fp8_flops: float
    link: LinkKind
    link_bytes_per_s: float
    max_watts: float
    idle_watts: float
    source: str
    price: Price


_RUNPOD = "RunPod on demand, 2026-03-21"
_NVIDIA = "NVIDIA data sheet (dense FLOPs); memory as the driver shows it; idle watts declared"

GPUS: dict[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        Gpu(
            name="H200", family=GpuFamily.HOPPER, memory_bytes=150e9, bandwidth_bytes_per_s=4.8e12,
            bf16_flops=989e12, fp8_flops=1979e12, link=LinkKind.NVLINK, link_bytes_per_s=450e9,
            max_watts=700, idle_watts=120, source=_NVIDIA,
            price=Price(3.50, "specialist clouds 3.50-4.50, 2026-05; RunPod 3.59, 2026-03-21"),
        ),
        Gpu(
            name="H100-SXM", family=GpuFamily.HOPPER, memory_bytes=85.5e9, bandwidth_bytes_per_s=3.35e12,
            bf16_flops=989e12, fp8_flops=1979e12, link=LinkKind.NVLINK, link_bytes_per_s=450e9,
            max_watts=700, idle_watts=120, source=_NVIDIA,
            price=Price(2.70, "specialist clouds 2.50-3.50, 2026-05; RunPod 2.69, 2026-03-21"),
        ),
        Gpu(
            name="H100-NVL", family=GpuFamily.HOPPER, memory_bytes=100.4e9, bandwidth_bytes_per_s=3.94e12,
            bf16_flops=835e12, fp8_flops=1671e12, link=LinkKind.NVLINK, link_bytes_per_s=300e9,
            max_watts=400, idle_watts=75, source=f"{_NVIDIA}; memory unsure within 1 %",
            price=Price(2.60, "between PCIe and SXM; unsure"),
        ),
        Gpu(
            name="H100-PCIe", family=GpuFamily.HOPPER, memory_bytes=85.0e9, bandwidth_bytes_per_s=2.0e12,
            bf16_flops=756e12, fp8_flops=1513e12, link=LinkKind.PCIE, link_bytes_per_s=64e9,
            max_watts=350, idle_watts=60, source=f"{_NVIDIA}; without NVLink bridge",
            price=Price(1.99, _RUNPOD),
        ),
        Gpu(
            name="H20", family=GpuFamily.HOPPER, memory_bytes=102.6e9, bandwidth_bytes_per_s=4.0e12,
            bf16_flops=148e12, fp8_flops=296e12, link=LinkKind.NVLINK, link_bytes_per_s=450e9,
            max_watts=400, idle_watts=90, source="published comparisons of the 96 GB board; memory unsure within 1 %",
            price=Price(1.50, "hardly rented outside China; unsure"),
        ),
        Gpu(
            name="A100-80GB", family=GpuFamily.AMPERE, memory_bytes=85.0e9, bandwidth_bytes_per_s=2.039e12,
            bf16_flops=312e12, fp8_flops=312e12, link=LinkKind.NVLINK, link_bytes_per_s=300e9,
            max_watts=400, idle_watts=60, source=f"{_NVIDIA}; SXM4",
            price=Price(1.39, f"{_RUNPOD}; specialist clouds 1.10-1.50, 2026-05"),
        ),
        Gpu(
            name="A100-40GB", family=GpuFamily.AMPERE, memory_bytes=42.3e9, bandwidth_bytes_per_s=1.555e12,
            bf16_flops=312e12, fp8_flops=312e12, link=LinkKind.NVLINK, link_bytes_per_s=300e9,
            max_watts=400, idle_watts=55, source=f"{_NVIDIA}; SXM4",
            price=Price(1.10, "lower end of the 80 GB board's range; unsure"),
        ),
        Gpu(
            name="L40S", family=GpuFamily.ADA, memory_bytes=47.7e9, bandwidth_bytes_per_s=864e9,
            bf16_flops=362e12, fp8_flops=733e12, link=LinkKind.PCIE, link_bytes_per_s=32e9,
            max_watts=350, idle_watts=35, source=_NVIDIA,
            price=Price(0.86, "specialist clouds; unsure"),
        ),
        Gpu(
            name="RTX-4090", family=GpuFamily.ADA, memory_bytes=25.2e9, bandwidth_bytes_per_s=1.008e12,
            bf16_flops=165e12, fp8_flops=330e12, link=LinkKind.PCIE, link_bytes_per_s=32e9,
            max_watts=450, idle_watts=25, source=f"{_NVIDIA}; Ada whitepaper",
            price=Price(0.34, _RUNPOD),
        ),
        Gpu(
            name="RTX-PRO-6000", family=GpuFamily.BLACKWELL, memory_bytes=102.0e9, bandwidth_bytes_per_s=1.792e12,
            bf16_flops=504e12, fp8_flops=1007e12, link=LinkKind.PCIE, link_bytes_per_s=64e9,
            max_watts=600, idle_watts=40, source=f"{_NVIDIA}; workstation edition, FLOPs and memory unsure within 3 %",
            price=Price(1.80, "specialist clouds; unsure"),
        ),
        Gpu(
            name="B200", family=GpuFamily.BLACKWELL, memory_bytes=191.5e9, bandwidth_bytes_per_s=8.0e12,
            bf16_flops=2250e12, fp8_flops=4500e12, link=LinkKind.NVLINK, link_bytes_per_s=900e9,
            max_watts=1000, idle_watts=150, source=f"{_NVIDIA}; HGX, memory and bandwidth unsure within 4 %",
            price=Price(5.98, _RUNPOD),
        ),
        Gpu(
            name="MI300X", family=GpuFamily.CDNA3, memory_bytes=206.1e9, bandwidth_bytes_per_s=5.3e12,
            bf16_flops=1307e12, fp8_flops=2615e12, link=LinkKind.INFINITY_FABRIC, link_bytes_per_s=448e9,
            max_watts=750, idle_watts=140, source="AMD data sheet (dense FLOPs); idle watts declared",
            price=Price(2.50, "specialist clouds; unsure"),
        ),
    )
}  # fmt: skip
