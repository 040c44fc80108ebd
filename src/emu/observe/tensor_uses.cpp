// SPDX-License-Identifier: Apache-2.0
//
// What happens to tensor memory, noted while it happens. See observer.h.
#include <string>
#include <string_view>
#include <utility>

#include "async/tcgen05_queue.h"
#include "machine/cluster.h"
#include "observe/observer.h"

namespace pyptx::emu {
namespace {

/// More than anybody looks at.
constexpr std::size_t kMostUses = 1U << 16;

}  // namespace

TensorMemoryUse* Observer::note(const Warp& warp, const Inst& inst, const TensorRegion& region) {
  if (!keeps_tensor_uses_ || tensor_uses_.size() >= kMostUses) return nullptr;
  const ir::Instruction& source = observed_.program.source(inst);
  TensorMemoryUse& use = tensor_uses_.emplace_back();
  use.cta = region.cta->rank;
  use.warp = warp.id;
  use.halves = region.halves;
  use.first = region.first;
  use.columns = region.columns;
  use.start = clock_;
  use.name = source.spelling->text;
  if (const auto line = observed_.program.module->locations.line(source.loc)) {
    const std::string_view file = line->file;
    use.place =
        std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(line->line);
  }
  return &use;
}

void Observer::allocated(const Warp& warp, const Inst& inst, u32 first, u32 columns) {
  TensorMemoryUse* use = note(warp, inst, {warp.cta, 0xFF, first, columns});
  if (use != nullptr) use->kind = TensorMemoryUse::Kind::Allocation;
}

void Observer::freed(const Warp& warp, u32 first) {
  for (TensorMemoryUse& use : tensor_uses_) {
    const bool is_open = use.kind == TensorMemoryUse::Kind::Allocation && use.end == 0;
    if (is_open && use.cta == warp.cta->rank && use.first == first) use.end = clock_ + 1;
  }
}

void Observer::touched(const Warp& warp, const Inst& inst, const TensorRegion& region,
                       bool is_write) {
  TensorMemoryUse* use = note(warp, inst, region);
  if (use == nullptr) return;
  use->kind = is_write ? TensorMemoryUse::Kind::Store : TensorMemoryUse::Kind::Load;
  use->is_write = is_write;
  use->end = clock_ + 1;
}

std::size_t Observer::tensor_issued(const TensorOp& op) {
  if (op.kind == TensorOp::Kind::Commit || !keeps_tensor_uses_) return 0;
  std::size_t count = 0;
  for (const TensorUse& access : tensor_uses(op)) {
    TensorMemoryUse* use = note(*op.warp, *op.inst, access.region);
    if (use == nullptr) continue;
    use->kind = op.kind == TensorOp::Kind::Copy ? TensorMemoryUse::Kind::Copy
                                                : TensorMemoryUse::Kind::Multiply;
    use->is_write = access.is_write;
    ++count;
  }
  return count;
}

void Observer::tensor_completed(std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) tensor_uses_[i].end = clock_ + 1;
}

std::vector<TensorMemoryUse> Observer::take_tensor_uses() {
  for (TensorMemoryUse& use : tensor_uses_) {
    if (use.end == 0) use.end = clock_ + 1;
  }
  return std::move(tensor_uses_);
}

}  // namespace pyptx::emu
