// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/matrix.h"

namespace pyptx::ptx {

using author::at;

namespace mma {
void sync(const Arguments& arguments, Where where) { build::mma::sync(at(where), arguments); }
}  // namespace mma

void ldmatrix(const Registers& destination, const author::Place& source,
              const build::mma::MoveOptions& options, Where where) {
  build::mma::ldmatrix(at(where), destination, source, options);
}
void stmatrix(const author::Place& destination, const Registers& source,
              const build::mma::MoveOptions& options, Where where) {
  build::mma::stmatrix(at(where), destination, source, options);
}
void stmatrix_x4_trans_f32_bf16(const Registers& fragment, const author::Place& base,
                                const Reg& lane, std::int64_t row_stride,
                                const build::mma::Scratch& scratch, Where where) {
  build::mma::stmatrix_x4_trans_f32_bf16(at(where), fragment, base, lane, row_stride, scratch);
}

namespace wgmma {
namespace core = build::wgmma;

void mma_async(const MmaArguments& arguments, Where where) {
  core::mma_async(at(where), arguments);
}
void fence(Where where) { core::fence(at(where)); }
void commit_group(Where where) { core::commit_group(at(where)); }
void wait_group(std::int64_t pending, Where where) { core::wait_group(at(where), pending); }
Reg make_descriptor(const Place& place, const DescriptorFields& fields, Where where) {
  return core::make_descriptor(at(where), place, fields);
}
Reg auto_descriptor(const Place& place, isa::Type type, std::initializer_list<std::uint64_t> shape,
                    layout::Major major, Where where) {
  return core::auto_descriptor(at(where), place, type, {shape.begin(), shape.size()}, major);
}
Reg masked_descriptor(const Place& place, std::int64_t byte_offset, std::int64_t mask,
                      std::uint64_t const_bits, Where where) {
  return core::masked_descriptor(at(where), place, byte_offset, mask, const_bits);
}
}  // namespace wgmma
}  // namespace pyptx::ptx
