"""What pyproject.toml cannot say: an optional native core, and where the demo programs lie.

Where the core cannot be compiled, hotloop installs all the same. The demo programs live in
`workloads`, outside the package, and are installed as `hotloop/workloads`.
"""

import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup

NATIVE = "src/hotloop/measure/native"
FLAGS = [] if sys.platform == "win32" else ["-O2", "-std=c11", "-fvisibility=hidden"]

workloads = {
    f"hotloop.workloads.{folder.name}": str(folder)
    for folder in sorted(Path("workloads").iterdir())
    if (folder / "train.py").is_file()
}

setup(
    package_dir={"": "src", "hotloop.workloads": "workloads", **workloads},
    packages=[*find_packages("src"), *workloads],
    ext_modules=[
        Extension(
            "hotloop.measure._native",
            sources=[
                f"{NATIVE}/{name}.c"
                for name in (
                    "core",
                    "tree",
                    "stacks",
                    "region",
                    "timed",
                    "order",
                    "networks",
                    "learning",
                    "steps",
                    "transfers",
                    "shortcut",
                    "sampler",
                    "nudge",
                )
            ],
            depends=sorted(map(str, Path(NATIVE).glob("*.h"))),
            extra_compile_args=FLAGS,
            define_macros=[("_GNU_SOURCE", "1")],
            optional=True,
        )
    ],
)
