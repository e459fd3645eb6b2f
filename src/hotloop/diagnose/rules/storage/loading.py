"""Memory that runs out, and data that is loaded again each time."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    callers,
    finding,
    gauge,
    in_package,
    inner_lines,
    measured_gain_of,
    memory_limit,
    phases_named,
    samples_under,
    seconds_in,
    severity_of,
    where,
    whole_run_s,
)
from hotloop.diagnose.finding import MEDIUM, WARNING, Finding, Rule
from hotloop.diagnose.recorded import copies_by_dumping, use_at_lines
from hotloop.phases import names_of

#: Pages read back from disk per second that slow a program down, and the least time of one (a
#: fast disk's latency).
FAULTS_PER_SECOND = 50.0
FAULT_S = 1e-4
#: The part of the memory at which the system begins to push pages out.
NEARLY_FULL = 0.9
#: Images stored as floats take four times the memory for nothing; from this part of the memory on
#: that is reported.
FLOAT_FRAMES = 0.25


def memory_pressure(analysis: Analysis) -> list[Finding]:
    """The buffer is, or will be, larger than the memory."""
    limit = memory_limit(analysis)
    rate = _faults_per_second(analysis)
    projected = gauge(analysis, schema.BUFFER_BYTES)
    frames = gauge(analysis, schema.BUFFER_FLOAT_FRAME_BYTES) or 0.0
    peak = analysis.run.memory_peak_mb
    reasons = []
    if limit and projected and projected >= NEARLY_FULL * limit:
        reasons.append(f"the full buffer needs {projected / 1e9:.1f} of {limit / 1e9:.1f} GB")
    elif limit and frames >= FLOAT_FRAMES * limit:
        reasons.append(f"{frames / 1e9:.1f} of {limit / 1e9:.1f} GB hold images as floats")
    if limit and peak and peak * 1e6 >= NEARLY_FULL * limit:
        reasons.append(f"{peak / 1e3:.1f} of {limit / 1e9:.1f} GB are in use")
    if rate >= FAULTS_PER_SECOND:
        reasons.append(f"{rate:.0f} pages per second are read back from disk")
    if not reasons:
        return []
    moving = seconds_in(analysis, "buffer.add", "buffer.sample")
    faulting = min(rate * FAULT_S, 0.9) * analysis.run.loop_s
    return [
        finding(
            analysis,
            "memory-pressure",
            title="Memory is running out: " + " and ".join(reasons),
            phase="buffer.add",
            seconds=max(moving, faulting),
            saves=(0.2, 0.8),
            confidence=MEDIUM,
            severity=WARNING,
            where=callers(analysis, "buffer.add"),
            evidence={
                "limit_bytes": limit,
                "buffer_bytes": projected,
                "float_frame_bytes": frames,
                "major_faults_per_s": rate,
            },
            fix="Store frames as uint8 and convert them to floats per batch; do not store the "
            "next observation twice; make the buffer smaller. A machine that swaps gets "
            "nothing else done.",
            before="self.obs = np.zeros((size, 84, 84, 4), np.float32)",
            after="self.obs = np.zeros((size, 84, 84, 4), np.uint8)\n"
            "batch = self.obs[i].astype(np.float32) / 255",
        )
    ]


def _faults_per_second(analysis: Analysis) -> float:
    counts = [
        (w.end_ns, w.gauges[schema.MAJOR_FAULTS])
        for w in analysis.loop_windows
        if schema.MAJOR_FAULTS in w.gauges
    ]
    if len(counts) < 2 or counts[-1][0] <= counts[0][0]:
        return 0.0
    (begin, first), (end, last) = counts[0], counts[-1]
    return max(last - first, 0.0) / ((end - begin) / 1e9)


#: Start-up below this share of the run is not worth a cache.
LOADING_SHARE = 0.10
LOADING_WINS = (0.6, 0.97)
#: What programs prepare data with; what else is called before the loop (a network's constructor, a
#: compiler) is not loading.
_PREPARES = in_package(
    "numpy", "pandas", "scipy", "pyarrow", "polars", "h5py", "openpyxl", "xarray", "PIL", "ta",
    "talib", "pandas_ta", "sklearn", "joblib", "tqdm", "requests", "urllib3", "yfinance",
)  # fmt: skip
_TABLES = in_package("pandas", "csv", "pyarrow", "json", "h5py", "openpyxl", "sqlite3", "gzip")
#: Work before the loop that nothing shows to be data is reported from this share of the run on.
UNNAMED_SHARE = 0.20
#: Functions that read files, by the end of their names.
_READERS = frozenset(["read_csv", "read_parquet", "read_excel", "read_json", "read_pickle",
                      "read_feather", "read_hdf", "read_sql", "read_table", "read_fwf", "loadtxt",
                      "genfromtxt", "imread"])  # fmt: skip
#: Libraries for files, and what those of their functions are called that read rather than write.
_FILES = in_package("csv", "json", "h5py", "openpyxl", "gzip", "zipfile", "lzma", "bz2", "pyarrow",
                    "npyio", "_npyio_impl")  # fmt: skip
_READING = re.compile(r"^_*(?:load|read|parse|decode|raw_decode|next|getitem|fetch)")
#: The same where C does the work, as a line of the program names it.
_READ_CALLS = frozenset(["np.load", "numpy.load", "np.fromfile", "pickle.load",
                         "json.load", "cv2.imread", "csv.reader",
                         "torch.load"])  # fmt: skip
#: Phases in which reading is another cause, or none.
_NOT_LOADING = frozenset({"data", "import", "checkpoint", "log", "evaluate", "wait", "data.load"})


def data_loading(analysis: Analysis) -> list[Finding]:
    """Loading and preprocessing takes a part of the run worth caching."""
    before = sum(
        p.total_s
        for p in analysis.startup
        if p.name == "data" and p.thread == "main" and "data" not in names_of(p.path)[:-1]
    )
    whole = whole_run_s(analysis)
    unnamed = _unnamed_before(analysis)
    prepared = seconds_of(unnamed)
    if prepared < UNNAMED_SHARE * whole:
        # Tables that spare the loop work, a buffer that is filled once: only files count.
        unnamed = [s for s in unnamed if any(_TABLES(frame) for frame in s.frames)]
        prepared = seconds_of(unnamed)
    before += prepared
    # Features that an environment computes in its steps are another cause.
    inside = sum(
        phase.total_s
        for phase in phases_named(analysis, "data")
        if not any(name.startswith("env.") for name in names_of(phase.path))
    )
    reading_s, read_at = _reading_in_loop(analysis)
    inside += reading_s
    if analysis.was_cut:
        # The full length of such a run is unknown: only what is in the loop counts.
        before = 0.0
    seconds = before + inside
    if whole <= 0 or seconds / whole < LOADING_SHARE:
        return []
    result = finding(
        analysis,
        "data-loading",
        title=f"Loading and preparing data takes {seconds / whole:.0%} of the run "
        f"({units.seconds(seconds)})",
        phase="data",
        seconds=inside,
        saves=LOADING_WINS,
        confidence=MEDIUM,
        where=read_at or where(analysis, "data") or _startup_lines(analysis)
        if inside > before
        else _startup_lines(analysis),
        evidence={"startup_s": before, "in_loop_s": inside},
        fix="Every run or every iteration reads the same data and computes the same features "
        "again. Compute them once and keep the result (in memory, as Parquet or .npy); "
        "read columns rather than lines of text.",
        before='df = add_indicators(pd.read_csv("prices.csv"))',
        after="if not cache.exists():\n"
        '    add_indicators(pd.read_csv("prices.csv")).to_parquet(cache)\n'
        "df = pd.read_parquet(cache)",
    )
    share = seconds / whole
    # Loading less before the loop makes the run faster, not the loop.
    result.run_gain = measured_gain_of(share, *LOADING_WINS)
    result.severity = severity_of(result.run_gain if result.is_of_run else result.gain)
    return [result]


def _unnamed_before(analysis: Analysis) -> list[Sample]:
    """Time of the program's own code, and of its data libraries, before the loop."""
    return [
        sample
        for sample in analysis.startup_samples
        if not {"data", "import", "wait", "data.load"} & set(sample.phases)
        and _is_preparing(sample)
    ]


def _is_preparing(sample: Sample) -> bool:
    """Whether the innermost code is the program's, or of a library for data that it calls.

    Waiting for a server or for processes to start is not preparing; waiting for files is.
    """
    if sample.waiting and not any(_TABLES(frame) for frame in sample.frames):
        return False
    for frame in sample.frames:
        if frame.of_program:
            return True
        if frame.file.startswith("<") or not (_PREPARES(frame) or _is_pythons(frame)):
            return False
    return False


_STARTS = in_package("multiprocessing", "subprocess", "socket", "threading", "selectors",
                     "concurrent", "asyncio")  # fmt: skip


def _is_pythons(frame: Frame) -> bool:
    own = "/lib/python" in frame.file and "-packages/" not in frame.file
    return own and not _STARTS(frame)


def _reading_in_loop(analysis: Analysis) -> tuple[float, list[SourceLine]]:
    """(seconds, places) of files that are read again and again, outside of environments."""
    samples = [
        sample
        for sample in samples_under(analysis)
        if not any(n in _NOT_LOADING or n.startswith("env.") for n in sample.phases)
        and not copies_by_dumping(analysis, sample)
    ]
    loaded: list[Sample] = []
    rest: list[Sample] = []
    for sample in samples:
        reads = any(map(_is_reading, sample.frames))
        (loaded if reads else rest).append(sample)
    lines = use_at_lines(analysis, [s for s in rest if not s.waiting], _READ_CALLS)
    read_s = seconds_of(loaded)
    # The result that a function computes from a file is kept; a main loop does more than that.
    readers = functions_that_read(loaded)
    made_s = sum(
        sample.seconds
        for sample in rest
        if _function_of(sample) in readers
        and not any(name.startswith(_TRAINS) for name in sample.phases)
        and sample.line not in lines.lines
    )
    seconds = read_s + (made_s if made_s <= MOST_MADE * read_s else 0.0) + lines.seconds
    return seconds, inner_lines(loaded) or lines.where()


#: A function that reads may also train.
_TRAINS = ("learn", "policy", "inference", "generate", "search", "advantage")
#: Up to this many times the time of reading, the rest of a function prepares what was read.
MOST_MADE = 3.0


def functions_that_read(samples: Iterable[Sample]) -> set[tuple[str, str]]:
    """(file, function) of the program that reads files, by the stacks that read."""
    reading = [_function_of(s) for s in samples if any(map(_is_reading, s.frames))]
    return {function for function in reading if function is not None}


def _function_of(sample: Sample) -> tuple[str, str] | None:
    line = sample.line
    return line.code if line else None


def reads_files(sample: Sample, readers: set[tuple[str, str]]) -> bool:
    """Whether a sample is in one of the functions that read files."""
    return _function_of(sample) in readers


def _is_reading(frame: Frame) -> bool:
    if frame.of_program:
        return False
    name = frame.short
    return name in _READERS or (_FILES(frame) and _READING.match(name) is not None)


def _startup_lines(analysis: Analysis) -> list[SourceLine]:
    named = [s for s in analysis.startup_samples if "data" in s.phases]
    return inner_lines(named + _unnamed_before(analysis))


RULES: tuple[Rule, ...] = (memory_pressure, data_loading)
