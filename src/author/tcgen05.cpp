// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/tcgen05.h"

#include <utility>

namespace pyptx::ptx::tcgen05 {

using author::at;
namespace core = build::tcgen05;

void alloc(const Place& address, const Index& columns, int cta_group, bool exclusive, Where where) {
  core::alloc(at(where), address, columns, cta_group, exclusive);
}
void dealloc(const Reg& address, const Index& columns, int cta_group, bool exclusive, Where where) {
  core::dealloc(at(where), address, columns, cta_group, exclusive);
}
void relinquish_alloc_permit(int cta_group, Where where) {
  core::relinquish_alloc_permit(at(where), cta_group);
}

Reg descriptor(const Place& place, const layout::Tcgen05MatrixDescriptor& fields, Where where) {
  return core::descriptor(at(where), place, fields);
}
Reg auto_descriptor(const Place& place, isa::Type type, std::initializer_list<std::uint64_t> shape,
                    layout::Major major, Where where) {
  return core::auto_descriptor(at(where), place, type, {shape.begin(), shape.size()}, major);
}
Reg masked_descriptor(const Place& place, std::int64_t byte_offset, std::int64_t mask,
                      std::uint64_t const_bits, Where where) {
  return core::masked_descriptor(at(where), place, byte_offset, mask, const_bits);
}
std::int64_t instruction_descriptor(const layout::InstructionDescriptor& fields, int cta_group,
                                    bool is_ws, Where where) {
  if (auto problem = fields.problem(cta_group, is_ws)) {
    at(where).report({diag::Kind::InstructionDescriptor, {"tcgen05.mma", std::move(*problem)}});
    return 0;
  }
  return fields.encode();
}
void mma(const MmaArguments& arguments, Where where) { core::mma(at(where), arguments); }

void ld(const Registers& destination, const TmemPlace& source, const MoveOptions& options,
        Where where) {
  core::ld(at(where), destination, source, options);
}
void ld_red(const Registers& destination, const TmemPlace& source, const Reduction& reduction,
            const MoveOptions& options, Where where) {
  core::ld_red(at(where), destination, source, reduction, options);
}
void st(const TmemPlace& destination, const Registers& source, const MoveOptions& options,
        Where where) {
  core::st(at(where), destination, source, options);
}
void cp(const TmemPlace& destination, const Index& descriptor, std::string_view shape,
        const CopyOptions& options, Where where) {
  core::cp(at(where), destination, descriptor, shape, options);
}
void shift(const TmemPlace& place, int cta_group, const Guard& guard, Where where) {
  core::shift(at(where), place, cta_group, guard);
}
void commit(const Place& barrier, const CommitOptions& options, Where where) {
  core::commit(at(where), barrier, options);
}
void wait_ld(Where where) { core::wait_ld(at(where)); }
void wait_st(Where where) { core::wait_st(at(where)); }
void fence_before_thread_sync(Where where) { core::fence_before_thread_sync(at(where)); }
void fence_after_thread_sync(Where where) { core::fence_after_thread_sync(at(where)); }

}  // namespace pyptx::ptx::tcgen05
