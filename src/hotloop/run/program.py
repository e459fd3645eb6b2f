"""Runs a user's program in this interpreter exactly as Python itself would.

`sys.argv`, `sys.path[0]`, `__main__` and its attributes are what `python script`, `python -m` or
`python -c` would set, and an exception or exit code of the program is treated as Python treats it.
It runs at the bottom of the stack; hotloop's own frames are taken out of a
traceback before it is shown.
"""

from __future__ import annotations

import builtins
import linecache
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.machinery import (
    BuiltinImporter,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from hotloop.errors import HotloopError
from hotloop.measure.core import print_error, run_at_bottom
from hotloop.run.definitions import with_marks

if TYPE_CHECKING:
    from zipimport import zipimporter

_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep


class ProgramError(Exception):
    """The program could not even be compiled; `error` is Python's own."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@dataclass
class Program:
    """A program that was found: its name, and how to run it as `__main__`."""

    label: str
    argv: list[str]
    path0: str
    load: Callable[[], tuple[CodeType, dict[str, Any]]]
    #: The words that start it again, if they differ from `argv`.
    again: list[str] = field(default_factory=list)
    #: Programs that Python passes to `runpy`: modules and, as `__main__`, folders and archives.
    module: str | None = None

    @property
    def command(self) -> list[str]:
        """The words that start it again."""
        return self.again or self.argv

    @property
    def root_code(self) -> CodeType:
        """The code below all of the program's."""
        run = execute if self.module is None else _run_module_as_main
        return run.__code__


def find_script(script: str, arguments: list[str]) -> Program:
    """`python script.py arguments`; also compiled code, and a folder or archive with `__main__`.

    As for Python, `-` is standard input.
    """
    path = Path(script)
    archive = _archive_at(path)
    if archive is not None:
        return _find_in_archive(script, arguments, archive)
    if script == "-":
        return _find_in_standard_input(arguments)
    if path.is_dir() and (path / "__main__.py").is_file():
        file, folder = path / "__main__.py", str(path.absolute())
        label = path.absolute().name
    elif path.exists() and not path.is_dir():  # a pipe is a program, too
        file, label = path, path.stem
        folder = os.path.dirname(_absolute(_follow_links(script)))
    elif path.exists():
        raise HotloopError(f"{script}: a folder without a __main__.py; name a script to run")
    else:
        raise HotloopError(f"{script}: no such file{_did_you_mean(path)}")

    def load() -> tuple[CodeType, dict[str, Any]]:
        absolute = _joined(script if file is path else str(file))
        code = _compiled_at(absolute)
        loader = SourcelessFileLoader if script.endswith(".pyc") else SourceFileLoader
        attributes: dict[str, Any] = {
            "__file__": absolute,
            **_cached(None),
            "__loader__": loader("__main__", absolute),
        }
        if file is not path:  # a folder is run like a package's __main__ module
            spec = spec_from_file_location("__main__", absolute)
            attributes.update(__spec__=spec, __package__="")
        return code, attributes

    module = None if file is path else "__main__"
    return Program(label, [script, *arguments], folder, load, module=module)


def _joined(file: str) -> str:
    """An absolute path, not normalized: Python keeps `./train.py` as it is."""
    try:
        return file if os.path.isabs(file) else os.path.join(os.getcwd(), file)
    except FileNotFoundError:  # the working folder was deleted
        return file


def _absolute(file: str) -> str:
    try:
        return os.path.abspath(file)
    except FileNotFoundError:
        return file


def _cached(path: str | None) -> dict[str, str | None]:
    """The attribute `__cached__`, which modules have before Python 3.15."""
    return {"__cached__": path} if sys.version_info < (3, 15) else {}


def _compiled_at(file: str) -> CodeType:
    with open(file, "rb") as opened:
        if file.endswith(".pyc"):
            compiled: CodeType | None = pkgutil.read_code(opened)
            if compiled is not None:
                return compiled
            opened.seek(0)
        return compile(opened.read(), file, "exec", dont_inherit=True)


def _archive_at(path: Path) -> zipimporter | None:
    """The importer of a zip file with a `__main__` module; None for anything else."""
    if path.suffix == ".py" or not path.is_file():
        return None
    import zipimport

    try:
        importer = zipimport.zipimporter(_joined(str(path)))
    except zipimport.ZipImportError:
        return None
    return importer if importer.find_spec("__main__") is not None else None


def _find_in_archive(script: str, arguments: list[str], importer: zipimporter) -> Program:
    spec = importer.find_spec("__main__")
    assert spec is not None

    def load() -> tuple[CodeType, dict[str, Any]]:
        return importer.get_code("__main__"), {
            "__file__": spec.origin,
            **_cached(spec.cached),
            "__loader__": importer,
            "__package__": "",
            "__spec__": spec,
        }

    return Program(
        Path(script).stem, [script, *arguments], importer.archive, load, module="__main__"
    )


def find_module(name: str, arguments: list[str]) -> Program:
    """`python -m name arguments`."""
    argv = ["-m", *arguments]
    here = os.getcwd()
    before = list(sys.path), sys.argv
    _put_first(here)
    sys.argv = argv
    try:
        # `python -m` itself uses this; cProfile and pdb rely on it too.
        details: tuple[str, ModuleSpec, CodeType] = runpy._get_module_details(  # type: ignore[attr-defined]
            name
        )
    except ImportError as error:
        raise HotloopError(str(error)) from None
    finally:
        sys.path[:], sys.argv = before
    _, spec, code = details

    def load() -> tuple[CodeType, dict[str, Any]]:
        return code, {
            "__file__": spec.origin,
            **_cached(spec.cached),
            "__loader__": spec.loader,
            "__package__": spec.parent,
            "__spec__": spec,
        }

    argv, again = [spec.origin or "-m", *arguments], ["-m", name, *arguments]
    return Program(name.rpartition(".")[2], argv, here, load, again, module=name)


def _find_in_standard_input(arguments: list[str]) -> Program:
    """`python - arguments`: the program comes from standard input."""

    def load() -> tuple[CodeType, dict[str, Any]]:
        with open(0, "rb", closefd=False) as stdin:
            source = stdin.read()
        code = compile(source, "<stdin>", "exec", dont_inherit=True)
        return code, {"__file__": "<stdin>", **_cached(None), "__loader__": BuiltinImporter}

    return Program("stdin", ["-", *arguments], "", load)


def find_code(source: str, arguments: list[str]) -> Program:
    """`python -c source arguments`."""

    def load() -> tuple[CodeType, dict[str, Any]]:
        code = compile(source, "<string>", "exec", dont_inherit=True)
        _show_lines_of(code, source)
        return code, {"__loader__": BuiltinImporter}

    return Program("command", ["-c", *arguments], "", load)


def _show_lines_of(code: CodeType, source: str) -> None:
    """From Python 3.13 on, tracebacks show the lines of `-c` too."""
    register = getattr(linecache, "_register_code", None)
    if register is not None:
        # 3.13.0 knows them by file name, every later version by code object.
        by_code = any(hasattr(linecache, name) for name in ("_make_key", "_code_key"))
        register(code if by_code else code.co_filename, source, code.co_filename)


#: The modules that Python itself runs: it uses the globals of a script after that has raised, and
#: relies on `sys.modules` to keep them.
_replaced: list[ModuleType] = []


def execute(program: Program, defined: Callable[[], None] | None = None) -> None:
    """Run the program as `__main__`. Its exceptions are raised here.

    `defined` is called whenever some of the script's definitions have just run.
    """
    main = ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__dict__.update(__annotations__={})
    main.__dict__.update(__builtins__=builtins)
    sys.argv = list(program.argv)
    _put_first(program.path0, in_any_case=program.module == "__main__")
    try:
        code, attributes = program.load()
    except (SyntaxError, ValueError) as error:
        raise ProgramError(error) from None
    main.__dict__.update(attributes)
    _replaced.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    if defined is not None:
        code = with_marks(code, _source_of(main), defined)
    if program.module is None:
        run_at_bottom(code, main.__dict__)
    else:
        spec = attributes["__spec__"]
        _run_as_module(program.module, spec, code)


#: The functions that `python -m` itself calls.
_run_module_as_main: Any = runpy._run_module_as_main  # type: ignore[attr-defined]


def _run_as_module(name: str, spec: ModuleSpec, code: CodeType) -> None:
    """Let `runpy` run code that was found before: its frames are in the program's tracebacks."""
    is_folder = name == "__main__"
    finder = "_get_main_module_details" if is_folder else "_get_module_details"
    before = getattr(runpy, finder)

    def found(*_: object) -> tuple[str, ModuleSpec, CodeType]:
        setattr(runpy, finder, before)  # the program may use it
        return name, spec, code

    setattr(runpy, finder, found)
    try:
        run_at_bottom(_run_module_as_main, name, not is_folder)
    finally:
        if getattr(runpy, finder) is found:  # interrupted before it was called
            setattr(runpy, finder, before)


def _put_first(folder: str, *, in_any_case: bool = False) -> None:
    """Let imports look here first. `-P` and `-I` forbid that, except for a folder that is run."""
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[:1] = [folder]
    elif in_any_case:
        sys.path.insert(0, folder)


def _source_of(main: ModuleType) -> bytes | None:
    file = getattr(main, "__file__", None)
    try:
        if not file or not file.endswith(".py") or not os.path.isfile(file):
            return None
        return Path(file).read_bytes()
    except OSError:
        return None


def show_exception(error: BaseException) -> None:
    """Show an uncaught exception as Python does, without hotloop's frames.

    Called where no exception is handled: a hook of the program would see it.
    """
    error = error.error if isinstance(error, ProgramError) else error
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        own = isinstance(each, SyntaxError) and each.__traceback__ is not None
        if not (own and each is error and _only_ours(each.__traceback__)):
            each.__traceback__ = _without_ours(each.__traceback__)
        else:
            each.__traceback__ = None
        each = each.__cause__ or each.__context__
    print_error(error)


def flush_output(program: Program) -> None:
    """Flush what Python flushes when a script ends, before it shows an error and exits.

    Of `python -m hotloop`, Python flushes nothing; the `hotloop` script is one like any other.
    """
    if program.module is not None or program.argv[:1] == ["-c"]:
        return
    for name in ("stderr", "stdout"):
        try:
            run_at_bottom(getattr(sys, name).flush)
        except BaseException:
            pass  # Python ignores it, too


def forget_file(program: Program) -> None:
    """Delete the globals of a script that Python deletes when it ends, except by `sys.exit`."""
    main = sys.modules.get("__main__")
    if program.module is None and main is not None:
        for name in ("__file__", "__cached__"):
            main.__dict__.pop(name, None)


def exit_code_of(error: SystemExit) -> int:
    """The exit code that Python makes of `sys.exit(...)`."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        code = code if -(2**63) <= code < 2**63 else -1  # values that do not fit are -1
        return code & 0xFF if os.name != "nt" else code
    return 1  # a message


def die_of_interrupt() -> None:
    """Let Python die of SIGINT once it is finalized, as after a program that Ctrl-C ended.

    It does if the last code that it ran from a string was interrupted; a report runs some, too.
    """
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        pass


def raise_shown(error: BaseException) -> NoReturn:
    """Let an error that has been shown leave Python, which does not show it again.

    The `hotloop` script would turn an exit code into `sys.exit`, and that is no death of SIGINT.
    """
    traceback, hook = error.__traceback__, sys.excepthook

    def is_shown(*shown: object) -> None:
        sys.excepthook = hook
        error.__traceback__ = sys.last_traceback = traceback

    sys.excepthook = is_shown
    raise error


def _is_ours(traceback: TracebackType) -> bool:
    file = traceback.tb_frame.f_code.co_filename
    return file.startswith(_PACKAGE) and f"{os.sep}workloads{os.sep}" not in file


def _only_ours(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if not _is_ours(traceback):
            return False
        traceback = traceback.tb_next
    return True


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if not _is_ours(traceback):
            kept.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for each in reversed(kept):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def _follow_links(script: str) -> str:
    # Python looks for imports next to the file that a link points to.
    for _ in range(40):
        if not os.path.islink(script):
            break
        script = os.path.join(os.path.dirname(script), os.readlink(script))
    return script


def _did_you_mean(path: Path) -> str:
    from difflib import get_close_matches

    try:
        stems = [p.stem for p in path.parent.iterdir() if p.suffix == ".py"]
    except OSError:
        return ""
    # Compared without the ending, which would make any two scripts alike.
    close = get_close_matches(path.stem, stems, 1)
    return f" (did you mean {path.with_name(f'{close[0]}.py')}?)" if close else ""
