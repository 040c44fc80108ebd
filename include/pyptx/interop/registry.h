// SPDX-License-Identifier: Apache-2.0
//
// The process-wide registry. Images are found by content hash, so that every call site of the same
// kernel shares one; integer handles name an image, or a launch put together from raw parts (a
// CUfunction, its dimensions, scalars and tensor maps). Thread-safe. A handle keeps what it names
// alive; a hash does not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"
#include "pyptx/interop/image.h"
#include "pyptx/interop/raw_launch.h"
#include "pyptx/support/weak_table.h"

namespace pyptx::interop {

/// The images and kernels of this process.
class Registry {
 public:
  static Registry& instance();

  /// The image with this content: the living one, or a new one.
  std::shared_ptr<KernelImage> intern(std::string ptx, std::string target, driver::LaunchPlan plan,
                                      const std::shared_ptr<const ir::Module>& module = nullptr);
  /// The living image with this hash, or null.
  std::shared_ptr<KernelImage> find(std::string_view hash) const;

  /// A number that names nothing yet; never given twice.
  std::int64_t new_handle();
  /// The handle of an image: one per image, made on first use; keeps the image alive.
  std::int64_t handle_of(const std::shared_ptr<KernelImage>& image);
  /// The image a handle names, or UnknownHandle / RawHandle.
  diag::Result<std::shared_ptr<KernelImage>> image(std::int64_t handle) const;
  /// Whether a handle names anything, and, where that can be known, something for so many tensors.
  diag::Status check(std::int64_t handle, std::size_t tensors) const;

  /// Names a raw launch, replacing an earlier raw launch of the same handle and its parameters.
  diag::Status set_raw(std::int64_t handle, RawLaunch launch);
  diag::Status add_scalar(std::int64_t handle, RawLaunch::Scalar scalar);
  diag::Status add_map(std::int64_t handle, RawLaunch::Map map);
  /// Forgets a handle. What it named lives on while others hold it.
  void drop(std::int64_t handle);

  /// Launches what `handle` names on a stream of `device`.
  diag::Status launch(std::int64_t handle, int device, void* stream,
                      std::span<const std::uint64_t> pointers) const;

 private:
  struct Registered {
    std::shared_ptr<KernelImage> image;    // this or
    std::shared_ptr<const RawLaunch> raw;  // that; copied before it is changed
  };
  diag::Result<Registered> entry(std::int64_t handle) const;
  template <typename Change>
  diag::Status change_raw(std::int64_t handle, Change&& change);

  mutable std::mutex mutex_;
  support::WeakTable<std::string, KernelImage> images_;  // by hash
  std::map<std::int64_t, Registered> handles_;
  std::unordered_map<const KernelImage*, std::int64_t> handle_by_image_;
  std::int64_t next_handle_ = 1;
};

}  // namespace pyptx::interop

extern "C" {
/// Launches what `handle` names on a CUstream. `ptrs` holds n device addresses, inputs then
/// outputs. Returns 0, or 1 with the reason in pyptx_shim_last_error().
__attribute__((visibility("default"))) int pyptx_shim_launch_raw(std::int64_t handle, void* stream,
                                                                 void** ptrs, std::size_t n);
/// The message of this thread's last failed call, "" if there was none.
__attribute__((visibility("default"))) const char* pyptx_shim_last_error(void);
}
