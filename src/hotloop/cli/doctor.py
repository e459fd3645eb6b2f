"""Check this machine and Python environment for training.

Checks which accelerators the driver, torch, TensorFlow and JAX see, and why if one sees none;
cores, container limits and thread settings; memory; hotloop's own core; and whether the hooks fit
the installed libraries. Exits with code 1 if something is wrong.

  hotloop doctor
  hotloop doctor --format json
"""

from __future__ import annotations

import argparse
import json
import sys

from hotloop.cli.numbers import age
from hotloop.report.console.terminal import style_for, write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print the checks"
    )
    parser.add_argument(
        "--wait",
        type=age,
        metavar="TIME",
        help="how long to wait for frameworks to import (default 8s)",
    )
    parser.add_argument(
        "--json", dest="format", action="store_const", const="json", help=argparse.SUPPRESS
    )


def main(options: argparse.Namespace) -> int:
    from hotloop.analyze.doctor import Framework, Survey, examine, is_wrong
    from hotloop.capture.schema import LibraryUse
    from hotloop.report.console.doctor import doctor_document, doctor_text
    from hotloop.run.survey import TIME_LIMIT_S, survey

    if options.format == "text":
        limit = options.wait or TIME_LIMIT_S
        print(f"hotloop: importing each framework, for at most {limit:.0f} s", file=sys.stderr)
    found = survey(options.wait) if options.wait else survey()
    found["frameworks"] = [Framework(**each) for each in found["frameworks"]]
    found["hooks"] = {title: LibraryUse(facts) for title, facts in found["hooks"].items()}
    known = Survey(**found)
    checks = examine(known)
    wrong = is_wrong(checks)
    if options.format == "json":
        write(sys.stdout, json.dumps(doctor_document(known, checks, wrong), indent=2))
    else:
        write(sys.stdout, doctor_text(checks, style_for(sys.stdout)))
    return 1 if wrong else 0
