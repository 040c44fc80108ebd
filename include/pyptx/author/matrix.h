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
using Registers = std::vector<build::Reg>;

namespace mma {
using build::mma::Arguments;
using build::mma::BlockScale;
using build::mma::Sparsity;
/// D = A * B + C
void sync(const Arguments& arguments, Where where = Where::current());
}  // namespace mma

void ldmatrix(const Registers& destination, const author::Place& source,
              const build::mma::MoveOptions& options = {}, Where where = Where::current());
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

void mma_async(const MmaArguments& arguments, Where where = Where::current());
void fence(Where where = Where::current());
void commit_group(Where where = Where::current());
void wait_group(std::int64_t pending, Where where = Where::current());
Reg make_descriptor(const Place& place, const DescriptorFields& fields,
                    Where where = Where::current());
/// Of a tile of `shape` as stored.
Reg auto_descriptor(const Place& place, isa::Type type, std::initializer_list<std::uint64_t> shape,
                    layout::Major major, Where where = Where::current());
Reg masked_descriptor(const Place& place, std::int64_t byte_offset = 0,
                      std::int64_t mask = build::wgmma::kAddressMask,
                      std::uint64_t const_bits = build::wgmma::kDescriptor128B,
                      Where where = Where::current());
}  // namespace wgmma
}  // namespace pyptx::ptx
