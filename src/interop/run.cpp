// SPDX-License-Identifier: Apache-2.0
//
// Launch plans turned into launches (see the header).
#include "pyptx/interop/run.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace pyptx::interop {
namespace {

std::string bytes_text(std::uint32_t bytes) { return std::to_string(bytes) + " bytes"; }
std::string count_text(std::size_t count) { return std::to_string(count) + " parameters"; }

emu::Dim3 dim3(const driver::Dim3& dim) { return {dim.x, dim.y, dim.z}; }

/// Fills the parameter block of one launch, slot by slot.
class Binder {
 public:
  Binder(std::span<const HostTensor> tensors, std::span<const std::uint64_t> scalars,
         std::size_t map_pointers)
      : tensors_(tensors), scalars_(scalars) {
    // Reserved at once: the addresses of its elements go into the parameter block.
    out_.maps.reserve(map_pointers);
  }

  diag::Status bind(const driver::LaunchPlan& plan, const driver::ParamSlot& slot,
                    const emu::ParamPlace& place, std::uint32_t index) {
    const std::uint32_t size = slot.kind == driver::ParamSlot::Kind::MapValue ? 128 : slot.size;
    if (place.size != size) {
      return diag::fail(diag::Kind::KernelParameters, {std::to_string(index), plan.entry,
                                                       bytes_text(place.size), bytes_text(size)});
    }
    using SlotKind = driver::ParamSlot::Kind;
    // What is put there has eight bytes, whatever a plan says that nobody checked.
    if (slot.kind != SlotKind::MapValue && size > 8) {
      return diag::fail(diag::Kind::BadPlan,
                        {"parameter " + std::to_string(index) + " has " + bytes_text(size)});
    }
    if (slot.kind == SlotKind::Scalar) return put(place, &slot.bits);
    if (slot.kind == SlotKind::Argument) return put(place, &scalars_[next_scalar_++]);
    if (slot.tensor >= tensors_.size()) {
      return diag::fail(diag::Kind::BadPlan,
                        {"parameter " + std::to_string(index) + " is of tensor " +
                         std::to_string(slot.tensor) + " of " + std::to_string(tensors_.size())});
    }
    const std::uint64_t address = tensors_[slot.tensor].address;
    emu::Buffer& buffer = out_.launch.buffers[slot.tensor];
    if (slot.kind == SlotKind::Pointer || buffer.name.empty()) buffer.name = place.name;
    if (slot.kind == SlotKind::Pointer) return put(place, &address);

    if (const auto problem = slot.map.problem(address)) {
      return diag::fail(diag::Kind::TensorMapRule, {*problem});
    }
    const auto encoded = emu::encode(slot.map, address);
    if (slot.kind == SlotKind::MapValue) return put(place, encoded.data());
    EmulatorLaunch::Map& map = out_.maps.emplace_back();
    std::memcpy(map.bytes, encoded.data(), sizeof(map.bytes));
    const std::uint64_t map_address = reinterpret_cast<std::uintptr_t>(&map);
    out_.launch.buffers.push_back({map_address, sizeof(map.bytes), false, place.name});
    return put(place, &map_address);
  }

  EmulatorLaunch& out() { return out_; }

 private:
  diag::Status put(const emu::ParamPlace& place, const void* bytes) {
    auto& block = out_.launch.params;
    if (block.size() < place.offset + std::size_t{place.size}) {
      block.resize(place.offset + std::size_t{place.size});
    }
    std::memcpy(block.data() + place.offset, bytes, place.size);
    return diag::success();
  }

  std::span<const HostTensor> tensors_;
  std::span<const std::uint64_t> scalars_;  // as many as the plan has arguments
  std::size_t next_scalar_ = 0;
  EmulatorLaunch out_;
};

Host host;

/// An emulation that the host knows of while it runs; where it has its own interrupt, it does.
class Hosted {
 public:
  explicit Hosted(emu::Options& options) : end_(options.interrupt == nullptr ? host.end : nullptr) {
    if (end_ == nullptr) return;
    options.interrupt = host.is_interrupted;
    host.begin();
  }
  ~Hosted() {
    if (end_ != nullptr) end_();
  }
  Hosted(const Hosted&) = delete;
  Hosted& operator=(const Hosted&) = delete;

 private:
  void (*end_)();
};

}  // namespace

void set_host(const Host& given) { host = given; }

diag::Result<EmulatorLaunch> bind(const emu::Program& program, const driver::LaunchPlan& plan,
                                  std::span<const HostTensor> tensors,
                                  std::span<const std::uint64_t> scalars,
                                  const std::optional<driver::Dim3>& grid) {
  if (tensors.size() != plan.tensor_count) {
    return diag::fail(diag::Kind::TensorCount, {plan.entry, std::to_string(plan.tensor_count),
                                                std::to_string(tensors.size())});
  }
  if (const std::size_t count = plan.argument_count(); scalars.size() != count) {
    return diag::fail(diag::Kind::ScalarCount,
                      {plan.entry, std::to_string(count), std::to_string(scalars.size())});
  }
  if (grid) {
    if (auto problem = plan.grid_problem(*grid)) return diag::fail(std::move(*problem));
  }
  const auto places = emu::params(program);
  if (places.size() != plan.params.size()) {
    return diag::fail(diag::Kind::KernelParameters,
                      {std::to_string(std::min(places.size(), plan.params.size())), plan.entry,
                       count_text(places.size()), count_text(plan.params.size())});
  }
  std::size_t map_pointers = 0;
  for (const auto& slot : plan.params) {
    map_pointers += slot.kind == driver::ParamSlot::Kind::MapPointer ? 1 : 0;
  }
  for (const driver::Fill& fill : plan.fills) {
    if (fill.tensor < tensors.size() && fill.count * fill.size <= tensors[fill.tensor].bytes)
      continue;
    return diag::fail(diag::Kind::BadPlan, {"it fills more of tensor " +
                                            std::to_string(fill.tensor) + " than there is"});
  }
  Binder binder(tensors, scalars, map_pointers);
  emu::Launch& launch = binder.out().launch;
  launch.grid = dim3(grid.value_or(plan.grid));
  launch.block = dim3(plan.block);
  launch.cluster = dim3(plan.cluster);
  launch.dynamic_shared = plan.dynamic_shared;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const HostTensor& tensor = tensors[i];
    if (tensor.address == 0 && tensor.bytes != 0) {
      return diag::fail(diag::Diagnostic(diag::Kind::NullTensor, {std::to_string(i), plan.entry})
                            .note("it has " + std::to_string(tensor.bytes) + " bytes"));
    }
    launch.buffers.push_back({tensor.address,
                              tensor.bytes,
                              tensor.writable,
                              {},
                              tensor.has_value,
                              tensor.element_bytes});
  }
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    auto bound = binder.bind(plan, plan.params[i], places[i], i);
    if (!bound) return bound.failure();
  }
  return std::move(binder.out());
}

diag::Status prepare(KernelImage& image, int device) {
  auto launcher = image.launcher(device);
  if (!launcher) return launcher.failure();
  return (*launcher)->prepare(device);
}

diag::Status launch(KernelImage& image, int device, void* stream,
                    const driver::LaunchArguments& arguments) {
  auto launcher = image.launcher(device);
  if (!launcher) return launcher.failure();
  return (*launcher)->launch(stream, device, arguments);
}

diag::Status launch(KernelImage& image, int device, void* stream,
                    std::span<const std::uint64_t> pointers) {
  return launch(image, device, stream, driver::LaunchArguments{.pointers = pointers});
}

diag::Result<emu::Report> emulate(KernelImage& image, std::span<const HostTensor> tensors,
                                  const emu::Options& options,
                                  std::span<const std::uint64_t> scalars,
                                  const std::optional<driver::Dim3>& grid) {
  auto program = image.program();
  if (!program) return program.failure();
  auto bound = bind(**program, image.plan(), tensors, scalars, grid);
  if (!bound) return bound.failure();
  for (const driver::Fill& fill : image.plan().fills) {
    auto* to = reinterpret_cast<unsigned char*>(tensors[fill.tensor].address);
    for (std::uint64_t i = 0; i < fill.count; ++i, to += fill.size) {
      std::memcpy(to, &fill.bits, fill.size);
    }
    bound->launch.buffers[fill.tensor].has_value = true;
  }
  bound->launch.options = options;
  bound->launch.variables = image.variables();
  const Hosted hosted(bound->launch.options);
  auto report = emu::run(**program, bound->launch);
  if (!report) image.renew_variables(bound->launch.variables);
  return report;
}

}  // namespace pyptx::interop
