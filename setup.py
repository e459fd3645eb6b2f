"""The native core is optional: where it cannot be compiled, hotloop installs all the same."""

import sys

from setuptools import Extension, setup

NATIVE = "src/hotloop/measure/native"

setup(
    ext_modules=[
        Extension(
            "hotloop.measure._native",
            sources=[f"{NATIVE}/{name}.c" for name in ("core", "sampler", "nudge")],
            depends=[f"{NATIVE}/{name}.h" for name in ("core", "platform")],
            extra_compile_args=[] if sys.platform == "win32" else ["-O2", "-std=c11"],
            define_macros=[("_GNU_SOURCE", "1")],
            optional=True,
        )
    ]
)
