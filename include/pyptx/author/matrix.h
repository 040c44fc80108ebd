// SPDX-License-Identifier: Apache-2.0
//
// Matrix instructions of one warp and of a warpgroup: the functions of pyptx/build for the kernel
// being written on this thread. Fragments are arrays of registers, tiles are shared memory, here as
// in tcgen05.h. Those of the fifth-generation TensorCore are there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <vector>

#include "pyptx/author/smem.h"
#include "pyptx/build/mma.h"
#include "pyptx/build/wgmma.h"

namespace pyptx::ptx {

using Where = std::source_location;
/// A fragment: a RegArray, or registers put together.
using Registers = std::vector<build::Reg>;

namespace mma {
using build::mma::Arguments;
using build::mma::BlockScale;
using build::mma::Sparsity;
/// D = A * B + C
void sync(const Arguments& arguments, Where where = Where::current());
}  // namespace mma

/// Matrices from shared memory, a row from the address of each lane.
void ldmatrix(const Registers& destination, const author::Place& source,
              const build::mma::MoveOptions& options = {}, Where where = Where::current());
/// Matrices to shared memory, a row to the address of each lane.
void stmatrix(const author::Place& destination, const Registers& source,
              const build::mma::MoveOptions& options = {}, Where where = Where::current());
/// See build::mma::stmatrix_x4_trans_f32_bf16.
void stmatrix_x4_trans_f32_bf16(const Registers& fragment, const author::Place& base,
                                const Reg& lane, std::int64_t row_stride,
                                const build::mma::Scratch& scratch = {},
                                Where where = Where::current());

namespace wgmma {
using author::Place;
using build::wgmma::DescriptorFields;
using build::wgmma::MmaArguments;
using build::wgmma::Sparsity;

/// D = A * B (+ D) of a warpgroup. A and B are tiles in shared memory or descriptors; A may be a
/// fragment.
void mma_async(const MmaArguments& arguments, Where where = Where::current());
/// Before the first wgmma, and after registers of one were written.
void fence(Where where = Where::current());
/// Closes the group of the wgmmas issued so far.
void commit_group(Where where = Where::current());
/// Waits until at most `pending` groups are unfinished.
void wait_group(std::int64_t pending, Where where = Where::current());
/// A 64-bit register with a matrix descriptor.
Reg make_descriptor(const Place& place, const DescriptorFields& fields,
                    Where where = Where::current());
/// The descriptor of a tile of `shape` as stored.
Reg auto_descriptor(const Place& place, isa::Type type, std::initializer_list<std::uint64_t> shape,
                    layout::Major major, Where where = Where::current());
/// ((address & mask) + byte_offset) >> 4 | const_bits
Reg masked_descriptor(const Place& place, std::int64_t byte_offset = 0,
                      std::int64_t mask = build::wgmma::kAddressMask,
                      std::uint64_t const_bits = build::wgmma::kDescriptor128B,
                      Where where = Where::current());
}  // namespace wgmma
}  // namespace pyptx::ptx
