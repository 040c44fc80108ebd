# SPDX-License-Identifier: Apache-2.0
"""`pyptx.tune` and processes: what hangs or dies in one, what is remembered for the next."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import cache
from pyptx._tune import memory, process, runner, tuning
from pyptx._tune.arguments import Arguments
from pyptx._tune.errors import TrialFailed
from pyptx._tune.search import Standing
from support.tree import TESTS
from support.tuned_kernels import X, build, doubled

SPACE = [{"ITEMS": 1}, {"ITEMS": 2}, {"ITEMS": 4}]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix == ".json")


# --- children -----------------------------------------------------------------------------------


def test_a_configuration_that_hangs_is_told_and_the_others_are_tried() -> None:
    """In a process of its own: the emulator runs an endless loop as a GPU would."""
    space = [{"ITEMS": 1}, {"FAULT": "hang"}, {"FAULT": "deadlock"}, {"ITEMS": 2}]
    started = time.monotonic()
    found = pyptx.tune(build, space, (X,), timeout=2, remember=False)
    assert time.monotonic() - started < 60
    assert [trial.status for trial in found.trials] == ["best", "failed", "failed", "checked"]
    assert found.trials[1].why == "it did not end in 2 s"
    assert "[PTX0911]" in found.trials[2].why
    np.testing.assert_array_equal(found(X), 2 * X)


def started_as(script: str) -> Any:
    return lambda: process.Child((sys.executable, "-c", script))


def run_on(start: Any, **options: Any) -> None:
    with runner.Runner(Arguments((X,), None), [False], start=start, timeout=1, **options) as one:
        one.add(0, b"")
        one.run(0)


def test_a_worker_that_sleeps_forever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it reads anything: what is sent does not fit into the pipe."""
    monkeypatch.setattr(runner, "START_SECONDS", 1.0)
    children = []

    def start() -> process.Child:
        children.append(started_as("import time; time.sleep(1000)")())
        return children[-1]

    large = np.zeros(1 << 18, np.float32)
    one = runner.Runner(Arguments((large,), None), [False], start=start, timeout=1)
    with pytest.raises(pyptx.TuneError, match=r"PTX0835.*did not start in 1 s"):
        one.open()
    assert children[0]._process.poll() is not None


ANSWER = """
import os, sys
from pyptx._tune.process import HEADER, packed, unpacked
asked = 0
while True:
    length, behind = HEADER.unpack(sys.stdin.buffer.read(HEADER.size))
    unpacked(sys.stdin.buffer.read(length), sys.stdin.buffer.read(behind))
    asked += 1
    if asked == {fails_at}:
        {how}
    for chunk in packed({{}}, ()):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
"""


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("import time; time.sleep(1000)", "it did not end in 1 s"),
        ("os.kill(os.getpid(), 11)", "it ended with signal 11"),
        ("sys.exit('the driver has gone')", "exit status 1: the driver has gone"),
        ("sys.stdout.close(); os.close(1)", "gone: it ended with exit status"),
    ],
)
def test_how_a_worker_fails_in_a_run(how: str, why: str) -> None:
    with pytest.raises(TrialFailed) as caught:
        run_on(started_as(ANSWER.format(fails_at=3, how=how)))  # open, load, run
    assert caught.value.status == "failed"
    assert why in caught.value.why


def test_a_worker_that_cannot_open_the_device() -> None:
    with pytest.raises(pyptx.TuneError, match=r"PTX0835.*did not start: it ended with"):
        run_on(started_as("raise SystemExit('no device')"))
    arguments = Arguments((X,), None)
    arguments.ordinal = 63
    with (
        pytest.raises(pyptx.TuneError, match=r"PTX0835.*cannot work: .*PTX070") as caught,
        runner.Runner(arguments, [False], timeout=5) as one,
    ):
        one.open()
    assert "isolate=False" in caught.value.diagnostics[0].notes[0]


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    """While a kernel hangs in it, too."""
    file = tmp_path / "hangs"
    build(FAULT="hang").save(file, X)
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from pyptx._tune.arguments import Arguments\n"
        "from pyptx._tune.runner import Runner\n"
        f"one = Runner(Arguments((np.ones({X.size}, np.float32),), None), [False], timeout=1000)\n"
        f"one.add(0, Path({str(file)!r}).read_bytes())\n"
        "one.open()\n"
        "print(one._child._process.pid, flush=True)\n"
        "one.run(0)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(0.5)  # it runs by now, or will
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and Path(f"/proc/{worker}/stat").exists():
        state = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":  # collected by whoever is init here
            break
        time.sleep(0.1)
    else:
        if Path(f"/proc/{worker}").exists():
            os.kill(worker, signal.SIGKILL)
            pytest.fail("the worker outlives its parent")


# --- what is remembered -------------------------------------------------------------------------


def test_a_second_process_starts_from_what_was_learnt(tmp_path: Path) -> None:
    first = pyptx.tune(build, SPACE, (X,), remember=tmp_path)
    assert first.how == "static"
    script = (
        f"import sys; sys.path.insert(0, {str(TESTS)!r})\n"
        "import pyptx\n"
        "from pyptx._tune import process\n"
        "from support.tuned_kernels import X, build\n"
        "process.Child.__init__ = None\n"  # nothing can be started
        f"found = pyptx.tune(build, {SPACE!r}, (X,), remember={str(tmp_path)!r})\n"
        "print(found.how, found.config, found.best.registers)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.split("\n")[0] == f"remembered {first.config} {first.best.registers}", (
        done.stderr
    )


def test_another_question_is_another_file(tmp_path: Path) -> None:
    def ask(kernel: Any, space: Any, x: Any, **options: Any) -> str:
        return pyptx.tune(kernel, space, (x,), remember=tmp_path, isolate=False, **options).how

    questions: list[Any] = [
        (build, SPACE, X, {}),
        (build, SPACE, X[:256], {}),  # shape
        (build, SPACE[:2], X, {}),  # space
        (build, [{**each, "STAGES": 1} for each in SPACE], X, {}),  # text
        (build, SPACE, X, {"reference": 2 * X}),
        (build, SPACE, X, {"cost": lambda ITEMS: 8 / ITEMS, "slack": 2}),  # what is left out
        (doubled, {"ITEMS": [1, 8]}, X, {}),
    ]
    for count, (kernel, space, x, options) in enumerate(questions, 1):
        assert ask(kernel, space, x, **options) == "static"
        assert len(files(tmp_path)) == count
    for kernel, space, x, options in questions:
        assert ask(kernel, space, x, **options) == "remembered"
    key = json.loads(files(tmp_path)[0].read_text())["key"]
    assert key["arguments"][0][0] == "f32"  # also where no text depends on it
    assert key["arguments"][0][2] == [1]
    assert ask(doubled, {"ITEMS": [1, 2]}, X) == "remembered"  # the same texts as SPACE[:2]
    assert ask(build, SPACE, X, again=True) == "static"
    assert len(files(tmp_path)) == len(questions)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[1, 2]",
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text.replace('"status": "checked"', '"status": "best"', 1),
        lambda text: text.replace('"is_finished": true', '"is_finished": false'),
    ],
)
def test_a_damaged_file_is_ignored_and_rewritten(tmp_path: Path, damage: Any) -> None:
    first = pyptx.tune(build, SPACE, (X,), remember=tmp_path, isolate=False)
    (file,) = files(tmp_path)
    text = file.read_text()
    assert damage(text) != text
    file.write_text(damage(text))
    with pytest.warns(pyptx.TuneWarning, match="is damaged"):
        found = pyptx.tune(build, SPACE, (X,), remember=tmp_path, isolate=False)
    assert (found.how, found.config) == ("static", first.config)
    assert json.loads(file.read_text())["found"] == json.loads(text)["found"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pyptx.tune(build, SPACE, (X,), remember=tmp_path, isolate=False)
    assert found.how == "remembered"


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.warns(pyptx.TuneWarning, match="cannot be"):
        found = pyptx.tune(build, SPACE, (X,), remember=blocked / "folder", isolate=False)
    assert found.how == "static"


def test_where_it_is_remembered(tmp_path: Path) -> None:
    try:
        cache.set_global_cache(cache.CubinCache(tmp_path))
        pyptx.tune(build, SPACE, (X,), isolate=False)
        assert len(files(tmp_path / "tune")) == 1
        assert (tmp_path / "tune").stat().st_mode & 0o077 == 0
        assert pyptx.tune(build, SPACE, (X,), isolate=False).how == "remembered"
        cache.set_global_cache(cache.CubinCache(""))
        assert pyptx.tune(build, SPACE, (X,), isolate=False).how == "static"
    finally:
        cache.set_global_cache(None)


def test_many_at_once_leave_one_good_file(tmp_path: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(TESTS)!r})\n"
        "import warnings; warnings.simplefilter('error')\n"
        "import pyptx\n"
        "from support.tuned_kernels import X, build\n"
        "for _ in range(5):\n"
        f"    found = pyptx.tune(build, {SPACE!r}, (X,), remember={str(tmp_path)!r},\n"
        "                       isolate=False, again=True)\n"
        "print(found.config)\n"
    )

    def one(_: int) -> str:
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(one, range(4)))
    assert len(answers) == 1
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]
    assert pyptx.tune(build, SPACE, (X,), remember=tmp_path).how == "remembered"


# --- timing, with a clock that is told what to say ------------------------------------------------


class Scripted(runner.Runner):
    """A runner whose clock says what a configuration was told to take."""

    times: dict[int, float] = {}  # noqa: RUF012
    asked: list[int] = []  # noqa: RUF012
    stops_after = 10**9

    def time(self, index: int, seconds: float) -> float:
        if len(self.asked) >= self.stops_after:
            raise KeyboardInterrupt
        self.asked.append(index)
        if self.times[index] < 0:
            raise TrialFailed("failed", "it hangs at times")
        return self.times[index]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[Scripted]:
    """Time as on a GPU, on the emulator."""
    monkeypatch.setattr(tuning, "Runner", Scripted)
    monkeypatch.setattr(tuning, "is_timed", lambda arguments: True)
    monkeypatch.setattr(Scripted, "asked", [])
    monkeypatch.setattr(Scripted, "stops_after", 10**9)
    times = {0: 4e-4, 1: 2e-4, 2: -1.0, 3: 1e-4, 4: 3e-4, 5: 5e-4}
    monkeypatch.setattr(Scripted, "times", times)
    return Scripted


TIMED = {"ITEMS": [1, 2, 4], "THREADS": [32, 64]}


def test_the_fastest_is_chosen(scripted: type[Scripted]) -> None:
    found = pyptx.tune(build, TIMED, (X,), remember=False, isolate=False)
    assert found.how == "timed"
    assert found.config == {"ITEMS": 2, "THREADS": 64}
    assert found.best.time == 1e-4
    assert found.trials[2].status == "failed"
    assert found.trials[5].why == "left out after rung 1 of 3"
    assert [row["config"] for row in found.table()][:2] == [found.config, TIMED_SECOND]
    full = pyptx.tune(build, TIMED, (X,), remember=False, isolate=False, search="exhaustive")
    assert full.config == found.config
    assert [len(trial.seconds) for trial in full.trials] == [11, 11, 0, 11, 11, 11]


TIMED_SECOND = {"ITEMS": 1, "THREADS": 64}


def test_deterministic_never_times(scripted: type[Scripted]) -> None:
    found = pyptx.tune(build, TIMED, (X,), remember=False, isolate=False, deterministic=True)
    assert found.how == "static"
    assert scripted.asked == []


def test_a_tuning_that_was_ended_goes_on(scripted: type[Scripted], tmp_path: Path) -> None:
    options: dict[str, Any] = {"remember": tmp_path, "isolate": False}
    scripted.stops_after = 24  # in the second rung
    with pytest.raises(KeyboardInterrupt):
        pyptx.tune(build, TIMED, (X,), **options)
    ran = list(scripted.asked)
    scripted.asked.clear()
    scripted.stops_after = 10**9
    found = pyptx.tune(build, TIMED, (X,), **options)
    assert found.config == {"ITEMS": 2, "THREADS": 64}
    assert found.how == "timed"
    assert set(scripted.asked) < set(ran)
    assert 2 not in scripted.asked  # known to hang
    assert found.trials[2].why == "it hangs at times"
    assert pyptx.tune(build, TIMED, (X,), **options).how == "remembered"


def test_what_is_unfinished_does_not_replace_what_is(tmp_path: Path) -> None:
    record = tuning.Record({"key": 1}, tmp_path)
    record.write({"is_finished": True, "trials": {}})
    record.write({"is_finished": False, "trials": {}})
    assert record.read() == {"is_finished": True, "trials": {}}
    assert memory.resumed([], None) is None
    assert isinstance(
        memory.resumed([], {"is_finished": False, "trials": {}, "alive": [], "rung": 1}), Standing
    )
