// SPDX-License-Identifier: Apache-2.0
//
// Matrix instructions of one warp and of the fifth-generation TensorCore, small asynchronous
// copies, output and assertions of pyptx::ptx: the functions of pyptx/build for the kernel being
// written on this thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string_view>
#include <vector>

#include "pyptx/author/operand.h"
#include "pyptx/author/smem.h"
#include "pyptx/build/mma.h"
#include "pyptx/build/tcgen05.h"

namespace pyptx::ptx {

using Where = std::source_location;
using Registers = std::vector<build::Reg>;

namespace mma {
using build::mma::Arguments;
/// D = A * B + C
void sync(const Arguments& arguments, Where where = Where::current());
}  // namespace mma

void ldmatrix(const Registers& destination, const build::SharedPlace& source,
              const build::mma::MoveOptions& options = {}, Where where = Where::current());
void stmatrix(const build::SharedPlace& destination, const Registers& source,
              const build::mma::MoveOptions& options = {}, Where where = Where::current());

namespace tcgen05 {
using build::tcgen05::CommitOptions;
using build::tcgen05::CopyOptions;
using build::tcgen05::MmaArguments;
using build::tcgen05::MoveOptions;
using build::tcgen05::TmemPlace;

void alloc(const build::SharedPlace& address, const Index& columns, int cta_group = 1,
           Where where = Where::current());
void dealloc(const Reg& address, const Index& columns, int cta_group = 1,
             Where where = Where::current());
void relinquish_alloc_permit(int cta_group = 1, Where where = Where::current());
Reg descriptor(const build::SharedPlace& place, const layout::Tcgen05MatrixDescriptor& fields,
               Where where = Where::current());
/// D = A * B (+ D)
void mma(const MmaArguments& arguments, Where where = Where::current());
void ld(const Registers& destination, const TmemPlace& source, const MoveOptions& options,
        Where where = Where::current());
void st(const TmemPlace& destination, const Registers& source, const MoveOptions& options,
        Where where = Where::current());
void cp(const TmemPlace& destination, const Index& descriptor, std::string_view shape,
        const CopyOptions& options = {}, Where where = Where::current());
void commit(const MbarrierRef& barrier, const CommitOptions& options = {},
            Where where = Where::current());
void wait_ld(Where where = Where::current());
void wait_st(Where where = Where::current());
void fence_before_thread_sync(Where where = Where::current());
void fence_after_thread_sync(Where where = Where::current());
}  // namespace tcgen05

namespace cp_async {
/// `bytes` (4, 8 or 16) from a global address; with `source_bytes` the rest is zeros.
void ca(const build::SharedPlace& destination, const Address& source, std::int64_t bytes,
        std::optional<Index> source_bytes = {}, Where where = Where::current());
void cg(const build::SharedPlace& destination, const Address& source, std::int64_t bytes = 16,
        std::optional<Index> source_bytes = {}, Where where = Where::current());
void commit_group(Where where = Where::current());
void wait_group(std::int64_t pending, Where where = Where::current());
void wait_all(Where where = Where::current());
}  // namespace cp_async

/// Prints from the running kernel; conversions are held against the values' types.
void printf(std::string_view format, std::initializer_list<author::Right> values = {},
            Where where = Where::current());
/// Ends the launch with an assertion error where `condition` does not hold.
void assert_(const Guard& condition, std::string_view message, Where where = Where::current());

}  // namespace pyptx::ptx
