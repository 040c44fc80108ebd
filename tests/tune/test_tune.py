# SPDX-License-Identifier: Apache-2.0
"""`pyptx.tune` on the emulator: what it tries, refuses, chooses and says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx.kernel import Kernel
from pyptx.kernels import GemmConfig, GemmProblem, build_gemm
from support.packages import need
from support.tuned_kernels import X, build, doubled, doubled_in_place, scaled


def tuned(kernel: Any, space: Any, args: Any = (X,), **options: Any) -> pyptx.Tuned:
    """Tune in this process, and remember nothing."""
    return pyptx.tune(kernel, space, args, **{"isolate": False, "remember": False, **options})


def statuses(found: pyptx.Tuned) -> list[str]:
    return [trial.status for trial in found.trials]


def why(found: pyptx.Tuned, index: int) -> str:
    return found.trials[index].why


# --- what is tuned ------------------------------------------------------------------------------


def test_template_parameters_of_a_kernel() -> None:
    found = tuned(doubled, {"ITEMS": [1, 2, 4]})
    assert found.config in ({"ITEMS": 1}, {"ITEMS": 2}, {"ITEMS": 4})
    assert len(found.trials) == 3
    np.testing.assert_array_equal(found(X), 2 * X)
    np.testing.assert_array_equal(found.kernel(X), 2 * X)
    assert found.kernel.keywords == found.config


def test_what_a_function_builds() -> None:
    found = tuned(build, {"THREADS": [32, 64], "ITEMS": [1, 2]}, where=lambda THREADS, ITEMS: ITEMS)
    assert [trial.config for trial in found.trials][1] == {"THREADS": 32, "ITEMS": 2}
    assert isinstance(found.kernel, Kernel)
    np.testing.assert_array_equal(found(X), 2 * X)


def test_objects_as_configurations() -> None:
    """The library's product: a dataclass for each configuration."""
    torch = need("torch")
    problem = GemmProblem()
    space = [GemmConfig(tile=(128, 64), cluster=(1, 1), stages=stages, ctas=1) for stages in (3, 4)]
    space.append(GemmConfig(tile=(128, 128), cluster=(1, 1), ctas=1))
    a, b = (torch.randn(128, 128).to(torch.bfloat16) for _ in range(2))
    found = tuned(lambda config: build_gemm(problem, config), space, (a, b), reference=a @ b.mT)
    assert found.config in space
    assert torch.allclose(found(a, b).float(), (a @ b.mT).float(), rtol=0.02, atol=0.5)
    assert found.name == "gemm"


def test_arrays_of_every_framework() -> None:
    jax = need("jax")
    torch = need("torch")
    for x in (X, torch.from_numpy(X), jax.numpy.asarray(X)):
        found = tuned(doubled, {"ITEMS": [1, 2]}, x)  # one tensor need not be in a tuple
        assert type(found(x)) is type(x)
        np.testing.assert_array_equal(np.asarray(found(x)), 2 * X)


def test_a_kernel_that_writes_its_input() -> None:
    x = np.ones(64, np.float32)
    space = {"FACTOR": [2.0, 3.0]}
    found = tuned(doubled_in_place, space, (x,), reference=2 * x)
    assert found.config == {"FACTOR": 2.0}
    assert (x == 1).all()  # it ran on copies
    assert statuses(found) == ["best", "wrong"]


def test_the_other_arguments_of_a_call() -> None:
    found = tuned(scaled, {"ITEMS": [1, 2]}, keywords={"factor": 3.0})
    np.testing.assert_array_equal(found(X, factor=3.0), 3 * X)
    with pytest.raises(TypeError, match="raw parameter 'factor'") as caught:
        tuned(scaled, {"ITEMS": [1, 2]})  # no configuration's fault: as the call says it
    assert caught.value.__notes__ == ["in the configuration ITEMS=1 of a tuning"]


# --- what is left out ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "status", "reason"),
    [
        ({"FAULT": "builder"}, "refused", "no such kernel"),
        ({"THREADS": 2048}, "refused", "at most 1024"),
        ({"SMEM": 300_000}, "refused", "300000 bytes of shared memory"),
        ({"STAGES": 240}, "refused", "bytes of shared memory"),
        ({"FAULT": "wrong"}, "wrong", "differs by 0.5 of its largest magnitude"),
        ({"FAULT": "unwritten"}, "wrong", "no number where the reference"),
        ({"FAULT": "outside"}, "failed", "[PTX0904]"),
        ({"FAULT": "deadlock"}, "failed", "[PTX0911]"),
        ({"ITEMS": 16}, "refused", "grid"),
    ],
)
def test_a_bad_configuration_is_named(bad: dict[str, Any], status: str, reason: str) -> None:
    found = tuned(build, [{"ITEMS": 1}, bad, {"ITEMS": 2}])
    assert statuses(found)[1] == status
    assert reason in why(found, 1)
    assert {statuses(found)[0], statuses(found)[2]} == {"best", "checked"}
    assert reason in str(found)


def test_the_same_kernel_is_tried_once() -> None:
    found = tuned(doubled, {"ITEMS": [1], "UNUSED": [0, 1, 2]})
    assert statuses(found) == ["best", "same", "same"]
    assert why(found, 2) == "the same kernel as ITEMS=1, UNUSED=0"


def test_past_a_cliff_of_occupancy() -> None:
    """74 stages leave room for 3 CTAs and 222 KiB of loads; 76 for 2 CTAs, and 152 KiB."""
    x = np.ones(64 * 400, np.float32)
    found = tuned(build, {"STAGES": [74, 76, 110, 200]}, (x,))
    assert found.trials[1].status == "pruned"
    assert "2 CTAs, fewer than STAGES=74" in why(found, 1)
    assert [statuses(found)[at] for at in (0, 2)] == ["best", "checked"]  # 220 KiB by 2 CTAs
    assert statuses(found)[3] == "checked"  # 200 KiB by one CTA
    assert [trial.ctas for trial in found.trials] == [3, 2, 2, 1]


def test_a_bad_one_does_not_take_others_along() -> None:
    """What was left out for a configuration that turns out wrong is tried after all."""
    x = np.ones(64 * 400, np.float32)
    space = [{"STAGES": 74, "FAULT": "wrong"}, {"STAGES": 76}, {"STAGES": 0, "ITEMS": 2}]
    found = tuned(build, space, (x,), reference=2 * x)
    assert statuses(found)[:2] == ["wrong", "checked"]


def test_a_model_orders_and_prunes() -> None:
    space = {"ITEMS": [1, 2, 4, 8]}
    found = tuned(doubled, space, cost=lambda ITEMS: 10 - ITEMS, slack=3)
    assert found.config == {"ITEMS": 8}
    assert statuses(found) == ["pruned", "pruned", "checked", "best"]
    assert why(found, 0) == "the model expects 4.50 times the best"
    assert [trial.cost for trial in found.trials] == [9.0, 8.0, 6.0, 2.0]


def test_without_a_model_the_rule_is_documented() -> None:
    """Fewest bytes spilled, then most warps, then the order of the space."""
    found = tuned(build, [{"THREADS": 32}, {"THREADS": 256, "ITEMS": 2}, {"THREADS": 256}])
    assert found.how == "static"
    if found.best.registers is not None:  # an assembler is installed
        assert [trial.warps for trial in found.trials] == [32, 64, 64]
    assert found.config == {"THREADS": 256, "ITEMS": 2}
    assert all(not trial.seconds for trial in found.trials)


# --- results ------------------------------------------------------------------------------------


def test_what_is_shown() -> None:
    found = tuned(build, [{"ITEMS": 1}, {"FAULT": "wrong"}, {"FAULT": "builder"}])
    text = str(found)
    assert re.match(r"doubled on the emulator: static, 1 of 3 configurations, \d+\.\d s\n", text)
    assert [line.split()[0] for line in text.splitlines()[2:]] == [
        "ITEMS=1",
        "FAULT='builder'",
        "FAULT='wrong'",
    ]
    rows = found.table()
    assert rows[0]["status"] == "best"
    assert rows[0]["us"] is None
    assert rows[0]["threads"] == 64
    kept = json.loads(found.json())
    assert kept["trials"][1]["config"] == "FAULT='builder'"


def test_a_trial_has_a_median_and_a_spread() -> None:
    trial = pyptx.Trial({}, seconds=[1.0, 1.2, 1.1])
    assert trial.time == 1.1
    assert trial.spread == pytest.approx(0.2 / 1.1)
    assert pyptx.Trial({}).spread is None


def test_results_may_differ_by_what_rounding_explains() -> None:
    x = np.ones(64, np.float32)
    space = {"FACTOR": [2.0, 2.0001, 2.01]}
    assert statuses(tuned(doubled_in_place, space, (x,)))[1:] == ["checked", "wrong"]
    found = tuned(doubled_in_place, space, (x,), tolerance=0.01)
    assert statuses(found) == ["best", "checked", "checked"]
    with pytest.raises(pyptx.TuneError) as caught:
        tuned(doubled_in_place, space, (x,), tolerance=0)
    assert caught.value.diagnostics[0].code == "PTX0834"


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("PTX0830", lambda: tuned(3, {"ITEMS": [1]})),
        ("PTX0830", lambda: tuned(doubled, "ITEMS")),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": 3})),
        ("PTX0830", lambda: tuned(doubled, {3: [1]})),
        ("PTX0830", lambda: tuned(doubled, [3])),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, 3)),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, ())),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, (3,))),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, keywords=3)),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, where=3)),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, cost=3)),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, cost=lambda ITEMS: "low")),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, slack=0.5)),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, timeout="soon")),
        ("PTX0830", lambda: tuned(doubled, {"ITEMS": [1]}, search="random")),
        ("PTX0830", lambda: tuned(lambda ITEMS: ITEMS, {"ITEMS": [1]})),
        ("PTX0831", lambda: tuned(doubled, {})),
        ("PTX0831", lambda: tuned(doubled, [])),
        ("PTX0831", lambda: tuned(doubled, {"ITEMS": []})),
        ("PTX0831", lambda: tuned(doubled, {"ITEMS": [1]}, where=lambda ITEMS: False)),
        ("PTX0832", lambda: tuned(doubled, {"ITEM": [1]})),
        ("PTX0832", lambda: tuned(build, {"ITEMS": [1], "STAGE": [2]})),
        ("PTX0832", lambda: tuned(doubled, [{"ITEMS": 1}, {"X": 1}])),
        ("PTX0833", lambda: tuned(build, {"FAULT": ["builder"]})),
        ("PTX0833", lambda: tuned(build, {"FAULT": ["deadlock"]})),
    ],
)
def test_what_is_refused(code: str, call: Any) -> None:
    with pytest.raises(pyptx.TuneError) as caught:
        call()
    assert [finding.code for finding in caught.value.diagnostics] == [code]


def test_nothing_left_says_why_of_each() -> None:
    with pytest.raises(pyptx.TuneError) as caught:
        tuned(build, {"FAULT": ["builder", "outside"]})
    notes = caught.value.diagnostics[0].notes
    assert notes[0] == "FAULT='builder': refused: no such kernel"
    assert notes[1].startswith("FAULT='outside': failed: [PTX0904]")
    many = [{"FAULT": "builder", "ITEMS": at} for at in range(25)]
    with pytest.raises(pyptx.TuneError) as caught:
        tuned(build, many)
    assert caught.value.diagnostics[0].notes[-1] == "and 5 more"


def test_a_fault_of_the_builder_is_not_hidden() -> None:
    with pytest.raises(KeyError, match="a fault of the builder") as caught:
        tuned(build, {"FAULT": ["", "bug"]})
    assert caught.value.__notes__ == ["in the configuration FAULT='bug' of a tuning"]


def test_without_a_reference_most_must_agree() -> None:
    space = [{"FAULT": "wrong"}, {"ITEMS": 1}, {"ITEMS": 2}]
    with pytest.raises(pyptx.TuneError, match="PTX0834") as caught:
        tuned(build, space)
    assert "the first is FAULT='wrong'" in caught.value.diagnostics[0].notes[0]
    assert statuses(tuned(build, space, reference=2 * X))[0] == "wrong"


def test_a_tracer_has_no_values(tmp_path: Path) -> None:
    jax = need("jax")

    def inside(x: Any) -> Any:
        return tuned(doubled, {"ITEMS": [1]}, (x,))(x)

    with pytest.raises(pyptx.TuneError, match=r"tune outside of jax\.jit"):
        jax.jit(inside)(X)
