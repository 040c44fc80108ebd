# SPDX-License-Identifier: Apache-2.0
"""The operator of torch that stands for a kernel: its schema, and what torch asks of it.

`pyptx::name_digest(Tensor X, Tensor? alpha=None, *, str options='')`: the inputs by their names,
the values of run-time scalars as CPU tensors of rank 0, other keywords written out in `options`.
The overload `out` writes memory of the caller's. An operator has the shapes that the declaration
says, also symbolic ones; what it launches is what its kernel is at that moment.
"""

from __future__ import annotations

import keyword
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

from pyptx._call import first_call
from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array, Signature
from pyptx._torch import autocast, batching, dtensor, graph, inductor
from pyptx._torch.eager import below_dispatcher, torch_dtype
from pyptx._torch.options import parse_options
from pyptx._torch.recording import Rule, record
from pyptx.specs import Layout
from pyptx.torch_support import has_dtensors

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

#: Names in a schema that are ours, and Python's.
_TAKEN = frozenset(("out", "options", "self", *keyword.kwlist))
_BACKENDS = ("CPU", "CUDA")
_libraries: dict[str, Any] = {}


def packet_of(name: str) -> Any:
    """Return what `torch.ops` has of that name."""
    namespace, _, base = name.partition("#")[0].rpartition("::")
    return getattr(getattr(torch.ops, namespace or "pyptx"), base)


class KernelOperator:
    """An operator and its kernel.

    `rule` says what autograd does with it. Kernels of the same content share it; `kernel` is the
    one that it launches, `others` are the rest.
    """

    def __init__(self, name: str, kernel: Kernel, rule: Rule) -> None:
        self.name = name
        self.kernel = kernel
        self.rule = rule
        self.others: weakref.WeakSet[Kernel] = weakref.WeakSet()
        #: A digest of what it is, where the name does not say it.
        self.content = ""
        self._is_written = False
        signature = kernel.signature
        self._is_divided = signature.writes_inputs
        count = len(signature.in_specs)
        names = _schema_names((*signature.tensors, *(name for _, name in signature.free_params)))
        self.inputs, self.scalars = names[:count], names[len(signature.tensors) :]
        #: Arguments of the overload `out`. One that is called out would be restricted by Dynamo.
        self.outputs = names[count : len(signature.tensors)]
        self.scalar_names = tuple(name for _, name in signature.free_params)
        self._define()

    @property
    def graph_name(self) -> str:
        """What graphs call it by."""
        return f"{self.name}#{self.content}" if self.content else self.name

    def tell_inductor(self) -> None:
        """Say how code calls it, once; Inductor is not loaded before there is a graph for it."""
        if not self._is_written:
            self._is_written = True
            inductor.register(self)

    def tell_dtensor(self) -> None:
        """Say how its inputs may be divided over a mesh, once there can be such."""
        if not self._is_divided and has_dtensors():
            self._is_divided = True
            dtensor.register(self)

    @property
    def packet(self) -> Any:
        """What `torch.ops` has of it."""
        return packet_of(self.name)

    # --- registration ---------------------------------------------------------------------------

    def _define(self) -> None:
        namespace, _, base = self.name.rpartition("::")
        namespace = namespace or "pyptx"
        library = _libraries.get(namespace)
        if library is None:
            library = _libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")
        name = f"{namespace}::{base}"
        self._define_default(library, base)
        writes_inputs = self.kernel.signature.writes_inputs
        if not writes_inputs and self.rule.writes_outputs:
            self._define_out(library, base)
        overloads = ("", ".out") if self.rule.writes_outputs else ("",)
        for overload in () if writes_inputs else overloads:
            torch.library.register_torch_dispatch(
                name + overload, ProxyTorchDispatchMode, self._traced, lib=library
            )

    def _define_default(self, library: Any, base: str) -> None:
        signature = self.kernel.signature
        read_only = signature.read_only if signature.writes_inputs else len(self.inputs)
        inputs = [
            f"Tensor{'' if i < read_only else f'(a{i}!)'} {n}" for i, n in enumerate(self.inputs)
        ]
        scalars = [f"Tensor? {name}=None" for name in self.scalars]
        arguments = ", ".join([*inputs, *scalars, "*", "str options=''"])
        results = ", ".join(["Tensor"] * len(self.kernel.out_specs))
        results = results if len(self.kernel.out_specs) == 1 else f"({results})"
        library.define(f"{base}({arguments}) -> {results}")
        for backend in _BACKENDS if self.inputs else ("CompositeExplicitAutograd",):
            library.impl(base, self._real, backend)
        name = f"{library.ns}::{base}"
        torch.library.register_fake(name, self._fake, lib=library)
        torch.library.register_vmap(name, self._batched, lib=library)
        if not signature.writes_inputs:
            record(library, self.packet.default, self)
            if self.kernel.autocast_types:
                autocast.register(library, base, self)

    def _define_out(self, library: Any, base: str) -> None:
        inputs = [f"Tensor {name}" for name in self.inputs]
        scalars = [f"Tensor? {name}=None" for name in self.scalars]
        outs = [f"Tensor(a{i}!) {name}" for i, name in enumerate(self.outputs)]
        arguments = ", ".join([*inputs, *scalars, "*", *outs, "str options=''"])
        library.define(f"{base}.out({arguments}) -> ()")
        for backend in _BACKENDS:
            library.impl(f"{base}.out", self._real_out, backend)
        torch.library.register_fake(f"{library.ns}::{base}.out", self._fake_out, lib=library)

    # --- what runs ------------------------------------------------------------------------------

    def _keywords(self, args: Sequence[Any], options: str) -> dict[str, Any]:
        """Return the keywords of a call whose scalars have values."""
        scalars = zip(self.scalar_names, args[len(self.inputs) :], strict=False)
        given = {name: tensor.item() for name, tensor in scalars if tensor is not None}
        return {**parse_options(options), **given}

    def _real(self, *args: Any, options: str = "") -> Any:
        inputs = args[: len(self.inputs)]
        return below_dispatcher(self.kernel, inputs, self._keywords(args, options))

    def _real_out(self, *args: Any, options: str = "", **outs: torch.Tensor) -> None:
        keywords = {**self._keywords(args, options), "out": tuple(outs.values())}
        below_dispatcher(self.kernel, args[: len(self.inputs)], keywords)

    # --- what is asked about it -----------------------------------------------------------------

    def arguments(self, args: Sequence[Any], options: str) -> Arguments:
        """Return what the arguments say, which may be fake."""
        count = len(self.inputs)
        return Arguments(self, list(args[:count]), args[count:], options)

    def _fake(self, *args: Any, options: str = "") -> Any:
        made = self.arguments(args, options).make_outputs()
        return first_call.unpack(made)

    def _fake_out(self, *args: Any, options: str = "", **outs: torch.Tensor) -> None:
        self.arguments(args, options).check_outputs(tuple(outs.values()))

    def _batched(self, info: Any, dims: Any, *args: Any, options: str = "") -> Any:
        return batching.batched(self, info, dims, args, options)

    def _traced(self, mode: Any, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
        """Put the kernel itself into a graph that is being traced to leave the process."""
        from pyptx._torch import operators

        given = dict(kwargs or {})
        options = given.pop("options", "")
        outs = tuple(given.values()) if func is not self.packet.default else None
        text = None
        if operators.has_launch and graph.leaves_process():
            call = self.arguments(args, options)
            text = graph.of_call(self.kernel, call.tensors, outs, call.keywords)
        if text is None:
            return mode.__torch_dispatch__(func, types, args, kwargs or {})
        with mode:
            results = operators.launch(self.kernel, [*call.tensors, *call.values()], outs, text)
        return None if outs is not None else first_call.unpack(results)


class Arguments:
    """What the arguments of an operator that is traced say: tensors, scalars and keywords."""

    def __init__(
        self,
        operator: KernelOperator,
        tensors: Sequence[torch.Tensor],
        scalars: Sequence[torch.Tensor | None],
        options: str,
    ) -> None:
        self.operator = operator
        self.signature: Signature = operator.kernel.signature
        self.tensors = tensors
        pairs = zip(operator.scalar_names, scalars, strict=False)
        self.scalars = {name: tensor for name, tensor in pairs if tensor is not None}
        #: The values of scalars are what only a launch knows.
        unknown = dict.fromkeys(self.scalars, first_call.UNKNOWN)
        self.keywords: dict[str, Any] = {**parse_options(options), **unknown}

    def values(self) -> tuple[torch.Tensor, ...]:
        """Return the tensors of the scalars that are given."""
        return tuple(self.scalars.values())

    def _environment(self) -> dict[str, Any]:
        return self.signature.bind_inputs(described(self.tensors))

    def make_outputs(self) -> list[torch.Tensor]:
        """Return new tensors like those of a call; checks the inputs."""
        signature = self.signature
        env = self._environment()
        template, _ = signature.bind_keywords(self.keywords, env)
        if not signature.out_specs:
            return []
        outputs = signature.outputs({**template, **env})
        if not self.tensors:
            what = f"kernel {signature.name!r}"
            refuse("NoTensors", what, "has no inputs", "pass out= to say where")
        return [
            new_tensor(self.tensors[0], dtype, shape, spec.layout is Layout.COL)
            for spec, (dtype, shape) in zip(signature.out_specs, outputs, strict=True)
        ]

    def check_outputs(self, outs: Sequence[torch.Tensor]) -> None:
        """Check tensors that a call is to write."""
        env = self._environment()
        given = described(outs)
        self.signature.bind_outputs(given, env, (described(self.tensors) or given)[0].device)
        self.signature.bind_keywords(self.keywords, env)


def _schema_names(wanted: Sequence[str]) -> tuple[str, ...]:
    """Return names that a schema takes: those of the declaration, where it takes them."""
    names: list[str] = []
    for index, name in enumerate(wanted):
        fits = name.isascii() and name.isidentifier() and name not in _TAKEN
        names.append(name if fits and name not in names else f"argument{index}")
    return tuple(names)


def described(tensors: Sequence[torch.Tensor]) -> list[Array]:
    """Return what these tensors, which may be fake, say but for their strides."""
    return [Array(tuple(t.shape), ptx_name(t.dtype), str(t.device)) for t in tensors]


def new_tensor(
    like: torch.Tensor, dtype: str, shape: tuple[int, ...], is_column: bool
) -> torch.Tensor:
    """Return a tensor on the same device; `shape` may be symbolic."""
    tensor: torch.Tensor = first_call.in_order(
        lambda name, extents: torch.empty(extents, dtype=torch_dtype(name), device=like.device),
        dtype,
        shape,
        is_column,
    )
    return tensor
