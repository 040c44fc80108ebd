// SPDX-License-Identifier: Apache-2.0
//
// Scopes on the calling thread's CUDA state: a context that is current, and a relaxed capture
// mode. Both put back what they found.
#pragma once

#include "cuda_api.h"

namespace pyptx::driver {

/// Makes a context of `device` current. A current context of that device stays (it may be the
/// application's own); otherwise the device's primary context, which the frameworks use, is pushed.
class ContextScope {
 public:
  enum class Need { OfDevice, Any };

  ContextScope(const Driver& driver, int device, Need need = Need::OfDevice);
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

/// Learns a device's primary context if somebody has made it, and makes none.
void find_primary(const Driver& driver, int device);

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
