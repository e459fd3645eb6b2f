"""Recordings of torch's profiler."""

from __future__ import annotations

from typing import Any

from hotloop.hooks.devices.kineto import activities_of
from hotloop.measure.activity import (
    COPY_CALL,
    FLOAT32,
    KERNEL,
    LAUNCH,
    ON_DEVICE,
    PAGEABLE,
    SYNC,
    TO_DEVICE,
    TO_HOST,
)


def test_rocms_names_in_a_trace() -> None:
    def event(cat: str, name: str, number: int, **more: Any) -> dict[str, Any]:
        return {"cat": cat, "name": name, "ts": number, "dur": 2, "args": {"correlation": number}}

    trace = {
        "baseTimeNanoseconds": 1_000_000,
        "traceEvents": [
            event("cuda_runtime", "hipLaunchKernel", 1),
            event("cuda_runtime", "hipMemcpyWithStream", 2),
            event("cuda_runtime", "hipStreamSynchronize", 3),
            event("kernel", "Cijk_Ailk_Bljk_SB", 1),
            event("gpu_memcpy", "CopyHostToDevice", 2),
            event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 4),
            event("gpu_memcpy", "CopyDeviceToDevice", 5),
            event("gpu_memset", "Memset (Device)", 6),
            event("cpu_op", "aten::mm", 7),
            {"ph": "M", "name": "process_name"},
        ],
    }
    found = activities_of(trace, -500_000)
    assert [each.kind for each in found] == [
        LAUNCH, COPY_CALL, SYNC, KERNEL, TO_DEVICE, TO_HOST, ON_DEVICE, ON_DEVICE,
    ]  # fmt: skip
    assert (found[0].begin_ns, found[0].end_ns) == (501_000, 503_000)


def test_pageable_copies_and_float32_products_are_marked() -> None:
    def trait(cat: str, name: str) -> str:
        event = {"cat": cat, "name": name, "ts": 1, "dur": 2, "args": {}}
        (found,) = activities_of({"traceEvents": [event]})
        return found.trait

    assert trait("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)") == PAGEABLE
    assert trait("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)") == ""
    assert trait("kernel", "ampere_sgemm_128x64_tn") == FLOAT32
    assert trait("kernel", "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8") == FLOAT32
    assert trait("kernel", "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x16") == ""
    assert trait("kernel", "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4") == ""
    assert trait("kernel", "void at::native::vectorized_elementwise_kernel<4>") == ""
