// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/matrix.h"

#include "pyptx/build/cp_async.h"
#include "pyptx/build/print.h"

namespace pyptx::ptx {

using author::at;

namespace mma {
void sync(const Arguments& arguments, Where where) { build::mma::sync(at(where), arguments); }
}  // namespace mma

void ldmatrix(const Registers& destination, const build::SharedPlace& source,
              const build::mma::MoveOptions& options, Where where) {
  build::mma::ldmatrix(at(where), destination, source, options);
}
void stmatrix(const build::SharedPlace& destination, const Registers& source,
              const build::mma::MoveOptions& options, Where where) {
  build::mma::stmatrix(at(where), destination, source, options);
}

namespace tcgen05 {
namespace core = build::tcgen05;

void alloc(const build::SharedPlace& address, const Index& columns, int cta_group, Where where) {
  core::alloc(at(where), address, columns, cta_group);
}
void dealloc(const Reg& address, const Index& columns, int cta_group, Where where) {
  core::dealloc(at(where), address, columns, cta_group);
}
void relinquish_alloc_permit(int cta_group, Where where) {
  core::relinquish_alloc_permit(at(where), cta_group);
}
Reg descriptor(const build::SharedPlace& place, const layout::Tcgen05MatrixDescriptor& fields,
               Where where) {
  return core::descriptor(at(where), place, fields);
}
void mma(const MmaArguments& arguments, Where where) { core::mma(at(where), arguments); }
void ld(const Registers& destination, const TmemPlace& source, const MoveOptions& options,
        Where where) {
  core::ld(at(where), destination, source, options);
}
void st(const TmemPlace& destination, const Registers& source, const MoveOptions& options,
        Where where) {
  core::st(at(where), destination, source, options);
}
void cp(const TmemPlace& destination, const Index& descriptor, std::string_view shape,
        const CopyOptions& options, Where where) {
  core::cp(at(where), destination, descriptor, shape, options);
}
void commit(const MbarrierRef& barrier, const CommitOptions& options, Where where) {
  core::commit(at(where), barrier.place, options);
}
void wait_ld(Where where) { core::wait_ld(at(where)); }
void wait_st(Where where) { core::wait_st(at(where)); }
void fence_before_thread_sync(Where where) { core::fence_before_thread_sync(at(where)); }
void fence_after_thread_sync(Where where) { core::fence_after_thread_sync(at(where)); }
}  // namespace tcgen05

namespace cp_async {
void ca(const build::SharedPlace& destination, const Address& source, std::int64_t bytes,
        std::optional<Index> source_bytes, Where where) {
  build::cp_async::copy(at(where), build::cp_async::Cache::All, destination, source.operand, bytes,
                        source_bytes);
}
void cg(const build::SharedPlace& destination, const Address& source, std::int64_t bytes,
        std::optional<Index> source_bytes, Where where) {
  build::cp_async::copy(at(where), build::cp_async::Cache::Global, destination, source.operand,
                        bytes, source_bytes);
}
void commit_group(Where where) { build::cp_async::commit_group(at(where)); }
void wait_group(std::int64_t pending, Where where) {
  build::cp_async::wait_group(at(where), pending);
}
void wait_all(Where where) { build::cp_async::wait_all(at(where)); }
}  // namespace cp_async

void printf(std::string_view format, std::initializer_list<author::Right> values, Where where) {
  std::vector<build::Value> given;
  for (const author::Right& value : values) given.push_back(value.value);
  build::print(at(where), format, given);
}

void assert_(const Guard& condition, std::string_view message, Where where) {
  build::assert_that(at(where), condition, message);
}

}  // namespace pyptx::ptx
