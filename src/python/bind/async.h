// SPDX-License-Identifier: Apache-2.0
//
// Python values as the arguments of the shared-memory and async builders: indices, shared places,
// matrix operands. What a value cannot become is reported to the tracer, like everything else.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "pyptx/build/mbarrier.h"
#include "pyptx/build/shared.h"
#include "pyptx/build/tcgen05.h"
#include "pyptx/build/tracer.h"
#include "pyptx/build/wgmma.h"

namespace pyptx::python {

namespace nb = nanobind;

/// What smem.alloc returns, and a stage of it: the same thing, two names.
struct SharedAlloc : build::SharedView {};
struct SharedSlice : build::SharedView {};

/// The register behind a Python value; nothing (and a report) where it is none.
std::optional<build::Reg> to_reg(build::Tracer& tracer, nb::handle value,
                                 const build::Argument& what);
/// An int or a register.
build::Index to_index(build::Tracer& tracer, nb::handle value, const build::Argument& what);
std::vector<build::Index> to_indices(build::Tracer& tracer, nb::handle value,
                                     const build::Argument& what);
std::vector<build::Reg> to_regs(build::Tracer& tracer, nb::handle value,
                                const build::Argument& what);
/// A shared allocation, slice or mbarrier, a register with a shared address, or ptx.addr(...).
build::SharedPlace to_place(build::Tracer& tracer, nb::handle value, const build::Argument& what);
/// A global address: a 64-bit register or ptx.addr(...), as [base+offset].
ir::Operand to_global(build::Tracer& tracer, nb::handle value, const char* parameter);
/// A descriptor register, a shared tile, or a fragment.
build::wgmma::Source to_source(build::Tracer& tracer, nb::handle value,
                               const build::Argument& what);

/// Registers and numbers of a fragment: a sequence, or one alone.
std::vector<ir::Operand> to_fragment(build::Tracer& tracer, nb::handle value,
                                     const char* parameter);
/// A bool, an int, a register, or a negated predicate.
std::variant<bool, build::Reg> to_flag(build::Tracer& tracer, nb::handle value,
                                       const build::Argument& what);
/// An address in tensor memory: a 32-bit register or ptx.addr(register, offset).
build::tcgen05::TmemPlace to_tmem(build::Tracer& tracer, nb::handle value,
                                  const build::Argument& what);
/// The same where there is one; nothing for None.
std::optional<build::tcgen05::TmemPlace> to_maybe_tmem(build::Tracer& tracer, nb::handle value,
                                                       const build::Argument& what);
/// A register, or nothing for None.
std::optional<build::Reg> to_maybe_reg(build::Tracer& tracer, nb::handle value,
                                       const build::Argument& what);
/// An int or a register, or nothing for None.
std::optional<build::Index> to_maybe_index(build::Tracer& tracer, nb::handle value,
                                           const build::Argument& what);

/// None, "32B", "64B", "128B" or "none".
layout::Swizzle to_swizzle(build::Tracer& tracer, nb::handle value);
/// "K", "MN" or a pyptx.wgmma_layout.Major.
layout::Major to_major(build::Tracer& tracer, nb::handle value);
std::vector<std::uint64_t> to_shape(build::Tracer& tracer, nb::handle value);

}  // namespace pyptx::python
