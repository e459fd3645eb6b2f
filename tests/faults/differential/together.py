"""Runs several programs in one process, for libraries that take seconds to import."""

import importlib.util
import sys
import traceback
from pathlib import Path

for name in sys.argv[1:]:
    path = Path(__file__).parent / "programs" / f"{name}.py"
    for stream in (sys.stdout, sys.stderr):
        print("=====", name, file=stream, flush=True)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
