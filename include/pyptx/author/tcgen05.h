// SPDX-License-Identifier: Apache-2.0
//
// The fifth-generation TensorCore in pyptx::ptx::tcgen05. See pyptx/build/tcgen05.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string_view>
#include <vector>

#include "pyptx/author/smem.h"
#include "pyptx/build/tcgen05.h"
#include "pyptx/layout/tcgen05_descriptor.h"

namespace pyptx::ptx::tcgen05 {

using Where = std::source_location;
/// A fragment: a RegArray, or registers put together.
using Registers = std::vector<build::Reg>;
using author::Place;
using build::tcgen05::CommitOptions;
using build::tcgen05::CopyOptions;
using build::tcgen05::MmaArguments;
using build::tcgen05::MoveOptions;
using build::tcgen05::Reduction;
using build::tcgen05::TmemPlace;

/// Allocates columns of tensor memory; their address is written to shared memory.
void alloc(const Place& address, const Index& columns, int cta_group = 1, bool exclusive = false,
           Where where = Where::current());
/// Frees columns of tensor memory.
void dealloc(const Reg& address, const Index& columns, int cta_group = 1, bool exclusive = false,
             Where where = Where::current());
/// This CTA will allocate no more.
void relinquish_alloc_permit(int cta_group = 1, Where where = Where::current());

/// A 64-bit register with a shared memory descriptor.
Reg descriptor(const Place& place, const layout::Tcgen05MatrixDescriptor& fields,
               Where where = Where::current());
/// The descriptor of a tile of `shape` as stored.
Reg auto_descriptor(const Place& place, isa::Type type, std::initializer_list<std::uint64_t> shape,
                    layout::Major major, Where where = Where::current());
/// ((address & mask) + byte_offset) >> 4 | const_bits
Reg masked_descriptor(const Place& place, std::int64_t byte_offset = 0,
                      std::int64_t mask = build::tcgen05::kAddressMask,
                      std::uint64_t const_bits = build::tcgen05::kDescriptor128B,
                      Where where = Where::current());
/// The number for MmaArguments::instruction; InstructionDescriptor where no instruction of
/// `cta_group` CTAs is so.
std::int64_t instruction_descriptor(const layout::InstructionDescriptor& fields, int cta_group = 1,
                                    bool is_ws = false, Where where = Where::current());
/// D = A * B (+ D) in tensor memory, started by one thread.
void mma(const MmaArguments& arguments, Where where = Where::current());

/// Tensor memory to registers; wait_ld() before they are read.
void ld(const Registers& destination, const TmemPlace& source, const MoveOptions& options,
        Where where = Where::current());
/// ld, and the least or greatest of what the thread got.
void ld_red(const Registers& destination, const TmemPlace& source, const Reduction& reduction,
            const MoveOptions& options, Where where = Where::current());
/// Registers to tensor memory.
void st(const TmemPlace& destination, const Registers& source, const MoveOptions& options,
        Where where = Where::current());
/// Shared memory, by a descriptor, to tensor memory.
void cp(const TmemPlace& destination, const Index& descriptor, std::string_view shape,
        const CopyOptions& options = {}, Where where = Where::current());
/// Rows move down by one.
void shift(const TmemPlace& place, int cta_group = 1, const Guard& guard = {},
           Where where = Where::current());
/// `barrier` is arrived on when all that this thread has started is complete.
void commit(const Place& barrier, const CommitOptions& options = {},
            Where where = Where::current());
/// Waits for the loads of this thread.
void wait_ld(Where where = Where::current());
/// Waits for the stores of this thread.
void wait_st(Where where = Where::current());
/// Orders tcgen05 work before a barrier that follows.
void fence_before_thread_sync(Where where = Where::current());
/// Orders tcgen05 work after a barrier that came before.
void fence_after_thread_sync(Where where = Where::current());

}  // namespace pyptx::ptx::tcgen05
