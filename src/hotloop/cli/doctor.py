"""Say what this machine and this Python environment would do to a training.

Accelerators that the driver, torch, TensorFlow and JAX see, and why one sees none; cores, container
limits and thread settings; memory; hotloop's own core; which hooks fit the installed libraries.
Ends with exit code 1 if something is wrong.

  hotloop doctor
  hotloop doctor --json
"""

from __future__ import annotations

import argparse
import json
import sys

from hotloop.analyze.doctor import Framework, Survey, examine, is_wrong
from hotloop.measure.survey import survey
from hotloop.report.doctor import doctor_document, doctor_text
from hotloop.report.terminal import style_for, write

HELP = "say what is wrong with this machine and environment for training"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(options: argparse.Namespace) -> int:
    if not options.json:
        print("hotloop: asking each framework, which takes some seconds", file=sys.stderr)
    found = survey()
    found["frameworks"] = [Framework(**each) for each in found["frameworks"]]
    known = Survey(**found)
    checks = examine(known)
    wrong = is_wrong(checks)
    if options.json:
        write(sys.stdout, json.dumps(doctor_document(known, checks, wrong), indent=2))
    else:
        write(sys.stdout, doctor_text(checks, style_for(sys.stdout)))
    return 1 if wrong else 0
