// SPDX-License-Identifier: Apache-2.0
#include "pyptx/call/view.h"

#include "pyptx/isa/ids.h"
#include "pyptx/support/concat.h"

namespace pyptx {
namespace call {
namespace {

/// Marks a type of PTX that DLPack has no code for; its `bits` are the type's number.
constexpr auto kOwnCode = static_cast<dlpack::TypeCode>(255);

using Codes = std::array<dlpack::DataType, isa::kTypeCount>;

Codes make_codes() {
  Codes out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string_view name = isa::info(static_cast<isa::Type>(i)).name;
    const dlpack::ElementType* known = i == 0 ? nullptr : dlpack::find_element_type(name);
    out[i] = known != nullptr ? known->type
                              : dlpack::DataType{kOwnCode, static_cast<std::uint8_t>(i), 1};
  }
  return out;
}

}  // namespace

static_assert(isa::kTypeCount <= 256);

dlpack::DataType data_type(isa::Type type) {
  static const Codes codes = make_codes();
  return codes[static_cast<std::size_t>(type)];
}

std::string type_name(dlpack::DataType type) {
  if (type.code == kOwnCode && type.bits != 0) {
    return std::string(isa::info(static_cast<isa::Type>(type.bits)).name);
  }
  const dlpack::ElementType* known = dlpack::find_element_type(type);
  if (known != nullptr) return std::string(known->name);
  return support::concat("DLPack's type ", int{static_cast<std::uint8_t>(type.code)}, " of ",
                         int{type.bits}, " bits");
}

}  // namespace call

TensorView::TensorView(std::uint64_t address, Extents shape, call::dlpack::DataType type,
                       call::dlpack::Device device, std::uint64_t room, bool is_const,
                       Extents strides)
    : address_(address),
      room_(room),
      device_(device),
      type_(type),
      rank_(static_cast<std::uint32_t>(shape.size())),
      is_const_(is_const) {
  // One that has more dimensions is refused by the call, which asks for the rank first.
  const std::size_t kept = std::min(shape.size(), call::kMostDimensions);
  std::copy_n(shape.begin(), kept, shape_.begin());
  std::uint64_t stride = 1;  // of a shape that nothing can have it wraps around
  for (std::size_t i = kept; i-- > 0;) {
    strides_[i] = i < strides.size() ? strides[i] : static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(shape_[i]);
  }
}

}  // namespace pyptx
