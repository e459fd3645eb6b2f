"""What pyproject.toml cannot say: an optional native core, and where the demo programs lie.

Where the core cannot be compiled, hotloop installs all the same. The demo programs live in
`workloads`, outside the package, and are installed as `hotloop/workloads`.
"""

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, find_packages, setup

NATIVE = "src/hotloop/measure/native"
FLAGS = ["/std:c11"] if sys.platform == "win32" else ["-O2", "-std=c11", "-fvisibility=hidden"]

workloads = {
    f"hotloop.workloads.{folder.name}": str(folder)
    for folder in sorted(Path("workloads").iterdir())
    if (folder / "train.py").is_file()
}

# The native core relies on the GIL. Where there is none, importing it would switch the GIL on for
# the whole program; the Python twin is used there. HOTLOOP_PURE builds a wheel for any platform.
PURE = sysconfig.get_config_var("Py_GIL_DISABLED") or os.environ.get("HOTLOOP_PURE", "0") != "0"

setup(
    package_dir={"": "src", "hotloop.workloads": "workloads", **workloads},
    packages=[*find_packages("src"), *workloads],
    # Only what pyproject.toml lists: C sources and headers belong to the sdist, not to the wheel.
    include_package_data=False,
    ext_modules=[]
    if PURE
    else [
        Extension(
            "hotloop.measure._native",
            sources=sorted(map(str, Path(NATIVE).glob("*.c"))),
            depends=sorted(map(str, Path(NATIVE).glob("*.h"))),
            extra_compile_args=FLAGS,
            define_macros=[("_GNU_SOURCE", "1")],
            optional=True,
        )
    ],
)
