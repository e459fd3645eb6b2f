"""Serve hotloop to a coding assistant, over the Model Context Protocol on standard input.

  pip install 'hotloop[mcp]'

In the client's configuration:

  {"mcpServers": {"hotloop": {"command": "hotloop", "args": ["mcp"]}}}

Tools: run, report, prove and compare, each with a short result.
"""

from __future__ import annotations

import argparse

from hotloop import __version__
from hotloop.integrations.mcp_server import serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: a client configures nothing."""


def main(options: argparse.Namespace) -> int:
    serve(__version__)
    return 0
