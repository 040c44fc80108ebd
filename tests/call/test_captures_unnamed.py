# SPDX-License-Identifier: Apache-2.0
"""What a body reads without naming it: through special methods, strings and imports."""

from __future__ import annotations

import collections
import enum
import sys
import threading
import types
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx._captures.captures import Captures
from pyptx._captures.code_names import names_read
from pyptx.types import f32, u32
from support.packages import need
from support.reading_kernels import Base, check_changes

STAGES: Any = 1.0


class Tiler:
    def __init__(self) -> None:
        self.number = self._stages()

    def _stages(self) -> float:
        return float(STAGES)


class Scaler:
    def __call__(self, *dims: int) -> Any:
        return STAGES

    def __add__(self, other: float) -> Any:
        return STAGES

    def __getitem__(self, key: str) -> Any:
        return STAGES

    def __enter__(self) -> Any:
        return STAGES

    def __exit__(self, *error: object) -> None:
        pass


class Inherits(Scaler):
    pass


class Meta(type):
    def __len__(cls) -> int:
        return int(STAGES)


class Sized(metaclass=Meta):
    pass


class Mode(enum.Enum):
    WIDE = 1

    @property
    def number(self) -> Any:
        return STAGES


class Plain(enum.Enum):
    WIDE = 1


def enters(scaler: Scaler) -> Any:
    with scaler as number:
        return number


def set_stages(number: float) -> None:
    globals().update(STAGES=number)


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that changes STAGES."""
    monkeypatch.setattr(sys.modules[__name__], "STAGES", 1.0)
    return lambda: set_stages(STAGES + 1)


def test_what_special_methods_read(stages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scaler, mode = Inherits(), Mode.WIDE
    for read in (
        lambda: Tiler().number,
        lambda: scaler(),
        lambda: scaler + 0.0,
        lambda: scaler["a"],
        lambda: enters(scaler),
        lambda: len(Sized),
        lambda: mode.number,
    ):
        check_changes(read, stages)
    check_changes(
        lambda: scaler(), lambda: monkeypatch.setattr(Scaler, "__call__", lambda self: -1.0)
    )


def test_a_grid_that_is_an_object(stages: Any) -> None:
    class Grid:
        def __call__(self) -> Any:
            return (int(STAGES), 1, 1)

    @kernel(in_specs=(Tile(1, u32),), out_specs=(Tile(1, u32),), grid=Grid(), block=(1, 1, 1))
    def write(X, Y):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.u32(ptx.addr(py), ptx.special.nctaid.x())
        ptx.ret()

    torch = need("torch")
    x = torch.zeros(1, dtype=torch.uint32)
    for number in (1, 2, 3):
        set_stages(float(number))
        for _ in range(2):
            assert int(write(x)) == number


def test_a_template_value_whose_class_reads_a_global(stages: Any) -> None:
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), grid=(1, 1, 1), block=(1, 1, 1))
    def write(X, Y, *, scaler):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f32(
            ptx.addr(py), reg.scalar(f32, init=float(scaler() + passes(scaler)))
        )
        ptx.ret()

    def passes(scaler: Any) -> Any:
        return scaler.number

    class Numbered(Scaler):
        @property
        def number(self) -> Any:
            return STAGES

    x = np.zeros(1, np.float32)
    for number in (1.0, 2.0):
        set_stages(number)
        assert write(x, scaler=Numbered()) == 2 * number


def test_what_is_watched_by_identity() -> None:
    # Neither an enum's member nor a named tuple that is taken apart makes a call ask by content.
    mode, pair = Plain.WIDE, collections.namedtuple("pair", "one two")(1.0, 2.0)
    assert Captures(lambda: (mode.value, *pair)).holds()


def test_names_in_strings(stages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("settings_by_name")
    module.NUMBER = 1.0  # type: ignore[attr-defined]

    def number(name: str) -> Any:
        return globals()[name]

    check_changes(lambda: getattr(module, "NUMBER"), lambda: setattr(module, "NUMBER", 2.0))  # noqa: B009
    check_changes(lambda: getattr(module, "OTHER", 1.0), lambda: setattr(module, "OTHER", 2.0))
    check_changes(lambda: number("STAGES"), stages)
    check_changes(lambda: getattr(Base, "NUMBER"), lambda: monkeypatch.setattr(Base, "NUMBER", 5.0))  # noqa: B009


def test_an_attribute_that_a_module_did_not_have() -> None:
    module: Any = types.ModuleType("settings_to_come")

    def read() -> Any:
        try:
            return module.EXTRA
        except AttributeError:
            return 1.0

    assert Captures(read).holds()
    check_changes(read, lambda: setattr(module, "EXTRA", 2.0), "torch")


def test_imports_relative_to_a_package_and_of_submodules(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = types.ModuleType("package_of_a_kernel")
    settings: Any = types.ModuleType("package_of_a_kernel.settings")
    package.NUMBER = settings.NUMBER = 1.0
    package.__path__ = []
    package.settings = settings
    for module in (package, settings):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    names = {"__package__": "package_of_a_kernel", "__name__": "package_of_a_kernel.kernels"}
    exec(
        "def relative():\n from .settings import NUMBER\n return NUMBER\n"
        "def sibling():\n from . import settings\n return settings.NUMBER\n"
        "def root():\n import package_of_a_kernel.settings\n return package_of_a_kernel.NUMBER\n",
        names,
    )
    for name, module in (("relative", settings), ("sibling", settings), ("root", package)):
        module.NUMBER = 1.0
        check_changes(names[name], lambda module=module: setattr(module, "NUMBER", 2.0))


def test_code_with_many_names_is_read() -> None:
    # Operands past 255 come with an instruction of their own in front.
    lines = [*(f" x = NAME_{n}.a{n}" for n in range(300)), " from .late import NUMBER"]
    names: dict[str, Any] = {}
    exec("\n".join(["def f():", *lines]), names)
    read = names_read(names["f"].__code__)
    assert read.imported == (".late",)
    assert read.attributes >= {"a0", "a299", "NUMBER"}
    assert read.by_global["NAME_0"] == {"a0"}


def test_what_special_methods_read_does_not_make_a_kernel_opaque(stages: Any) -> None:
    torch = need("torch")

    class Config:
        def __init__(self) -> None:
            self.dtype = str(torch.bfloat16)
            self.number = float(np.prod([1.0])) + torch.cuda.device_count()

        def __repr__(self) -> str:
            return f"{LOCK} {self.number} {STAGES}"

    config = Config()
    captures = Captures(lambda: config.number)
    assert not captures.is_opaque
    assert len(captures.guards) < 100  # not what torch is made of
    assert captures.again().key == captures.key
    stages()
    assert captures.again().key != captures.key
    assert Captures(lambda: LOCK).is_opaque


LOCK = threading.Lock()


def test_a_class_whose_module_is_no_name() -> None:
    class Odd:
        __module__ = property(lambda self: 1)  # type: ignore[assignment]
        number = 1.0

    odd = Odd()
    check_changes(lambda: Odd.number, lambda: setattr(Odd, "number", 2.0))
    check_changes(lambda: odd.number, lambda: setattr(Odd, "number", 3.0))


def test_what_pytest_writes_into_asserts_is_not_followed() -> None:
    def read() -> Any:
        assert isinstance(STAGES, float), "a number"
        return STAGES

    assert any(name.startswith("@") for name in read.__code__.co_names)  # or it shows nothing
    assert all(name.isidentifier() for name in names_read(read.__code__).loaded)
    captures = Captures(read)
    assert captures.holds()
    assert len(captures.guards) < 10


def test_frameworks_are_not_looked_into() -> None:
    captures = Captures(lambda: (np.float32, np.prod, np.random.default_rng))
    assert captures.holds()
    assert not captures.is_opaque


def test_what_is_too_deep_cannot_be_compared() -> None:
    chain = types.SimpleNamespace(next=None)
    for _ in range(3 * sys.getrecursionlimit()):
        chain = types.SimpleNamespace(next=chain)
    assert Captures(lambda: chain.next).is_opaque
