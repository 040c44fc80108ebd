// SPDX-License-Identifier: Apache-2.0
//
// Reading an XLA call frame (xla/ffi/api/c_api.h): buffers, attributes and context, without
// allocation. Private to the interop layer; included only where XLA's headers are at hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "pyptx/driver/plan.h"
#include "xla/ffi/api/c_api.h"

namespace pyptx::interop::xla {

/// Arguments and results of one call; more are refused, so that a call needs no allocation.
using driver::kMaxTensors;

/// Bytes of one element as XLA stores it: sub-byte types take a byte each in a custom call.
std::uint32_t element_bytes(XLA_FFI_DataType type);
std::uint64_t byte_count(const XLA_FFI_Buffer& buffer);

class Frame {
 public:
  explicit Frame(XLA_FFI_CallFrame* frame)
      : frame_(frame), arguments_(static_cast<std::size_t>(frame->args.size)) {}

  /// Where to write the handler's properties when the frame asks for them, else null.
  XLA_FFI_Metadata* metadata() const {
    for (auto* base = frame_->extension_start; base != nullptr; base = base->next) {
      if (base->type == XLA_FFI_Extension_Metadata) {
        return reinterpret_cast<XLA_FFI_Metadata_Extension*>(base)->metadata;
      }
    }
    return nullptr;
  }

  // --- buffers: arguments, then results ------------------------------------------------------
  /// Leaves out the last `count` arguments from here on.
  void skip_arguments(std::size_t count) { arguments_ -= std::min(count, arguments_); }
  std::size_t buffer_count() const {
    return arguments_ + static_cast<std::size_t>(frame_->rets.size);
  }
  bool is_result(std::size_t index) const { return index >= arguments_; }
  /// Whether it is one of the first `count` results.
  bool is_kept(std::size_t index, std::size_t count) const {
    return is_result(index) && index - arguments_ < count;
  }
  const XLA_FFI_Buffer& buffer(std::size_t index) const {
    void* buffer =
        is_result(index) ? frame_->rets.rets[index - arguments_] : frame_->args.args[index];
    return *static_cast<const XLA_FFI_Buffer*>(buffer);
  }
  /// Whether some result has the same memory as argument `index`.
  bool is_aliased(std::size_t index) const {
    for (std::size_t i = arguments_; i < buffer_count(); ++i) {
      if (buffer(i).data == buffer(index).data) return true;
    }
    return false;
  }

  // --- attributes ----------------------------------------------------------------------------
  std::optional<std::string_view> string(std::string_view name) const;
  /// A scalar of any integer type.
  std::optional<std::int64_t> integer(std::string_view name) const;

  // --- context; null, or the error to return -------------------------------------------------
  XLA_FFI_Error* stream(void** out) const;
  XLA_FFI_Error* device_ordinal(std::int32_t* out) const;
  XLA_FFI_Error* set_state(XLA_FFI_TypeId& type, void* state) const;
  XLA_FFI_Error* state(XLA_FFI_TypeId& type, void** out) const;

  XLA_FFI_Error* error(const std::string& message, XLA_FFI_Error_Code code) const;
  XLA_FFI_Error* too_many_buffers() const {
    return error("a kernel call takes at most " + std::to_string(kMaxTensors) + " buffers, got " +
                     std::to_string(buffer_count()),
                 XLA_FFI_Error_Code_INVALID_ARGUMENT);
  }

 private:
  /// Index of an attribute, or -1.
  std::int64_t find(std::string_view name) const;

  XLA_FFI_CallFrame* frame_;
  std::size_t arguments_;
};

}  // namespace pyptx::interop::xla
