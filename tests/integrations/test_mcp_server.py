"""The MCP server, asked by the official SDK's client over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hotloop import __version__
from hotloop.analyze.comparing.compare import Figures, compare_pairs
from hotloop.report.results.comparison import comparison_document

pytest.importorskip("mcp.server.mcpserver", reason="needs hotloop[mcp]")
pytestmark = pytest.mark.programs

PROGRAM = """
import time
from hotloop import count, profile_function

@profile_function("env.step")
def step():
    time.sleep(0.001)
    count("env_steps")

for number in range(300):
    step()
"""


async def ask(folder: Path) -> tuple[list[str], dict[str, Any], str]:
    from mcp import Client, StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "hotloop", "mcp"], cwd=str(folder)
    )
    async with Client(stdio_client(server)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        none = await client.call_tool("report", {})
        assert "call run first" in none.content[0].text
        ran = await client.call_tool("run", {"command": "train.py", "folder": str(folder)})
        newest = await client.call_tool("report", {})
        assert newest.content[0].text == ran.content[0].text
        failed = await client.call_tool("report", {"capture": str(folder / "missing")})
        assert failed.is_error
        return tools, json.loads(ran.content[0].text), failed.content[0].text


def test_a_client_lists_the_tools_and_runs_a_program(tmp_path: Path) -> None:
    import anyio

    (tmp_path / "train.py").write_text(PROGRAM)
    tools, ran, failure = anyio.run(ask, tmp_path)
    assert tools == ["run", "report", "prove", "compare"]
    assert ran["steps_per_s"] > 0
    assert "env.step" in ran["phases"]
    assert Path(ran["capture"]).is_dir()
    assert "no capture" in failure or "missing" in failure


def test_the_handshake_names_the_version(tmp_path: Path) -> None:
    initialize = {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}
    done = subprocess.run(
        [sys.executable, "-m", "hotloop", "mcp"],
        input=json.dumps(asked) + "\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    (answer,) = done.stdout.splitlines()
    server = json.loads(answer)["result"]["serverInfo"]
    assert (server["name"], server["version"]) == ("hotloop", __version__)


def test_a_comparison_says_which_side_is_faster() -> None:
    from hotloop.integrations.mcp_server import _compared

    pairs = [(made(1.0 + 0.01 * i), made(0.5)) for i in range(6)]
    document = comparison_document(compare_pairs(pairs, "env_steps", ("train.py", "fast.py")))
    answer = _compared(document)
    assert answer["verdict"] == "faster"
    assert answer["headline"].startswith("fast.py is ")
    assert answer["times_faster"]["low"] > 1.9


def made(seconds: float) -> Figures:
    return Figures(seconds, {}, {}, {}, 100.0)


LONG = """
import os, time
from hotloop import count, profile_function

@profile_function("env.step")
def step():
    time.sleep(0.001)
    count("env_steps")

step()
with open("running.part", "w") as file:
    file.write(str(os.getpid()))
os.rename("running.part", "running")
while True:
    step()
"""

CLIENT = """
import subprocess, sys, time
server = "from hotloop.integrations.mcp_server import run; run('train.py', stop_after='1h')"
subprocess.Popen([sys.executable, "-c", server])
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the process there")
def test_a_command_ends_when_its_client_is_gone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LONG)
    client = subprocess.Popen([sys.executable, "-c", CLIENT], cwd=tmp_path)
    while not (tmp_path / "running").exists():
        assert client.poll() is None
        time.sleep(0.05)
    running = Path("/proc", (tmp_path / "running").read_text())
    client.kill()
    client.wait()
    while running.exists():
        time.sleep(0.05)
