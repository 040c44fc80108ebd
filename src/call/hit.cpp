// SPDX-License-Identifier: Apache-2.0
//
// A call that was met before: found by comparing numbers, launched without an allocation, a lock or
// a word. Each thread keeps the specialisations that it used last, so that threads share nothing
// that is written.
#include <algorithm>
#include <array>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "call_words.h"
#include "core.h"
#include "order.h"
#include "pyptx/diag/render.h"

namespace pyptx::call {
namespace {

using interop::ReadTensor;

/// Specialisations of all kernels that a thread keeps; each replaces a neighbour.
constexpr std::size_t kMostRecent = 64;
/// Scalars whose bits lie on the stack of a call.
constexpr std::size_t kFewScalars = 32;

struct Recent {
  std::uint64_t kernel = 0;
  std::shared_ptr<const Entry> entry;
};

thread_local std::array<Recent, kMostRecent> recent;

/// Of the extents, so that a thread keeps several sizes of a kernel.
std::uint64_t hash_of(const Core& core, const Arguments& call) {
  std::uint64_t hash = core.id();
  for (const ReadTensor& tensor : call.tensors) {
    const auto rank = std::min(static_cast<std::size_t>(tensor.ndim), kMostDimensions);
    for (std::size_t i = 0; i < rank; ++i) {
      hash = hash * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(tensor.shape[i]);
    }
  }
  return hash ^ hash >> 32;
}

bool outputs_overlap(const Entry& entry, std::span<const ReadTensor> views, std::size_t first) {
  for (std::size_t i = first + 1; i < views.size(); ++i) {
    for (std::size_t j = first; j < i; ++j) {
      if (interop::share_memory(views[i].address(), entry.tensors[i].rows, views[j].address(),
                                entry.tensors[j].rows)) {
        return true;
      }
    }
  }
  return false;
}

bool has_null(const Entry& entry, std::span<const ReadTensor> views) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].address() == 0 && entry.tensors[i].bytes != 0) return true;
  }
  return false;
}

}  // namespace

bool Core::matches(const Entry& entry, const Arguments& call,
                   std::span<const ReadTensor> views) const {
  if (views.size() != entry.expected.size()) return false;
  if (!views.empty()) {
    const dlpack::Device& place = views.front().device;
    if (place.type != entry.device || (entry.ordinal >= 0 && place.id != entry.ordinal)) {
      return false;
    }
    if (!entry.expected.match(0, views, place) || has_null(entry, views)) return false;
    const bool is_cuda = place.type == dlpack::DeviceType::Cuda;
    if (call.place.device >= 0 && (!is_cuda || call.place.device != place.id)) return false;
    if (call.place.stream != nullptr && !is_cuda) return false;
    if (call.on_emulator && is_cuda) return false;
  } else if (call.on_emulator != (entry.device == dlpack::DeviceType::Cpu)) {
    return false;
  } else if (!call.on_emulator && (call.place.device < 0 ||
                                   (entry.ordinal >= 0 && entry.ordinal != call.place.device))) {
    return false;
  }
  if (writes_inputs() && call.has_const_input) return false;
  if (!are_same(entry.values.get(), values_or_default(call.values))) return false;
  return !outputs_overlap(entry, views, input_count());
}

std::shared_ptr<const Entry> Core::find(const Arguments& call, std::span<const ReadTensor> views,
                                        std::uint64_t hash) const {
  const std::shared_lock lock(entries_mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const auto& known) {
    return known->hash == hash && matches(*known, call, views);
  });
  return found == entries_.end() ? nullptr : *found;
}

namespace {

diag::Result<Ready> ready(Core& core, const Arguments& call, TensorMemory& memory) {
  Ready out;
  const auto views = in_order(core, call, memory);
  const std::uint64_t hash = hash_of(core, call);
  if (views) {
    Recent& mine = recent[hash % kMostRecent];
    out.views = *views;
    if (!views->empty()) out.device = views->front().device;
    if (mine.kernel == core.id() && core.matches(*mine.entry, call, *views)) {
      out.entry = mine.entry.get();
      // What an emulation asks (its progress, an interrupt) may call kernels and replace the row.
      if (out.entry->device == dlpack::DeviceType::Cpu) out.kept = mine.entry;
      return out;
    }
    out.kept = core.find(call, *views, hash);
  }
  if (out.kept == nullptr) {
    auto made = core.prepare(call, hash);
    if (!made) return made.failure();
    out.kept = std::move(*made);
  }
  recent[hash % kMostRecent] = {core.id(), out.kept};
  out.entry = out.kept.get();
  return out;
}

diag::Result<emu::Report> emulate_on_host(const Core& core, const Ready& call,
                                          std::span<const std::uint64_t> scalars,
                                          const emu::Options& options) {
  std::array<interop::HostTensor, driver::kMaxTensors> memory;
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    const interop::TensorShape& shape = call.entry->tensors[i];
    memory[i] = {.address = call.views[i].address(),
                 .bytes = shape.bytes,
                 .writable = i >= core.input_count() || core.writes_inputs(),
                 .element_bytes = (shape.type.bits + 7U) / 8U};
  }
  auto report =
      interop::emulate(*call.entry->image, {memory.data(), call.views.size()}, options, scalars);
  if (report) return report;
  if (const auto places = call.entry->image->locations()) report.error().resolve(*places);
  return report;
}

}  // namespace

namespace {

/// The bits of a call's scalars, on the stack as long as they are few.
class ScalarBits {
 public:
  explicit ScalarBits(std::size_t count) : count_(count), many_(count > kFewScalars ? count : 0) {}
  std::span<std::uint64_t> all() { return {many_.empty() ? few_.data() : many_.data(), count_}; }

 private:
  std::size_t count_;
  std::array<std::uint64_t, kFewScalars> few_;
  std::vector<std::uint64_t> many_;
};

}  // namespace

diag::Status Core::launch(const Ready& ready, std::span<const interop::ScalarParameter> scalars,
                          const Arguments& call) const {
  const Entry& entry = *ready.entry;
  ScalarBits bits(scalars.size());
  if (auto status = scalar_bits(*this, scalars, call, bits.all()); !status) return status;
  if (!entry.has_work) return diag::success();
  if (entry.device == dlpack::DeviceType::Cuda) {
    std::array<std::uint64_t, driver::kMaxTensors> pointers;
    const std::size_t count = ready.views.size();
    for (std::size_t i = 0; i < count; ++i) pointers[i] = ready.views[i].address();
    const int device = count == 0 ? call.place.device : ready.device.id;
    return interop::launch(*entry.image, device, call.place.stream,
                           driver::LaunchArguments{{pointers.data(), count}, bits.all()});
  }
  auto report = emulate_on_host(*this, ready, bits.all(), emu::Options{});
  if (!report) return report.failure();
  const auto places = entry.image->locations();
  for (const diag::Diagnostic& warning : report->warnings) {
    std::cerr << diag::render(warning, places.get());
  }
  return diag::success();
}

diag::Status run(Core& core, const Arguments& call) {
  TensorMemory memory;
  auto settled = ready(core, call, memory);
  if (!settled) return settled.failure();
  return core.launch(*settled, core.scalars(), call);
}

diag::Result<emu::Report> emulate(Core& core, const emu::Options& options, const Arguments& given) {
  Arguments call = given;
  call.on_emulator = true;
  TensorMemory memory;
  auto settled = ready(core, call, memory);
  if (!settled) return settled.failure();
  ScalarBits bits(core.scalars().size());
  if (auto status = scalar_bits(core, core.scalars(), call, bits.all()); !status) {
    return status.failure();
  }
  if (!settled->entry->has_work) return emu::Report();
  return emulate_on_host(core, *settled, bits.all(), options);
}

// --- prepared launches ---------------------------------------------------------------------------

diag::Result<std::shared_ptr<const Bound>> bind(const std::shared_ptr<Core>& core,
                                                const Arguments& call) {
  TensorMemory memory;
  auto settled = ready(*core, call, memory);
  if (!settled) return settled.failure();
  // The thread has just kept it, if it had it already.
  auto entry =
      settled->kept != nullptr ? settled->kept : recent[hash_of(*core, call) % kMostRecent].entry;
  dlpack::Device device = settled->device;
  if (settled->views.empty()) device = {dlpack::DeviceType::Cuda, call.place.device};
  auto out = std::make_shared<Bound>(core, std::move(entry), core->scalars(), device);
  ScalarBits bits(out->scalars.size());
  // Those that the example brings are defaults.
  Arguments given = call;
  if (!given.numbers.empty() || !given.named.empty()) {
    if (auto status = scalar_bits(*core, out->scalars, given, bits.all()); !status) {
      return status.failure();
    }
    for (std::size_t i = 0; i < out->scalars.size(); ++i) out->scalars[i].value = bits.all()[i];
  }
  if (!out->entry->has_work) return std::shared_ptr<const Bound>(std::move(out));
  interop::KernelImage& image = *out->entry->image;
  if (out->entry->device == dlpack::DeviceType::Cuda) {
    if (auto status = interop::prepare(image, device.id); !status) return status.failure();
  } else if (auto program = image.program(); !program) {
    return program.failure();
  }
  return std::shared_ptr<const Bound>(std::move(out));
}

diag::Status run(const Bound& bound, const Arguments& given) {
  const Core& core = *bound.core;
  Arguments call = given;
  call.values = bound.entry->values.get();
  TensorMemory memory;
  Ready settled;
  const auto views = in_order(core, call, memory);
  const bool is_there = !views || views->empty() || views->front().device == bound.device;
  if (!views || !is_there || !core.matches(*bound.entry, call, *views)) {
    return refused(bound, call);
  }
  settled.kept = bound.entry;
  settled.entry = bound.entry.get();
  settled.views = *views;
  if (!views->empty()) settled.device = views->front().device;
  return core.launch(settled, bound.scalars, call);
}

}  // namespace pyptx::call
