// SPDX-License-Identifier: Apache-2.0
//
// Kernels as XLA custom calls (typed FFI). A call carries the kernel itself, as string attributes
// `ptx`, `target`, `plan` (LaunchPlan::to_text) and `hash` (KernelImage::hash), so that a compiled
// program works in another process; or `cubin_handle`, a handle of this process's registry. The
// last `unread` arguments (an integer, 0 where it is not given) only lend results their memory. On
// CUDA it launches on XLA's stream, on the CPU platform it runs on the emulator. No host language
// is involved in either. This header names no XLA type; without XLA's headers at build time there
// are no targets, and the reason is given.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace pyptx::interop::xla {

/// Handlers of one platform, for a typed-FFI registration (API version 1). They may be registered
/// as a bundle; `execute` alone serves too, without loading ahead.
struct Handlers {
  std::string_view platform;  // "CUDA" or "cpu"
  void* instantiate;
  void* prepare;  // null on the CPU
  void* execute;
};

/// One element per platform; empty when the build had no XLA headers.
std::span<const Handlers> handlers();
/// The version of XLA's FFI that the handlers need, {major, minor}; a newer minor takes them too.
std::array<int, 2> version();
/// Why handlers() is empty, or "".
std::string_view unavailable_reason();

}  // namespace pyptx::interop::xla
