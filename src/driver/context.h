// SPDX-License-Identifier: Apache-2.0
//
// Scopes on the calling thread's CUDA state: a context that is current, and a relaxed capture
// mode. Both put back what they found.
#pragma once

#include "cuda_api.h"

namespace pyptx::driver {

/// Makes a context of `device` current. A current context of that device stays (it may be the
/// application's own); otherwise the device's primary context, which the frameworks use, is pushed.
/// What belongs to the process asks for the primary one: another may be destroyed.
class ContextScope {
 public:
  enum class Need { OfDevice, Any, Primary };

  ContextScope(const Driver& driver, int device, Need need = Need::OfDevice);
  /// Makes `context` current, on a thread that works for another; the primary one of `device` where
  /// it is null.
  ContextScope(const Driver& driver, cuda::Context context, int device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  bool ok() const { return code_ == cuda::kSuccess; }
  /// Whether the device's primary context is current, as far as it is known.
  bool is_primary() const { return current_ != nullptr && current_ == driver_.primary[index_]; }
  diag::Diagnostic error() const { return cuda_error(driver_.api, call_, code_); }

 private:
  void push();
  bool check(const char* call, cuda::Code code) {
    call_ = call;
    code_ = code;
    return code == cuda::kSuccess;
  }

  const Driver& driver_;
  const std::size_t index_;
  cuda::Context current_ = nullptr;
  const char* call_ = "";
  cuda::Code code_ = cuda::kSuccess;
  bool pushed_ = false;
};

/// A device's primary context if somebody has made it, null otherwise; it makes none.
cuda::Context find_primary(const Driver& driver, int device);

/// The context that a stream is of; a name stands for a stream of the current context.
diag::Result<cuda::Context> context_of(const Driver& driver, void* stream);

/// The ordinal of a context's device.
diag::Result<int> device_of(const Driver& driver, cuda::Context context);

/// While it lives, calls that a capture on this thread would forbid (allocation, loading) are
/// allowed: they touch no stream that is being captured.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const cuda::Api& api) : api_(api) { api_.exchange_capture_mode(&mode_); }
  ~RelaxedCapture() { api_.exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const cuda::Api& api_;
  int mode_ = cuda::kCaptureModeRelaxed;  // after the exchange: the mode to put back
};

}  // namespace pyptx::driver
