# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and the end of the interpreter, each in a process of its own: every way into the emulator.

A child says "ready" when it is about to emulate without end, gets SIGINT, and says what it saw.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ENDLESS = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

def make(prints):
    @kernel(in_specs=(Tile(4, dtype=f32),), out_specs=(Tile(4, dtype=f32),), grid=(2, 1, 1),
            block=(64, 1, 1), arch="sm_90a")
    def endless(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        n = reg.scalar(u32, init=0)
        rounds = reg.scalar(u32)
        ptx.inst.ld.global_.u32(rounds, ptx.addr(px))
        with ptx.range_(0, rounds):
            ptx.inst.add.u32(n, n, 1)
            if prints:
                ptx.printf("%u\\n", n)
        ptx.inst.st.global_.u32(ptx.addr(py), n)
        ptx.ret()
    return endless

endless = make(False)
x = np.full(4, 2.0, np.float32)  # whose bits are a large number
none = np.zeros(4, np.float32)  # to trace and to compile with

def ready():
    print("ready", flush=True)

def watch(call):
    ready()
    try:
        call()
    except BaseException as error:
        notes = "".join(getattr(error, "__notes__", ()))
        print("saw", type(error).__name__, "warp 1" in notes, flush=True)
    else:
        print("saw nothing", flush=True)

def watch_framework(call):
    # its own error comes first, and the interrupt as soon as Python runs again
    ready()
    try:
        try:
            call()
        except Exception as error:
            print(end="")
            print("saw only", type(error).__name__, flush=True)
    except KeyboardInterrupt as error:
        said = []
        while error is not None:  # the framework's error is behind it, or the note is its own
            said += [str(error), *getattr(error, "__notes__", ())]
            error = error.__context__
        print("saw KeyboardInterrupt", "warp 1" in "".join(said), flush=True)
"""

NOTED = {
    "emulate": "watch(lambda: endless.emulate(x))",
    "emulate_one_thread": "watch(lambda: endless.emulate(x, threads=1, checks='basic'))",
    "trace": "import os; watch(lambda: endless.emulate(x, trace=os.devnull))",
    "report": "watch(lambda: endless.emulate(x, report=True))",
    "printing": "watch(lambda: make(True).emulate(x))",
    "random": "watch(lambda: endless.emulate(x, schedule='random', seed=3))",
    "numpy": "watch(lambda: endless(x))",
    "torch": "import torch; t = torch.from_numpy(x); endless(torch.zeros(4))\n"
    "watch(lambda: endless(t))",
}
FRAMEWORKS = {
    "jax": "import jax.numpy as jnp; y = jnp.asarray(x)\nendless(jnp.asarray(none))\n"
    "watch_framework(lambda: endless(y).block_until_ready())",
    "jit": "import jax; f = jax.jit(lambda y: endless(y) + 1); f(none)\n"
    "watch_framework(lambda: f(x).block_until_ready())",
    "torch_compiled": "import torch, torch._dynamo\n"
    "f = torch.compile(lambda t: endless(t) + 1, backend='eager')\nf(torch.from_numpy(none))\n"
    "watch_framework(lambda: f(torch.from_numpy(x)))",
}


def needs(script: str) -> None:
    for package in ("torch", "jax"):
        if package in script and importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")


def start(script: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for line in child.stdout:  # printf's lines come at the end
        if line == "ready\n":
            return child
    raise AssertionError(child.communicate()[1])


def interrupted(script: str) -> tuple[str, float]:
    child = start(ENDLESS + script)
    time.sleep(0.7)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    killer = threading.Timer(20, child.kill)
    killer.start()
    assert child.stdout is not None
    seen = next((line for line in child.stdout if line.startswith("saw")), "it went on")
    seconds = time.monotonic() - begin
    child.communicate()
    killer.cancel()
    return seen, seconds


@pytest.mark.parametrize("name", NOTED)
def test_ctrl_c_says_where_each_warp_stands(name: str) -> None:
    needs(NOTED[name])
    seen, seconds = interrupted(NOTED[name])
    assert seen == "saw KeyboardInterrupt True\n"
    assert seconds < 5  # a second where the machine is not busy


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_ctrl_c_reaches_emulations_of_frameworks(name: str) -> None:
    needs(FRAMEWORKS[name])
    seen, seconds = interrupted(FRAMEWORKS[name])
    assert seen == "saw KeyboardInterrupt True\n"
    assert seconds < 5


@pytest.mark.parametrize("ending", ["sys.exit(0)", "pass", "raise SystemExit(0)"])
@pytest.mark.parametrize(
    "call", ["endless.emulate(x)", "endless(x)", "make(True).emulate(x, trace='/dev/null')"]
)
def test_the_interpreter_ends_while_a_thread_emulates(ending: str, call: str) -> None:
    script = (
        ENDLESS
        + f"""
import time
threading.Thread(target=lambda: {call}, daemon=True).start()
time.sleep(0.5)
ready()
{ending}
"""
    )
    child = start(script)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, err) == (0, "")
    assert "True" in call or out == ""  # what was printed until then is shown


def test_the_command_ends_on_ctrl_c(tmp_path: Path) -> None:
    text = tmp_path / "endless.ptx"
    text.write_text(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nL:\nbra L;\n}\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "pyptx", "run", os.fspath(text)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "error[PTX0915]" in err
    assert "block (0,0,0) warp 0 is at bra" in err
    assert "Traceback" not in err
