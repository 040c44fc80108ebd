// SPDX-License-Identifier: Apache-2.0
//
// Questions about torch's thread-local state that a call asks every time, answered by torch's own
// libraries without going through Python. The symbols are looked up in the libraries that the
// process has loaded already; nothing is loaded, and no torch header is needed. A symbol that this
// torch does not have is null, and the caller has another way.
#pragma once

#include <cstdint>

namespace pyptx::interop {

struct TorchShim {
  /// Whether autograd records (torch.is_grad_enabled). Stable C API.
  bool (*grad_mode_enabled)() = nullptr;
  /// Depths of the stacks of __torch_dispatch__ and __torch_function__ modes.
  std::int64_t (*dispatch_modes)() = nullptr;
  std::int64_t (*function_modes)() = nullptr;

  /// What the loaded torch offers; torch must have been imported.
  static TorchShim find();
};

}  // namespace pyptx::interop
