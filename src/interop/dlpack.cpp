// SPDX-License-Identifier: Apache-2.0
//
// Facts about DLPack tables, element types and dense layouts (see the header).
#include "pyptx/interop/dlpack.h"

#include <array>

namespace pyptx::interop::dlpack {
namespace {

constexpr DataType type(TypeCode code, std::uint8_t bits) { return {code, bits, 1}; }

// Only types that a tensor of torch, JAX or NumPy can have; the .bN types of PTX name no element.
constexpr std::array kTypes = {
    ElementType{"f32", "float32", type(TypeCode::Float, 32)},
    ElementType{"bf16", "bfloat16", type(TypeCode::Bfloat, 16)},
    ElementType{"f16", "float16", type(TypeCode::Float, 16)},
    ElementType{"f64", "float64", type(TypeCode::Float, 64)},
    ElementType{"e4m3", "float8_e4m3fn", type(TypeCode::Float8E4m3fn, 8)},
    ElementType{"e5m2", "float8_e5m2", type(TypeCode::Float8E5m2, 8)},
    ElementType{"ue8m0", "float8_e8m0fnu", type(TypeCode::Float8E8m0fnu, 8)},
    ElementType{"s8", "int8", type(TypeCode::Int, 8)},
    ElementType{"s16", "int16", type(TypeCode::Int, 16)},
    ElementType{"s32", "int32", type(TypeCode::Int, 32)},
    ElementType{"s64", "int64", type(TypeCode::Int, 64)},
    ElementType{"u8", "uint8", type(TypeCode::UInt, 8)},
    ElementType{"u16", "uint16", type(TypeCode::UInt, 16)},
    ElementType{"u32", "uint32", type(TypeCode::UInt, 32)},
    ElementType{"u64", "uint64", type(TypeCode::UInt, 64)},
    ElementType{"pred", "bool", type(TypeCode::Bool, 8)},
};

}  // namespace

const ExchangeApi* compatible_api(const ExchangeHeader* header) {
  while (header != nullptr && header->version.major > kMajorVersion) header = header->prev_api;
  if (header == nullptr || header->version.major != kMajorVersion) return nullptr;
  return reinterpret_cast<const ExchangeApi*>(header);
}

std::span<const ElementType> element_types() { return kTypes; }

const ElementType* find_element_type(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const ElementType& element : kTypes) {
    if (element.name == name || element.torch == name) return &element;
  }
  return nullptr;
}

const ElementType* find_element_type(DataType type) {
  for (const ElementType& element : kTypes) {
    if (element.type == type) return &element;
  }
  return nullptr;
}

bool is_contiguous(const Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  bool dense = true;
  for (std::int32_t i = tensor.ndim - 1; i >= 0; --i) {
    const std::int64_t extent = tensor.shape[i];
    if (extent == 0) return true;
    if (extent == 1) continue;
    dense = dense && tensor.strides[i] == expected;
    expected *= extent;
  }
  return dense;
}

std::uint64_t byte_count(DataType type, std::span<const std::int64_t> shape) {
  std::uint64_t bits = static_cast<std::uint64_t>(type.bits) * type.lanes;
  for (const std::int64_t extent : shape) bits *= static_cast<std::uint64_t>(extent);
  return (bits + 7) / 8;
}

}  // namespace pyptx::interop::dlpack
