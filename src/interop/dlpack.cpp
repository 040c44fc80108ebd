// SPDX-License-Identifier: Apache-2.0
//
// Facts about DLPack tables, element types and dense layouts (see the header).
#include "pyptx/interop/dlpack.h"

#include <cstddef>
#include <vector>

#include "pyptx/isa/type.h"

namespace pyptx::interop::dlpack {
namespace {

// Only types that a tensor of torch, JAX or NumPy can have; the .bN types of PTX name no element.
std::vector<ElementType> make_types() {
  std::vector<ElementType> all;
  for (std::size_t i = 1; i < isa::kTypeCount; ++i) {
    const auto type = static_cast<isa::Type>(i);
    const isa::ElementInfo& element = isa::element(type);
    if (element.framework.empty()) continue;
    const auto code = static_cast<TypeCode>(element.dlpack_code);
    const auto bits = static_cast<std::uint8_t>(element.bits / element.lanes);
    all.push_back({isa::info(type).name, element.framework, {code, bits, element.lanes}});
  }
  return all;
}

}  // namespace

const ExchangeApi* compatible_api(const ExchangeHeader* header) {
  while (header != nullptr && header->version.major > kMajorVersion) header = header->prev_api;
  if (header == nullptr || header->version.major != kMajorVersion) return nullptr;
  return reinterpret_cast<const ExchangeApi*>(header);
}

std::span<const ElementType> element_types() {
  static const std::vector<ElementType> types = make_types();
  return types;
}

const ElementType* find_element_type(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const ElementType& element : element_types()) {
    if (element.name == name || element.torch == name) return &element;
  }
  return nullptr;
}

const ElementType* find_element_type(DataType type) {
  for (const ElementType& element : element_types()) {
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
