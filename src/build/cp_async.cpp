// SPDX-License-Identifier: Apache-2.0
//
// cp.async and its groups. PTX ISA, "cp.async", "cp.async.commit_group", "cp.async.wait_group".
#include "pyptx/build/cp_async.h"

#include <string>
#include <vector>

#include "arguments.h"

namespace pyptx::build::cp_async {
namespace {

using ir::Operand;

}  // namespace

void copy(Tracer& tracer, Cache cache, const SharedPlace& destination, ir::Operand source,
          std::int64_t bytes, std::optional<Index> source_bytes, Guard guard) {
  const bool is_global = cache == Cache::Global;
  const bool is_legal = is_global ? bytes == 16 : bytes == 4 || bytes == 8 || bytes == 16;
  if (!is_legal) {
    refuse(tracer, {is_global ? "the bytes of cp.async.cg" : "the bytes of cp.async.ca", "bytes"},
           is_global ? "16" : "4, 8 or 16", std::to_string(bytes));
    return;
  }
  if (!check_place(tracer, destination, static_cast<std::uint32_t>(bytes),
                   {"this cp.async", "dst"}))
    return;
  if (source_bytes &&
      !check_word(tracer, *source_bytes, {"the source bytes of cp.async", "src_bytes"}))
    return;
  std::vector<Operand> operands{memory_at(tracer, destination), source, Operand::integer(bytes)};
  if (source_bytes) operands.push_back(source_bytes->operand());
  tracer.emit(is_global ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global", operands,
              guard);
}

void commit_group(Tracer& tracer) { tracer.emit("cp.async.commit_group", {}); }

void wait_group(Tracer& tracer, std::int64_t pending) {
  if (pending < 0) {
    refuse(tracer, {"the pending groups of cp.async.wait_group", "n"}, "0 or more",
           std::to_string(pending));
    return;
  }
  tracer.emit("cp.async.wait_group", {Operand::integer(pending)});
}

void wait_all(Tracer& tracer) { tracer.emit("cp.async.wait_all", {}); }

}  // namespace pyptx::build::cp_async
