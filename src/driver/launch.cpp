// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/launch.h"

#include <algorithm>

#include "context.h"
#include "cuda_api.h"
#include "map_slot.h"
#include "pyptx/isa/limits.h"
#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using diag::Diagnostic;
using diag::Kind;
using support::concat;

constexpr std::size_t kMaxParameterBytes = isa::kLargestLimits.parameters;
constexpr std::size_t kFewMaps = 8;
constexpr std::size_t kFewParameters = 64;
constexpr std::size_t kMapAlignment = 64;

std::size_t slot_size(const ParamSlot& slot) {
  switch (slot.kind) {
    case ParamSlot::Kind::Scalar:
    case ParamSlot::Kind::Argument:
      return slot.size;
    case ParamSlot::Kind::MapValue:
      return sizeof(EncodedMap);
    case ParamSlot::Kind::Pointer:
    case ParamSlot::Kind::MapPointer:
      break;
  }
  return sizeof(std::uint64_t);
}

std::size_t slot_alignment(const ParamSlot& slot) {
  return slot.kind == ParamSlot::Kind::MapValue ? kMapAlignment : slot_size(slot);
}

/// The bytes of all parameters: in order, each at the next multiple of its alignment. The kernel's
/// own layout may differ (ptxas aligns a tensor map by its absolute address in the constant bank),
/// so parameters are passed one by one and the driver places them.
std::size_t parameter_bytes_of(const LaunchPlan& plan) {
  std::size_t end = 0;
  for (const ParamSlot& slot : plan.params) {
    const std::size_t alignment = slot_alignment(slot);
    end = (end + alignment - 1) / alignment * alignment + slot_size(slot);
  }
  return end;
}

std::uint32_t volume(const Dim3& dim) { return dim.x * dim.y * dim.z; }

Diagnostic shape_error(std::string what, std::string expected, std::string got) {
  return Diagnostic(Kind::LaunchShape, {std::move(what), std::move(expected), std::move(got)});
}

}  // namespace

/// The launch configuration, ready but for the stream.
struct Launcher::Prebuilt {
  const Driver* driver = nullptr;
  cuda::LaunchConfig config{};
  /// The cluster last: a kernel may turn out to need it only when it is loaded.
  std::array<cuda::LaunchAttribute, 2> attributes{};
  unsigned attribute_count = 0;  // without the cluster
  std::atomic<bool> with_cluster = false;
};

Launcher::Launcher(LaunchPlan plan, std::shared_ptr<Kernel> kernel)
    : prebuilt_(std::make_unique<Prebuilt>()), plan_(std::move(plan)), kernel_(std::move(kernel)) {}

Launcher::~Launcher() = default;

diag::Result<std::unique_ptr<Launcher>> Launcher::create(
    LaunchPlan plan, std::shared_ptr<Kernel> kernel, std::optional<std::size_t> parameter_count) {
  if (auto problem = plan.problem()) return diag::fail(std::move(*problem));
  const std::size_t passed = plan.params.size();
  if (parameter_count && *parameter_count != passed) {
    const auto words = [](bool present) { return present ? "a parameter" : "nothing"; };
    const std::size_t first = std::min(*parameter_count, passed);
    return diag::fail(
        Kind::KernelParameters,
        {concat(first), plan.entry, words(first < *parameter_count), words(first < passed)});
  }
  auto loaded = driver();
  if (!loaded) return loaded.failure();
  std::unique_ptr<Launcher> out(new Launcher(std::move(plan), std::move(kernel)));
  out->count_is_known_ = parameter_count.has_value();
  if (auto status = out->lay_out(); !status) return status.failure();
  const LaunchPlan& p = out->plan_;
  Prebuilt& made = *out->prebuilt_;
  made.driver = *loaded;
  made.config = {p.grid.x,  p.grid.y,         p.grid.z, p.block.x, p.block.y,
                 p.block.z, p.dynamic_shared, nullptr,  nullptr,   0};
  if (p.is_programmatic) {
    cuda::LaunchAttribute& programmatic = made.attributes[made.attribute_count++];
    programmatic.id = cuda::kAttributeProgrammaticStreamSerialization;
    programmatic.value.programmatic = 1;
  }
  cuda::LaunchAttribute& cluster = made.attributes[made.attribute_count];
  cluster.id = cuda::kAttributeClusterDimension;
  cluster.value.cluster = {p.cluster.x, p.cluster.y, p.cluster.z};
  made.with_cluster = volume(p.cluster) > 1;
  return out;
}

diag::Status Launcher::lay_out() {
  parameter_bytes_ = parameter_bytes_of(plan_);
  if (parameter_bytes_ > kMaxParameterBytes) {
    return diag::fail(shape_error("the parameters",
                                  concat("at most ", kMaxParameterBytes, " bytes"),
                                  concat(parameter_bytes_)));
  }
  const auto add = [&](Source::In in, std::size_t index, std::size_t size) {
    sources_.push_back({in, static_cast<std::uint32_t>(index * size)});
  };
  for (const ParamSlot& slot : plan_.params) {
    // The device and every host with a CUDA driver are little-endian: a number begins where its
    // 64 bits do.
    switch (slot.kind) {
      case ParamSlot::Kind::Pointer:
        add(Source::Pointers, slot.tensor, sizeof(std::uint64_t));
        break;
      case ParamSlot::Kind::Scalar:
        add(Source::Constants, constants_.size(), sizeof slot.bits);
        constants_.push_back(slot.bits);
        break;
      case ParamSlot::Kind::Argument:
        add(Source::Scalars, scalar_count_++, sizeof(std::uint64_t));
        break;
      case ParamSlot::Kind::MapPointer:
      case ParamSlot::Kind::MapValue:
        add(Source::Maps, maps_.size(), sizeof(EncodedMap));
        maps_.push_back(std::make_unique<MapSlot>(slot));
        break;
    }
  }
  return diag::success();
}

diag::Status Launcher::prepare(int device) const {
  auto found = driver::device(device);
  if (!found) return found.failure();
  const DeviceInfo& info = **found;
  const std::uint32_t blocks = volume(plan_.cluster);
  if (blocks > 1 && !info.clusters) {
    return diag::fail(shape_error("the cluster",
                                  concat("one block on device ", device, " (", info.target, ")"),
                                  concat(blocks, " blocks")));
  }
  if (auto status = kernel_->prepare(device, plan_.dynamic_shared, blocks); !status) return status;
  auto resources = kernel_->resources(device);
  if (!resources) return resources.failure();
  const std::uint32_t threads = volume(plan_.block);
  if (threads > static_cast<std::uint32_t>(resources->max_threads)) {
    return diag::fail(
        shape_error("the block", concat("at most ", resources->max_threads, " threads"),
                    concat(threads))
            .note(concat("'", plan_.entry, "' uses ", resources->registers,
                         " registers per thread; .maxntid and .reqntid limit it too")));
  }
  if (resources->needs_cluster) prebuilt_->with_cluster = true;
  if (auto status = check_parameters(device); !status) return status;
  Prepared& prepared = prepared_[static_cast<std::size_t>(device)];
  prepared.function.store(kernel_->primary_function(device), std::memory_order_relaxed);
  prepared.done.store(true, std::memory_order_release);
  return diag::success();
}

/// The plan's parameters against the kernel's own, where the driver can tell.
diag::Status Launcher::check_parameters(int device) const {
  const cuda::Api& api = prebuilt_->driver->api;
  if (api.kernel_parameter == nullptr) return diag::success();
  const RelaxedCapture relaxed(api);
  const ContextScope context(*prebuilt_->driver, device);
  if (!context.ok()) return diag::fail(context.error());
  const auto handle = static_cast<cuda::KernelHandle>(kernel_->handle());
  const std::size_t count = plan_.params.size();
  const std::size_t end = count_is_known_ ? count : count + 1;
  for (std::size_t i = 0; i < end; ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const auto code = api.kernel_parameter(handle, i, &offset, &size);
    if (code != cuda::kSuccess && code != cuda::kInvalidValue) break;  // it cannot tell
    const bool takes = code == cuda::kSuccess;
    const bool passes = i < count;
    if (!takes && !passes) break;
    const std::size_t passed = passes ? slot_size(plan_.params[i]) : 0;
    if (takes && passes && size == passed) continue;
    const auto words = [](bool present, std::size_t bytes) {
      return present ? concat(bytes, " bytes") : std::string("nothing");
    };
    return diag::fail(Kind::KernelParameters,
                      {concat(i), plan_.entry, words(takes, size), words(passes, passed)});
  }
  return diag::success();
}

diag::Status Launcher::check_pointers(std::span<const std::uint64_t> pointers) const {
  if (pointers.size() != plan_.tensor_count) {
    return diag::fail(Kind::TensorCount,
                      {plan_.entry, concat(plan_.tensor_count), concat(pointers.size())});
  }
  for (std::size_t i = 0; i < plan_.tensor_bytes.size(); ++i) {
    if (pointers[i] == 0 && plan_.tensor_bytes[i] != 0) {
      return diag::fail(Diagnostic(Kind::NullTensor, {concat(i), plan_.entry})
                            .note(concat("it has ", plan_.tensor_bytes[i], " bytes")));
    }
  }
  for (const auto& map : maps_) {
    if (pointers[map->tensor()] == 0) {
      return diag::fail(Diagnostic(Kind::NullTensor, {concat(map->tensor()), plan_.entry})
                            .note("a tensor map is made over it"));
    }
  }
  return diag::success();
}

/// What is asked only where the primary context's function cannot be launched: whether the stream
/// is the device's, whether its context is the one that tensor maps in memory are in, and whether
/// the kernel was prepared before that context was there.
diag::Status Launcher::check_elsewhere(void* stream, int device) const {
  const Driver& loaded = *prebuilt_->driver;
  auto context = context_of(loaded, stream);
  if (!context) return context.failure();
  auto on = device_of(loaded, *context);
  if (!on) return on.failure();
  if (*on != device) {
    return diag::fail(shape_error("the stream",
                                  concat("of device ", device, ", where the tensors are"),
                                  concat("one of device ", *on))
                          .note(concat("launching '", plan_.entry, "'")));
  }
  if (*context == find_primary(loaded, device)) {
    const Prepared& prepared = prepared_[static_cast<std::size_t>(device)];
    if (prepared.function.load(std::memory_order_relaxed) != nullptr) return diag::success();
    const ContextScope primary(loaded, device, ContextScope::Need::Primary);
    return primary.ok() ? prepare(device) : diag::fail(primary.error());
  }
  const bool by_value = std::ranges::all_of(maps_, [](const auto& map) { return map->by_value(); });
  return by_value ? diag::success() : check_resident_maps(device, stream);
}

diag::Status Launcher::submit(void* stream, int device, const LaunchArguments& arguments,
                              EncodedMap* maps, void** params) const {
  const Driver& loaded = *prebuilt_->driver;
  // A real stream brings its context; a named one means the current context's.
  const ContextScope context(
      loaded, device,
      cuda::is_named(stream) ? ContextScope::Need::OfDevice : ContextScope::Need::Any);
  if (!context.ok()) return diag::fail(context.error());
  // A CUkernel may stand for a CUfunction in every context, but the primary context's own function
  // costs less. The driver refuses that one on a stream of another context.
  const Prepared& prepared = prepared_[static_cast<std::size_t>(device)];
  void* const function =
      context.is_primary() ? prepared.function.load(std::memory_order_relaxed) : nullptr;
  if (function == nullptr) {
    if (auto status = check_elsewhere(stream, device); !status) return status;
  }
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    const std::uint64_t address = arguments.pointers[maps_[i]->tensor()];
    if (auto status = maps_[i]->fill(device, address, maps[i]); !status) return status;
  }
  cuda::LaunchConfig config = prebuilt_->config;
  config.stream = static_cast<cuda::Stream>(stream);
  if (arguments.grid) {
    config.grid_x = arguments.grid->x;
    config.grid_y = arguments.grid->y;
    config.grid_z = arguments.grid->z;
  }
  const bool with_cluster = prebuilt_->with_cluster.load(std::memory_order_relaxed);
  config.attributes = prebuilt_->attributes.data();
  config.attribute_count = prebuilt_->attribute_count + (with_cluster ? 1 : 0);
  // The driver reads through them, whatever its declaration says.
  const void* const firsts[] = {arguments.pointers.data(), constants_.data(),
                                arguments.scalars.data(), maps};
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto* first = static_cast<const unsigned char*>(firsts[sources_[i].in]);
    params[i] = const_cast<unsigned char*>(first + sources_[i].offset);
  }
  if (!plan_.fills.empty()) {
    if (auto status = fill(stream, arguments); !status) return status;
  }
  const auto launch = [&](void* code) {
    return loaded.api.launch(&config, static_cast<cuda::Function>(code), params, nullptr);
  };
  auto code = launch(function != nullptr ? function : kernel_->handle());
  if (code == cuda::kInvalidHandle && function != nullptr) {
    if (auto status = check_elsewhere(stream, device); !status) return status;
    code = launch(kernel_->handle());
  }
  if (code != cuda::kSuccess) {
    return diag::fail(cuda_error(loaded.api, "cuLaunchKernelEx", code)
                          .note(concat("launching '", plan_.entry, "'")));
  }
  return diag::success();
}

diag::Status Launcher::fill(void* stream, const LaunchArguments& arguments) const {
  const cuda::Api& api = prebuilt_->driver->api;
  const auto on = static_cast<cuda::Stream>(stream);
  for (const Fill& fill : plan_.fills) {
    if (fill.count == 0) continue;
    const std::uint64_t address = arguments.pointers[fill.tensor];
    const auto low = static_cast<std::uint32_t>(fill.bits);
    const auto high = static_cast<std::uint32_t>(fill.bits >> 32);
    cuda::Code code = cuda::kSuccess;
    const char* name = "cuMemsetD32Async";
    if (fill.size == 1) {
      name = "cuMemsetD8Async";
      code = api.fill_8(address, static_cast<unsigned char>(low), fill.count, on);
    } else if (fill.size == 2) {
      name = "cuMemsetD16Async";
      code = api.fill_16(address, static_cast<unsigned short>(low), fill.count, on);
    } else if (fill.size == 4) {
      code = api.fill_32(address, low, fill.count, on);
    } else if (low == high) {
      code = api.fill_32(address, low, 2 * fill.count, on);
    } else {
      // The low words, then the high ones: rows of one word, eight bytes apart.
      name = "cuMemsetD2D32Async";
      code = api.fill_rows_32(address, 8, low, 1, fill.count, on);
      if (code == cuda::kSuccess) {
        code = api.fill_rows_32(address + 4, 8, high, 1, fill.count, on);
      }
    }
    if (code != cuda::kSuccess) {
      return diag::fail(
          cuda_error(api, name, code).note(concat("in front of '", plan_.entry, "'")));
    }
  }
  return diag::success();
}

diag::Status Launcher::submit_large(void* stream, int device,
                                    const LaunchArguments& arguments) const {
  std::vector<EncodedMap> maps(maps_.size());
  std::vector<void*> params(sources_.size());
  return submit(stream, device, arguments, maps.data(), params.data());
}

diag::Status Launcher::launch(void* stream, int device, const LaunchArguments& arguments) const {
  // A null pointer may be an empty tensor's.
  if (arguments.pointers.size() != plan_.tensor_count ||
      std::ranges::find(arguments.pointers, 0U) != arguments.pointers.end()) {
    if (auto status = check_pointers(arguments.pointers); !status) return status;
  }
  if (arguments.scalars.size() != scalar_count_) {
    return diag::fail(Kind::ScalarCount,
                      {plan_.entry, concat(scalar_count_), concat(arguments.scalars.size())});
  }
  if (arguments.grid) {
    if (auto problem = plan_.grid_problem(*arguments.grid)) return diag::fail(std::move(*problem));
  }
  const bool known =
      device >= 0 && device < kMaxDevices &&
      prepared_[static_cast<std::size_t>(device)].done.load(std::memory_order_acquire);
  if (!known) {
    if (auto status = prepare(device); !status) return status;
  }
  if (maps_.size() > kFewMaps || sources_.size() > kFewParameters) {
    return submit_large(stream, device, arguments);
  }
  // Not of the type, whose elements would be cleared at every call.
  alignas(EncodedMap) unsigned char maps[kFewMaps * sizeof(EncodedMap)];
  void* params[kFewParameters];
  return submit(stream, device, arguments, reinterpret_cast<EncodedMap*>(maps), params);
}

}  // namespace pyptx::driver
