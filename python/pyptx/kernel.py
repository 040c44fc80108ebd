# SPDX-License-Identifier: Apache-2.0
"""Kernel tracing, specialization, and runtime dispatch.

`kernel` turns a Python function into a `Kernel`: positional parameters are tensors, keyword-only
ones template parameters, and every call in the body is an instruction. A kernel can be inspected
(`.ptx`, `.module`, `.sass`), launched on CUDA tensors, and emulated on CPU tensors. The work is
elsewhere, in `_call`: binding in `signature`, tracing in `specialize`, dispatch in `first_call`.
"""

# The annotations are the documented ones, word by word.
# mypy: disable-error-code="type-arg"

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any

from pyptx import _core, _progress
from pyptx._call import bound_kernel, first_call, inspection, operator_options, settle
from pyptx._call.declaration import fill_text, options_of
from pyptx._call.emulation import EmulatorReport, run_options, run_words, stream_options
from pyptx._call.live import Live
from pyptx._call.names import clashes, name_for_others, taken_keywords
from pyptx._call.placeholders import TensorSpec, TmaDescriptorHandle
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array, Signature, check_body, normalize_dim3, resolve_grid
from pyptx._call.specialize import MOST_KEPT, Specializer, Traced
from pyptx._captures.captures import Captures, warn_of_values
from pyptx._kept import Kept
from pyptx._report import answers
from pyptx._report.costs import Report, SourceLine
from pyptx._source.text import remember
from pyptx.specs import Tile
from pyptx.torch_support import call_operator, is_traced

if TYPE_CHECKING:
    from pyptx._call.bound_kernel import BoundKernel
    from pyptx._core import EmulatorStream, Module
    from pyptx._torch.kernel_operator import KernelOperator
    from pyptx._view.view import View

__all__ = ["Kernel", "TensorSpec", "TmaDescriptorHandle", "kernel"]


class Kernel(_core.KernelBase):
    """A traced PTX kernel. Wraps a Python function that uses ptx.* calls."""

    def __init__(
        self,
        fn: Callable,
        arch: str = "sm_90a",
        version: tuple[int, int] | None = None,
        in_specs: Sequence[Tile] | None = None,
        out_specs: Sequence[Tile] | None = None,
        grid: Callable[..., tuple[int, int, int]] | tuple[int, int, int] | None = None,
        block: tuple[int, int, int] = (1, 1, 1),
        cluster: tuple[int, int, int] = (1, 1, 1),
        smem: int = 0,
        raw_params: Sequence[tuple[str, str]] | None = None,
        extern_smem: bool | str = False,
        reqntid: tuple[int, ...] | None = None,
        raw_directives: Sequence[tuple[str, tuple]] | None = None,
        *,
        tma: str = "pointer",
        batch: str | None = None,
        dynamic: Sequence[str] = (),
        multiple_of: Mapping[str, int] | None = None,
        programmatic: bool = False,
        op: str | None = None,
        autocast: Any = None,
        inout_specs: Sequence[Tile] | None = None,
        out_init: float | None = None,
    ) -> None:
        check_body(fn)
        what = f"kernel {fn.__name__!r}:"
        options = options_of(
            what,
            version=version,
            block=block,
            cluster=cluster,
            smem=smem,
            extern_smem=extern_smem,
            reqntid=reqntid,
            raw_directives=raw_directives,
            tma=tma,
            programmatic=programmatic,
        )
        fill = fill_text(what, out_init, programmatic)
        self.signature = Signature(
            fn, in_specs, out_specs, raw_params, batch, dynamic, multiple_of, inout_specs, fill
        )
        self.op = operator_options.checked_name(what, op, not self.signature.writes_inputs)
        #: Of each input under torch.autocast.
        self.autocast_types = operator_options.autocast_types(what, self.signature, autocast)
        self._shown_name, self._casts = op or f"pyptx::{fn.__name__}", bool(self.autocast_types)
        self._clashes = clashes(self.signature, _TAKEN)
        self._refuse_clash("__call__")
        self._arch = arch
        if grid is not None and not callable(grid):
            normalize_dim3(f"{what} grid", grid)  # refused here rather than at the first call
        self._grid = tuple(grid) if isinstance(grid, list) else grid
        self._block = block
        self._cluster = cluster
        self._smem = smem
        self.specializer = Specializer(self.signature, options)
        self.jax_functions: Kept[Any, Any] = Kept(MOST_KEPT)  # made and used by _jax.batching
        functools.update_wrapper(self, fn)
        remember(fn)
        self._has_warned = False
        self._go_live(Captures(fn, self._grid))
        self._operator: KernelOperator | None = None  # torch's, set by _torch.naming
        operator_options.declare(self)

    # --- what was declared ----------------------------------------------------------------------

    @property
    def in_specs(self) -> tuple[Tile, ...]:
        """Specs of the tensors that a call takes: inputs, then in-out tensors."""
        return self.signature.in_specs

    @property
    def inout_specs(self) -> tuple[Tile, ...]:
        """Specs of the tensors that the kernel reads and writes in place."""
        return self.signature.inout_specs

    @property
    def out_specs(self) -> tuple[Tile, ...]:
        """Output tensor specs declared on the kernel."""
        return self.signature.out_specs

    @property
    def grid(self) -> Any:
        """Configured grid tuple or grid resolver callable."""
        return self._grid

    @property
    def block(self) -> tuple[int, int, int]:
        """Static CUDA block dimensions for the kernel."""
        return self._block

    @property
    def cluster(self) -> tuple[int, int, int]:
        """CTA cluster dimensions used at launch time."""
        return self._cluster

    @property
    def smem(self) -> int:
        """Requested dynamic/shared memory size in bytes."""
        return self._smem

    @property
    def batch(self) -> str | None:
        """Name of the dimension whose parts are independent; None where there is none."""
        return self.signature.batch

    @property
    def template_params(self) -> dict[str, Any]:
        """The declared template parameters and their default values.

        Only keyword-only parameters of the function count. A parameter without default has
        `inspect.Parameter.empty`.
        """
        return self.signature.template_params

    @property
    def arch(self) -> str:
        """Target PTX architecture string, e.g. `sm_90a`."""
        return self._arch

    # --- inspection -----------------------------------------------------------------------------

    def ptx(self, **kwargs: Any) -> str:
        """Trace and emit PTX text.

        Pass template values (BM, BN, ...), dimensions (M, N, K, ...) and element types that have
        names (T=bf16) to specialise; defaults of the function's signature fill in the rest:
        `print(my_kernel.ptx(M=4096, N=4096, K=4096, BM=128))`.
        """
        return self._inspect(kwargs)[0].text

    def module(self, **kwargs: Any) -> Module:
        """Trace and return the IR module."""
        module: Module = self._inspect(kwargs)[0].module
        return module

    def cubin(self, **kwargs: Any) -> bytes:
        """Trace and assemble; the bytes that a device loads."""
        image = inspection.image_of(self, self._inspect(kwargs)[0])
        with _progress.shown(f"assembling {self.signature.name}"):
            return bytes(image.cubin())

    def sass(self, *, raw: bool = True, **kwargs: Any) -> str:
        """Trace, assemble and disassemble: what the GPU runs.

        Needs an assembler and NVIDIA's disassembler; raises RuntimeError that names the package
        to install where one is missing. Asked again, it has the answer while kernel, tools and
        environment are what they were. `raw=False` leaves out the encodings: labels, and each
        instruction behind its address.
        """
        traced, _, _ = self._inspect(kwargs)
        return answers.sass(traced, lambda: inspection.image_of(self, traced), raw=raw)

    def source_map(self, **kwargs: Any) -> list[SourceLine]:
        """Trace, and say for each line of the text which line of the author's made it."""
        rows = self._inspect(kwargs)[0].module.source_lines()
        return [
            SourceLine(ptx_line, file, line, column, tuple(expansions))
            for ptx_line, file, line, column, expansions in rows
        ]

    def report(self, **kwargs: Any) -> Report:
        """Trace, assemble and say what the kernel costs: registers, spills, occupancy, SASS.

        `print(k.report(M=4096))` shows it; the parts are attributes. SASS counts need NVIDIA's
        disassembler and are empty without it. Asked again, it has the answer, as `sass` has.
        """
        traced, _, _ = self._inspect(kwargs)
        image = functools.partial(inspection.image_of, self, traced)
        costs = inspection.launch_costs(self, traced)
        return answers.report(self.signature.name, traced, image, **costs)

    def view(self, *examples: Any, limit: Any = None, **kwargs: Any) -> View:
        """Show source, PTX and machine code side by side, linked line by line, as one page.

        `k.view(N=1024).save("page.html")` writes a file that needs nothing else; a notebook shows
        the result. Dimensions and template values are given as for `ptx`. With example arrays, as
        `emulate` takes them, they are theirs; the kernel runs on the emulator, and its counters,
        findings and timeline are shown, too; `limit` is that of `emulate`.
        """
        from pyptx._view.view import view_of_kernel

        return view_of_kernel(self, examples, limit, kwargs)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from pyptx._view import notebook

        return notebook.kernel_html(self)

    def _inspect(self, kwargs: dict[str, Any]) -> tuple[Traced, dict[str, Any], dict[str, Any]]:
        facts, values, raw = inspection.facts_of(self, kwargs)
        return self.specializer.trace(facts, self._refreshed().captures).traced, values, raw

    # --- running --------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch on the arrays' device: inputs by position, then `out=` and template values.

        CUDA tensors and JAX arrays run on their device's current stream, CPU tensors and NumPy
        arrays on the emulator. One output is returned as it is, several as a tuple.
        """
        # What torch.compile reads, and k.__call__ runs. k(...) calls the entry from C. Whatever is
        # named here is compared before each call of the compiled function, so it names little.
        if is_traced():
            return call_operator(self._operator_name, args, kwargs)
        return self._entry(*args, **kwargs)

    def _name_operator(self) -> str:
        """Return the name of the operator by which torch calls the kernel; asked for from C."""
        from pyptx._torch import naming

        return naming.name_kernel(self)

    _call_in_autocast = operator_options.call_in_autocast  # asked for from C

    def _serving(self, inputs: Sequence[Array]) -> Kernel:
        """Return the kernel that runs on these arrays: one of several, where a library has them."""
        return self

    def _refuse_clash(self, method: str) -> None:
        if method in self._clashes:
            refuse("DeclarationType", f"kernel {self.signature.name!r}:", self._clashes[method])

    def emulate(
        self,
        *args: Any,
        seed: int = 0,
        schedule: str = "latest",
        numerics: str = "fast",
        tensor_core: str = "target",
        checks: str = "races",
        ignore: str | Sequence[str] = (),
        threads: int = 0,
        trace: str | PathLike[str] | None = None,
        progress: bool | Callable[[int, int, float], object] | None = None,
        limit: int | str | timedelta | tuple[int | str | timedelta, ...] | None = None,
        stream: EmulatorStream | None = None,
        programmatic: bool | None = None,
        out: Any = None,
        report: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Run on the CPU emulator: NumPy arrays or CPU tensors in, outputs out.

        `schedule` says when asynchronous copies land: "earliest", "latest" or "random"; `seed`
        picks the order of warps and, with "random", the landings and how long a warp runs at a
        time. `numerics` says how matrix instructions add: "fast" (in f32) or "exact", bit for bit
        as `tensor_core` does: "ampere", "ada", "hopper", "blackwell", ..., or that of the kernel's
        target. `checks="races"` also judges shared and global memory for races, missing waits and
        fences; `"basic"` does not, as calls of the kernel itself. What is no error is told in a
        `pyptx.EmulatorWarning`. `ignore` names codes of findings that are not reported ("PTX0931"):
        rules that a kernel breaks on purpose.

        `stream` strings launches together: with `programmatic=True`, or where the kernel is
        declared so, one may start before the one before it in the stream has ended, and an access
        that no `griddepcontrol.wait` orders is an error.

        `trace` names a file for a trace that Perfetto (or chrome://tracing) opens: what every
        warp did, waited for and had under way, with the Python line. `progress` is called with
        CTAs done, CTAs in all and seconds passed; by default a run of several seconds shows a
        line on a terminal, and False is silent. `limit` ends the run with an error that says where
        each warp stands: a whole number of warp instructions, a time ("2s", "500ms", "1.5min" or a
        `timedelta`), or a tuple of both. With `report=True` the result is `(outputs, report)`, an
        `EmulatorReport` with counters.
        """
        self._refuse_clash("emulate")
        options = run_options((seed, threads, report, trace, progress, limit, ignore))
        words = (schedule, numerics, tensor_core, "races" if checks is None else checks)
        options |= run_words(words)
        if programmatic is None:
            programmatic = stream is not None and self.specializer.options.programmatic
        options |= stream_options(stream, programmatic)
        self.signature.refuse_arrays_by_keyword(kwargs)
        outs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
        captures = self._refreshed().captures
        results, counts = first_call.call_emulated(self, captures, args, outs, kwargs, options)
        return (results, EmulatorReport.of(counts)) if report else results

    def bind(self, *examples: Any, out: Any = None, **kwargs: Any) -> BoundKernel:
        """Prepare a launch on tensors like these; nothing is launched.

        The result is called as the kernel is, with tensors of the same shapes, element types and
        device, and refuses others. Everything is traced, compiled and loaded when this returns, so
        its first call may stand in a CUDA graph's capture. What the kernel reads (globals, captured
        variables) is kept as it is now; raw parameters given by keyword are defaults, which a call
        may override. torch tensors and NumPy arrays; for JAX see `jax.jit`.
        """
        self._refuse_clash("bind")
        return settle.bind(self, self._refreshed().captures, examples, out, kwargs)

    def launch(self, *tensors: Any, stream: Any = None, device: Any = None, **kwargs: Any) -> None:
        """Launch with every tensor given, inputs then outputs; allocates and returns nothing.

        A tensor is a torch tensor, a NumPy array, or an address (int) of dense memory, whose shape
        then comes from its Tile and the dimensions given by keyword. `stream` is a CUstream as a
        number or an object that has one (torch, CuPy, `__cuda_stream__`); by default torch's
        current stream, or the default stream where no torch tensor is given. `device` is the
        device of addresses: an ordinal, "cuda:1", or "cpu" for the emulator.
        """
        self._refuse_clash("launch")
        settle.launch(self, self._refreshed().captures, tensors, stream, device, kwargs)

    def save(
        self,
        path: str | bytes | PathLike[str],
        *examples: Any,
        targets: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        """Write one specialisation to a file that C++ and `pyptx.load` launch without the source.

        It is that of the dimensions and template values given, or of example tensors; dimensions of
        `dynamic=` that are not given stay open, and the file serves any size of them. Raw
        parameters given by keyword are defaults, which a launch may override. The file holds the
        PTX, the launch and the tensors' names, types and shapes, versioned and checksummed;
        `targets=("sm_90a",)` adds binaries, so that loading there needs no compiler.
        """
        self._refuse_clash("save")
        saved = settle.saved(self, self._refreshed().captures, examples, kwargs)
        bound_kernel.write(saved, path, targets)

    def launch_grid(self, **kwargs: Any) -> tuple[int, int, int]:
        """Return the grid for these dimensions and template values."""
        env: dict[str, Any] = {}
        template, raw = self.signature.bind_keywords(kwargs, env)
        return resolve_grid(self.signature.name, self._grid, {**template, **env, **raw})

    def _warn_of_template(self, keywords: Mapping[str, Any]) -> None:
        """Say once which template value cannot be watched."""
        if not self._has_warned:
            reads = self._live.captures.reads
            self._has_warned = warn_of_values(self.signature.fn, keywords, reads)

    def _refreshed(self) -> Live:
        """Return the live entry, made anew when something the body reads has changed."""
        live = self._live
        if live.captures.holds():
            return live
        captures = live.captures.again()
        if captures.key == live.captures.key and not captures.is_opaque:
            live.watch(captures)
            return live
        return self._go_live(captures)

    def _go_live(self, captures: Captures) -> Live:
        self._live = live = Live(self, captures)
        self._entry = live.entry
        return live

    def __reduce__(self) -> str:
        """Pickled by name, as functions are."""
        return name_for_others(self)

    def __copy__(self) -> Kernel:
        """Return the kernel itself, as functions do."""
        return self

    def __deepcopy__(self, _: Any) -> Kernel:
        """Return the kernel itself, as functions do."""
        return self

    def __repr__(self) -> str:
        """Name, parameters and target."""
        return f"<Kernel {self.signature.name}({', '.join(self.signature.tensors)}) {self._arch}>"


_core.call_through_entry(Kernel)


# Keywords that a way to run a kernel takes for itself.
_TAKEN = taken_keywords(Kernel.save, Kernel.launch, Kernel.bind, Kernel.emulate)


def kernel(
    fn: Callable | None = None,
    *,
    arch: str = "sm_90a",
    version: tuple[int, int] | None = None,
    in_specs: Sequence[Tile] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Any = None,
    block: tuple[int, int, int] = (1, 1, 1),
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem: int = 0,
    raw_params: Sequence[tuple[str, str]] | None = None,
    extern_smem: bool = False,
    reqntid: tuple[int, ...] | None = None,
    raw_directives: Sequence[tuple[str, tuple]] | None = None,
    tma: str = "pointer",
    batch: str | None = None,
    dynamic: Sequence[str] = (),
    multiple_of: Mapping[str, int] | None = None,
    programmatic: bool = False,
    op: str | None = None,
    autocast: Any = None,
    inout_specs: Sequence[Tile] | None = None,
    out_init: float | None = None,
) -> Kernel | Callable[[Callable], Kernel]:
    """Define a PTX kernel, as a decorator with or without arguments.

    `in_specs` and `out_specs` describe the tensors, `grid` is a tuple or a callable that gets
    dimensions and template parameters by name. `tma="value"` passes tensor maps in the
    parameters instead of pointers to them. `batch="B"` says that the parts along that dimension
    are independent: a call on arrays concatenated along it gives the results concatenated. `vmap`
    of JAX and of torch is then one launch, and JAX divides the dimension among devices.
    `dynamic=("M",)` makes the size M a `u32` parameter of the launch: `X.shape` has a register in
    its place, and one trace, assembled once, serves every M. `multiple_of={"M": 64}` promises that
    M is a multiple of 64, which each call checks and `X.divisors` says.
    `programmatic=True` launches it as a programmatic dependent launch: it may begin before the one
    in front of it on its stream has ended, and waits for that by `griddepcontrol.wait`.
    `inout_specs` describe tensors that stand between inputs and outputs, are passed by position and
    are written in place; JAX returns them in front of the outputs. `out_init=0` fills the outputs,
    also those of `out=`, before each launch.
    `op="mylib::rms_norm"` names the operator that torch has for the kernel, which is otherwise one
    of ours. `autocast=torch.float32` says which type inputs of float types have under
    `torch.autocast`, where their Tile does not say it.
    """

    def decorate(function: Callable) -> Kernel:
        return Kernel(
            function,
            arch=arch,
            version=version,
            in_specs=in_specs,
            out_specs=out_specs,
            grid=grid,
            block=block,
            cluster=cluster,
            smem=smem,
            raw_params=raw_params,
            extern_smem=extern_smem,
            reqntid=reqntid,
            raw_directives=raw_directives,
            tma=tma,
            batch=batch,
            dynamic=dynamic,
            multiple_of=multiple_of,
            programmatic=programmatic,
            op=op,
            autocast=autocast,
            inout_specs=inout_specs,
            out_init=out_init,
        )

    return decorate if fn is None else decorate(fn)
