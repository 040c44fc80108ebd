// SPDX-License-Identifier: Apache-2.0
//
// The part of DLPack's C ABI (version 1.x) that the call path uses: the tensor view and the C
// exchange API that a framework publishes as the capsule `dlpack_exchange_api` in the attribute
// `__dlpack_c_exchange_api__` of its tensor type. These are our own declarations of a public ABI;
// host-language objects are void*, so that this layer needs no host header. Ownership transfer of
// tensors between frameworks is not done here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pyptx::interop::dlpack {

/// The version that is spoken, and where a framework publishes its exchange.
inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";
inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";

/// Of the ABI.
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

/// Those of DLPack that are told apart here.
enum class DeviceType : std::int32_t { Cpu = 1, Cuda = 2 };

/// A device of a type, by its ordinal.
struct Device {
  DeviceType type;
  std::int32_t id;
  bool operator==(const Device&) const = default;
};

/// What the bits of an element mean.
enum class TypeCode : std::uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  Bfloat = 4,
  Complex = 5,
  Bool = 6,
  Float8E4m3fn = 10,
  Float8E5m2 = 12,
  Float8E8m0fnu = 14,
  Float4E2m1fn = 17,
};

/// The type of an element.
struct DataType {
  TypeCode code;
  std::uint8_t bits;
  std::uint16_t lanes;
  bool operator==(const DataType&) const = default;
};

/// A view: shape and strides belong to the producer. Strides count elements.
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

/// A tensor with what releases it.
struct ManagedTensor {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
  std::uint64_t flags;
  Tensor tensor;
};

/// How an exchange begins, in every version.
struct ExchangeHeader {
  Version version;
  const ExchangeHeader* prev_api;  // an older table, or null
};

/// Tells of a failure.
using SetError = void (*)(void* error_ctx, const char* kind, const char* message);

/// Functions return 0, or -1 with the host language's error set.
struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(Tensor* prototype, ManagedTensor** out, void* error_ctx, SetError set_error);
  int (*export_tensor)(void* object, ManagedTensor** out);
  int (*import_tensor)(ManagedTensor* tensor, void** out_object);  // steals the tensor
  int (*view)(void* object, Tensor* out);                          // non-owning; may be null
  int (*current_stream)(DeviceType device_type, std::int32_t device_id, void** out_stream);
};

/// The newest table reachable from `header` whose layout is the one above, or null.
const ExchangeApi* compatible_api(const ExchangeHeader* header);

/// An element type under its three names (isa/common/types.toml).
struct ElementType {
  std::string_view name;   // PTX: "bf16"
  std::string_view torch;  // attribute of the torch module: "bfloat16"
  DataType type;
};

/// All of them.
std::span<const ElementType> element_types();
/// By PTX or torch name; "torch.bfloat16" is accepted too.
const ElementType* find_element_type(std::string_view name);
const ElementType* find_element_type(DataType type);

/// Whether `tensor` is dense and row-major. The strides of dimensions of one element are free.
bool is_contiguous(const Tensor& tensor);
inline std::int64_t element_bytes(DataType type) { return (type.bits * type.lanes + 7) / 8; }
/// Bytes of a dense tensor of this shape.
std::uint64_t byte_count(DataType type, std::span<const std::int64_t> shape);

/// Whether two pieces of memory have a byte in common.
inline bool overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b,
                    std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes && a_bytes != 0 && b_bytes != 0;
}

static_assert(sizeof(Tensor) == 48 && offsetof(Tensor, shape) == 24);
static_assert(sizeof(ManagedTensor) == 80 && offsetof(ManagedTensor, tensor) == 32);
static_assert(offsetof(ExchangeApi, current_stream) == 48);

}  // namespace pyptx::interop::dlpack
