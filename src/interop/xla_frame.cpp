// SPDX-License-Identifier: Apache-2.0
//
// Reading an XLA call frame (see the header).
#if __has_include("xla/ffi/api/c_api.h")

#include "xla_frame.h"

namespace pyptx::interop::xla {
namespace {

/// An argument struct of the C API with its size filled in.
template <typename Args>
Args sized(std::size_t struct_size) {
  Args args{};
  args.struct_size = struct_size;
  return args;
}

std::optional<std::int64_t> integer_value(const XLA_FFI_Scalar& scalar) {
  const auto read = [&]<typename T>(T value) {
    std::memcpy(&value, scalar.value, sizeof(value));
    return static_cast<std::int64_t>(value);
  };
  switch (scalar.dtype) {
    case XLA_FFI_DataType_S8:
      return read(std::int8_t{});
    case XLA_FFI_DataType_S16:
      return read(std::int16_t{});
    case XLA_FFI_DataType_S32:
      return read(std::int32_t{});
    case XLA_FFI_DataType_S64:
      return read(std::int64_t{});
    case XLA_FFI_DataType_U8:
      return read(std::uint8_t{});
    case XLA_FFI_DataType_U16:
      return read(std::uint16_t{});
    case XLA_FFI_DataType_U32:
      return read(std::uint32_t{});
    case XLA_FFI_DataType_U64:
      return read(std::uint64_t{});
    default:
      return std::nullopt;
  }
}

}  // namespace

std::uint32_t element_bytes(XLA_FFI_DataType type) {
  switch (type) {
    case XLA_FFI_DataType_INVALID:
    case XLA_FFI_DataType_TOKEN:
      return 0;
    case XLA_FFI_DataType_S16:
    case XLA_FFI_DataType_U16:
    case XLA_FFI_DataType_F16:
    case XLA_FFI_DataType_BF16:
      return 2;
    case XLA_FFI_DataType_S32:
    case XLA_FFI_DataType_U32:
    case XLA_FFI_DataType_F32:
      return 4;
    case XLA_FFI_DataType_S64:
    case XLA_FFI_DataType_U64:
    case XLA_FFI_DataType_F64:
    case XLA_FFI_DataType_C64:
      return 8;
    case XLA_FFI_DataType_C128:
      return 16;
    default:
      return 1;
  }
}

std::uint64_t byte_count(const XLA_FFI_Buffer& buffer) {
  std::uint64_t bytes = element_bytes(buffer.dtype);
  for (std::int64_t i = 0; i < buffer.rank; ++i) {
    bytes *= static_cast<std::uint64_t>(buffer.dims[i]);
  }
  return bytes;
}

std::int64_t Frame::find(std::string_view name) const {
  for (std::int64_t i = 0; i < frame_->attrs.size; ++i) {
    const XLA_FFI_ByteSpan* span = frame_->attrs.names[i];
    if (std::string_view(span->ptr, span->len) == name) return i;
  }
  return -1;
}

std::optional<std::string_view> Frame::string(std::string_view name) const {
  const std::int64_t index = find(name);
  if (index < 0 || frame_->attrs.types[index] != XLA_FFI_AttrType_STRING) return std::nullopt;
  const auto* span = static_cast<const XLA_FFI_ByteSpan*>(frame_->attrs.attrs[index]);
  return std::string_view(span->ptr, span->len);
}

std::optional<std::int64_t> Frame::integer(std::string_view name) const {
  const std::int64_t index = find(name);
  if (index < 0 || frame_->attrs.types[index] != XLA_FFI_AttrType_SCALAR) return std::nullopt;
  return integer_value(*static_cast<const XLA_FFI_Scalar*>(frame_->attrs.attrs[index]));
}

XLA_FFI_Error* Frame::stream(void** out) const {
  auto args = sized<XLA_FFI_Stream_Get_Args>(XLA_FFI_Stream_Get_Args_STRUCT_SIZE);
  args.ctx = frame_->ctx;
  XLA_FFI_Error* error = frame_->api->XLA_FFI_Stream_Get(&args);
  *out = args.stream;
  return error;
}

XLA_FFI_Error* Frame::device_ordinal(std::int32_t* out) const {
  auto args = sized<XLA_FFI_DeviceOrdinal_Get_Args>(XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE);
  args.ctx = frame_->ctx;
  XLA_FFI_Error* error = frame_->api->XLA_FFI_DeviceOrdinal_Get(&args);
  *out = args.device_ordinal;
  return error;
}

XLA_FFI_Error* Frame::set_state(XLA_FFI_TypeId& type, void* state) const {
  auto args = sized<XLA_FFI_State_Set_Args>(XLA_FFI_State_Set_Args_STRUCT_SIZE);
  args.ctx = frame_->ctx;
#if XLA_FFI_API_MAJOR > 0 || XLA_FFI_API_MINOR >= 3
  args.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
#endif
  args.type_id = &type;
  args.state = state;
  return frame_->api->XLA_FFI_State_Set(&args);
}

XLA_FFI_Error* Frame::state(XLA_FFI_TypeId& type, void** out) const {
  auto args = sized<XLA_FFI_State_Get_Args>(XLA_FFI_State_Get_Args_STRUCT_SIZE);
  args.ctx = frame_->ctx;
#if XLA_FFI_API_MAJOR > 0 || XLA_FFI_API_MINOR >= 3
  args.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
#endif
  args.type_id = &type;
  XLA_FFI_Error* error = frame_->api->XLA_FFI_State_Get(&args);
  *out = args.state;
  return error;
}

XLA_FFI_Error* Frame::error(const std::string& message, XLA_FFI_Error_Code code) const {
  auto args = sized<XLA_FFI_Error_Create_Args>(XLA_FFI_Error_Create_Args_STRUCT_SIZE);
  args.message = message.c_str();
  args.errc = code;
  return frame_->api->XLA_FFI_Error_Create(&args);
}

}  // namespace pyptx::interop::xla

#endif
