// SPDX-License-Identifier: Apache-2.0
//
// The registry of images and handles, and the C entry point over it (see the header).
#include "pyptx/interop/registry.h"

#include <utility>

#include "pyptx/diag/exception.h"
#include "pyptx/diag/render.h"
#include "pyptx/interop/run.h"

namespace pyptx::interop {

Registry& Registry::instance() {
  // Never destroyed: frameworks launch from their own threads while the process ends.
  static auto* const registry = new Registry;
  return *registry;
}

std::shared_ptr<KernelImage> Registry::intern(std::string ptx, std::string target,
                                              driver::LaunchPlan plan,
                                              const std::shared_ptr<const ir::Module>& module) {
  // What is not used is destroyed after the lock is given back (see drop).
  auto fresh =
      std::make_shared<KernelImage>(std::move(ptx), std::move(target), std::move(plan), module);
  const std::lock_guard lock(mutex_);
  if (auto living = images_.find(fresh->hash())) {
    living->adopt(module);
    return living;
  }
  images_.set(fresh->hash(), fresh);
  return fresh;
}

std::shared_ptr<KernelImage> Registry::find(std::string_view hash) const {
  const std::lock_guard lock(mutex_);
  return images_.find(std::string(hash));
}

std::int64_t Registry::new_handle() {
  const std::lock_guard lock(mutex_);
  return next_handle_++;
}

std::int64_t Registry::handle_of(const std::shared_ptr<KernelImage>& image) {
  const std::lock_guard lock(mutex_);
  const auto [known, added] = handle_by_image_.try_emplace(image.get(), next_handle_);
  if (added) handles_[next_handle_++] = {image, nullptr};
  return known->second;
}

diag::Result<Registry::Registered> Registry::entry(std::int64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) {
    return diag::fail(diag::Kind::UnknownHandle, {std::to_string(handle)});
  }
  return found->second;
}

diag::Result<std::shared_ptr<KernelImage>> Registry::image(std::int64_t handle) const {
  auto known = entry(handle);
  if (!known) return known.failure();
  if (known->image == nullptr) {
    return diag::fail(diag::Kind::RawHandle, {std::to_string(handle), "run on the CPU"});
  }
  return known->image;
}

diag::Status Registry::check(std::int64_t handle, std::size_t tensors) const {
  auto known = entry(handle);
  if (!known) return known.failure();
  if (known->image == nullptr) return diag::success();  // a bare function takes what it is given
  const driver::LaunchPlan& plan = known->image->plan();
  if (plan.tensor_count == tensors) return diag::success();
  return diag::fail(diag::Kind::TensorCount,
                    {plan.entry, std::to_string(plan.tensor_count), std::to_string(tensors)});
}

diag::Status Registry::set_raw(std::int64_t handle, RawLaunch launch) {
  const std::lock_guard lock(mutex_);
  Registered& known = handles_[handle];
  if (known.image != nullptr) {
    return diag::fail(diag::Kind::ImageHandle, {std::to_string(handle)});
  }
  known.raw = std::make_shared<const RawLaunch>(std::move(launch));
  if (handle >= next_handle_) next_handle_ = handle + 1;
  return diag::success();
}

template <typename Change>
diag::Status Registry::change_raw(std::int64_t handle, Change&& change) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) {
    return diag::fail(diag::Kind::UnknownHandle, {std::to_string(handle)});
  }
  if (found->second.raw == nullptr) {
    return diag::fail(diag::Kind::ImageHandle, {std::to_string(handle)});
  }
  // A launch under way on another thread keeps the one it started with.
  auto changed = std::make_shared<RawLaunch>(*found->second.raw);
  change(*changed);
  found->second.raw = std::move(changed);
  return diag::success();
}

diag::Status Registry::add_scalar(std::int64_t handle, RawLaunch::Scalar scalar) {
  if (scalar.size != 1 && scalar.size != 2 && scalar.size != 4 && scalar.size != 8) {
    return diag::fail(diag::Kind::LaunchShape,
                      {"the size of a scalar", "1, 2, 4 or 8 bytes", std::to_string(scalar.size)});
  }
  return change_raw(handle, [&](RawLaunch& launch) { launch.scalars.push_back(scalar); });
}

diag::Status Registry::add_map(std::int64_t handle, RawLaunch::Map map) {
  if (map.host_blob == 0) {
    return diag::fail(diag::Kind::LaunchShape,
                      {"the host copy of a tensor map", "an address", "null"});
  }
  return change_raw(handle, [&](RawLaunch& launch) { launch.maps.push_back(map); });
}

void Registry::drop(std::int64_t handle) {
  Registered dropped;  // destroyed after the lock is given back: an image may own foreign objects
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return;
  dropped = std::move(found->second);
  handle_by_image_.erase(dropped.image.get());
  handles_.erase(found);
}

diag::Status Registry::launch(std::int64_t handle, int device, void* stream,
                              std::span<const std::uint64_t> pointers) const {
  auto known = entry(handle);
  if (!known) return known.failure();
  if (known->raw != nullptr) return launch_raw(*known->raw, device, stream, pointers);
  return interop::launch(*known->image, device, stream, pointers);
}

}  // namespace pyptx::interop

namespace {

thread_local std::string last_error;

int launch_raw(std::int64_t handle, void* stream, void** ptrs, std::size_t n) {
  static_assert(sizeof(void*) == sizeof(std::uint64_t));
  const std::span<const std::uint64_t> pointers(reinterpret_cast<const std::uint64_t*>(ptrs), n);
  const auto fail = [](const pyptx::diag::Diagnostic& diagnostic) {
    last_error = pyptx::diag::render(diagnostic, nullptr);
    return 1;
  };
  const auto& registry = pyptx::interop::Registry::instance();
  // Before the driver is asked for anything: a wrong handle is a wrong handle without a GPU too.
  if (const auto known = registry.check(handle, n); !known) return fail(known.error());
  if (ptrs == nullptr && n != 0) {
    return fail({pyptx::diag::Kind::LaunchShape,
                 {"the array of pointers", std::to_string(n) + " addresses", "null"}});
  }
  const auto device = pyptx::driver::current_device();
  if (!device) return fail(device.error());
  const auto launched = registry.launch(handle, *device, stream, pointers);
  return launched ? 0 : fail(launched.error());
}

}  // namespace

int pyptx_shim_launch_raw(std::int64_t handle, void* stream, void** ptrs, std::size_t n) {
  // The caller is C: it could let no exception pass.
  try {
    return launch_raw(handle, stream, ptrs, n);
  } catch (...) {
    last_error = pyptx::diag::words_of_current_exception().text;
    return 1;
  }
}

const char* pyptx_shim_last_error(void) { return last_error.c_str(); }
