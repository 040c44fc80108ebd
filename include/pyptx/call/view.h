// SPDX-License-Identifier: Apache-2.0
//
// What a call of a kernel brings: views of memory on the host or on a device, which of them it
// writes, scalars, and where it runs. A view owns nothing and is as good as the memory behind it.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "pyptx/interop/expected.h"
#include "pyptx/interop/scalar.h"
#include "pyptx/isa/type.h"

namespace pyptx {

namespace call {

namespace dlpack = interop::dlpack;

/// Dimensions that a view can have.
inline constexpr std::size_t kMostDimensions = 8;

/// The code of an element type, also of one that DLPack has no name for.
dlpack::DataType data_type(isa::Type type);
/// The type as pyptx.types has it, or words for one that PTX does not have.
std::string type_name(dlpack::DataType type);

/// Text is no tensor.
template <typename T>
concept Character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

/// The element type of a C++ type; None where there is none.
template <typename T>
constexpr isa::Type element_type() {
  if constexpr (std::same_as<T, float>) {
    return isa::Type::F32;
  } else if constexpr (std::same_as<T, double>) {
    return isa::Type::F64;
  } else if constexpr (std::same_as<T, std::byte>) {
    return isa::Type::U8;
  } else if constexpr (std::integral<T> && !std::same_as<T, bool> && !Character<T>) {
    constexpr std::array kUnsigned = {isa::Type::U8, isa::Type::U16, isa::Type::U32,
                                      isa::Type::U64};
    constexpr std::array kSigned = {isa::Type::S8, isa::Type::S16, isa::Type::S32, isa::Type::S64};
    constexpr std::size_t kWidth = sizeof(T) == 8 ? 3 : sizeof(T) / 2;
    return std::unsigned_integral<T> ? kUnsigned[kWidth] : kSigned[kWidth];
  } else {
    return isa::Type::None;
  }
}

}  // namespace call

/// A tensor: an address, element type, shape, strides, and the device that it is on.
class TensorView {
 public:
  using Extents = std::span<const std::int64_t>;
  /// Nobody knows how much memory is there.
  static constexpr std::uint64_t kAnyRoom = std::numeric_limits<std::int64_t>::max();

  TensorView() = default;
  /// Dense and row-major without `strides`, which count elements.
  TensorView(std::uint64_t address, Extents shape, call::dlpack::DataType type,
             call::dlpack::Device device, std::uint64_t room = kAnyRoom, bool is_const = false,
             Extents strides = {});

  std::size_t rank() const { return rank_; }
  std::int64_t shape(std::size_t dimension) const { return shape_[dimension]; }
  std::int64_t stride(std::size_t dimension) const { return strides_[dimension]; }
  std::uint64_t address() const { return address_; }
  bool is_const() const { return is_const_; }
  bool is_on_host() const { return device_.type == call::dlpack::DeviceType::Cpu; }

  /// The same as a call reads it; it points into this view.
  interop::ReadTensor read() const {
    interop::ReadTensor out;
    out.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));  // NOLINT
    out.device = device_;
    out.ndim = static_cast<std::int32_t>(rank_);
    out.dtype = type_;
    out.shape = const_cast<std::int64_t*>(shape_.data());
    out.strides = const_cast<std::int64_t*>(strides_.data());
    out.byte_offset = 0;
    out.room = static_cast<std::int64_t>(room_);
    return out;
  }

 private:
  std::uint64_t address_ = 0;
  std::uint64_t room_ = 0;
  call::dlpack::Device device_{call::dlpack::DeviceType::Cpu, 0};
  call::dlpack::DataType type_{};
  std::uint32_t rank_ = 0;
  bool is_const_ = false;
  std::array<std::int64_t, call::kMostDimensions> shape_{};
  std::array<std::int64_t, call::kMostDimensions> strides_{};
};

namespace call {

/// Memory that lies in one piece: a vector, an array, a span.
template <typename T>
concept Range =
    std::ranges::contiguous_range<T> && std::ranges::sized_range<T> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<T>> && !std::same_as<T, TensorView>;

/// Whether its elements may not be written.
template <Range T>
constexpr bool kIsConst =
    std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<T>>>;

/// A shape: numbers in braces, or in a vector, an array or a span.
class Extents {
 public:
  Extents(std::initializer_list<std::int64_t> numbers)  // NOLINT(*-explicit-*)
      : numbers_(numbers.begin(), numbers.size()) {}
  template <std::convertible_to<TensorView::Extents> T>
  Extents(const T& numbers) : numbers_(numbers) {}           // NOLINT(*-explicit-*)
  operator TensorView::Extents() const { return numbers_; }  // NOLINT(*-explicit-*)

 private:
  TensorView::Extents numbers_;
};

/// The host, which the emulator is.
inline constexpr dlpack::Device kHost{dlpack::DeviceType::Cpu, 0};

/// The element type that a type of C++ has in PTX.
template <typename T>
constexpr isa::Type element_type_of() {
  constexpr isa::Type kType = element_type<std::remove_cv_t<T>>();
  static_assert(kType != isa::Type::None,
                "elements of this C++ type have no type in PTX: name it, host(x, {n}, bf16)");
  return kType;
}

}  // namespace call

// --- views of host memory, on which kernels run in the emulator ----------------------------------

/// A contiguous range as a vector of its elements.
template <call::Range T>
TensorView host(T&& range) {
  using Element = std::ranges::range_value_t<T>;
  const auto size = static_cast<std::int64_t>(std::ranges::size(range));
  return {reinterpret_cast<std::uintptr_t>(std::ranges::data(range)),
          TensorView::Extents(&size, 1),
          call::data_type(call::element_type_of<Element>()),
          call::kHost,
          std::ranges::size(range) * sizeof(Element),
          call::kIsConst<T>};
}
/// The same with a shape, and with a type where C++ has none of it: host(x, {rows, 64}, bf16).
template <call::Range T>
TensorView host(T&& range, call::Extents shape, isa::Type type) {
  return {reinterpret_cast<std::uintptr_t>(std::ranges::data(range)),
          shape,
          call::data_type(type),
          call::kHost,
          std::ranges::size(range) * sizeof(std::ranges::range_value_t<T>),
          call::kIsConst<T>};
}
template <call::Range T>
TensorView host(T&& range, call::Extents shape) {
  return host(range, shape, call::element_type_of<std::ranges::range_value_t<T>>());
}
/// Memory whose size nobody can check.
template <typename T>
TensorView host(T* memory, call::Extents shape, isa::Type type) {
  return {reinterpret_cast<std::uintptr_t>(memory),
          shape,
          call::data_type(type),
          call::kHost,
          TensorView::kAnyRoom,
          std::is_const_v<T>};
}
template <typename T>
TensorView host(T* memory, call::Extents shape) {
  return host(memory, shape, call::element_type_of<T>());
}

// --- views of a device's memory ------------------------------------------------------------------

/// Which device, and how its elements lie.
struct DeviceOptions {
  int ordinal = 0;
  std::initializer_list<std::int64_t> strides = {};  // in elements; none: dense, row-major
};

/// A device's memory by its address, whose size nobody can check.
inline TensorView device(std::uint64_t address, call::Extents shape, isa::Type type,
                         const DeviceOptions& options = {}) {
  return {address,
          shape,
          call::data_type(type),
          {call::dlpack::DeviceType::Cuda, options.ordinal},
          TensorView::kAnyRoom,
          false,
          TensorView::Extents(options.strides.begin(), options.strides.size())};
}
template <typename T>
  requires(!std::is_void_v<T>)
TensorView device(T* memory, call::Extents shape, isa::Type type = call::element_type_of<T>(),
                  const DeviceOptions& options = {}) {
  return {reinterpret_cast<std::uintptr_t>(memory),
          shape,
          call::data_type(type),
          {call::dlpack::DeviceType::Cuda, options.ordinal},
          TensorView::kAnyRoom,
          std::is_const_v<T>,
          TensorView::Extents(options.strides.begin(), options.strides.size())};
}
/// Of something that knows its address, its size and its device: pyptx::DeviceMemory.
template <typename Memory>
  requires requires(const Memory& memory) {
    { memory.address() } -> std::convertible_to<std::uint64_t>;
    { memory.bytes() } -> std::convertible_to<std::uint64_t>;
    { memory.device() } -> std::convertible_to<int>;
  }
TensorView device(const Memory& memory, call::Extents shape, isa::Type type) {
  return {memory.address(),
          shape,
          call::data_type(type),
          {call::dlpack::DeviceType::Cuda, memory.device()},
          memory.bytes()};
}

// --- tensors of others ---------------------------------------------------------------------------

/// A tensor of DLPack's C ABI: a DLTensor of anybody's header, or ours.
template <typename T>
  requires requires(const T& tensor) {
    tensor.data, tensor.ndim, tensor.dtype.bits, tensor.shape, tensor.strides, tensor.byte_offset;
    tensor.device;
  }
TensorView dlpack(const T& tensor, bool is_const = false) {
  call::dlpack::Device place = call::kHost;
  if constexpr (requires { tensor.device.device_type; }) {
    place = {static_cast<call::dlpack::DeviceType>(tensor.device.device_type),
             tensor.device.device_id};
  } else {
    place = {tensor.device.type, tensor.device.id};
  }
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  const call::dlpack::DataType type{static_cast<call::dlpack::TypeCode>(tensor.dtype.code),
                                    tensor.dtype.bits, tensor.dtype.lanes};
  return {reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset,
          TensorView::Extents(tensor.shape, rank),
          type,
          place,
          TensorView::kAnyRoom,
          is_const,
          tensor.strides == nullptr ? TensorView::Extents()
                                    : TensorView::Extents(tensor.strides, rank)};
}
/// A DLManagedTensor, or one with a version, whose flags say whether it may be written.
template <typename T>
  requires requires(const T& managed) { managed.dl_tensor; }
TensorView dlpack(const T& managed) {
  if constexpr (requires { managed.flags; }) {
    return dlpack(managed.dl_tensor, (managed.flags & 1U) != 0);
  } else {
    return dlpack(managed.dl_tensor);
  }
}

// --- what else a call brings ---------------------------------------------------------------------

namespace call {

/// Whether a kernel reads a tensor, writes it, or both.
enum class Role : std::uint8_t { Input, InOut, Output };

/// A tensor that the kernel writes.
struct Written {
  TensorView view;
  std::string_view name;  // empty: the next one that is declared
  Role role;
};

/// A view of what may be written.
template <typename T>
TensorView writable(T&& memory) {
  if constexpr (std::same_as<std::remove_cvref_t<T>, TensorView>) {
    return memory;
  } else if constexpr (!Range<T>) {
    static_assert(Range<T>, "out() and inout() take a view (host, device, dlpack) or a vector");
    return {};
  } else {
    static_assert(!kIsConst<T>, "out() and inout() take memory that may be written");
    return host(memory);
  }
}

/// A scalar by its name.
struct NamedNumber {
  std::string_view name;
  interop::Number value;
};

/// Where a call runs.
struct Place {
  void* stream = nullptr;
  int device = -1;  // -1: where the tensors are
};

}  // namespace call

/// An output of a call, in the order of the declaration or by name.
template <typename T>
call::Written out(T&& memory) {
  return {call::writable(memory), {}, call::Role::Output};
}
template <typename T>
call::Written out(std::string_view name, T&& memory) {
  return {call::writable(memory), name, call::Role::Output};
}
/// A tensor that the kernel reads and writes.
template <typename T>
call::Written inout(T&& memory) {
  return {call::writable(memory), {}, call::Role::InOut};
}
template <typename T>
call::Written inout(std::string_view name, T&& memory) {
  return {call::writable(memory), name, call::Role::InOut};
}

/// A scalar of the kernel by its name: k(x, out(y), arg("alpha", 2.0)).
inline call::NamedNumber arg(std::string_view name, interop::Number value) { return {name, value}; }

/// The stream of a launch (a CUstream); else it is the device's default stream. A kernel without
/// tensors has its device from here.
inline call::Place on(void* stream, int device = -1) { return {stream, device}; }
/// pyptx::Stream, which knows its device.
template <typename Stream>
  requires requires(const Stream& stream) {
    { stream.handle() } -> std::convertible_to<void*>;
    { stream.device() } -> std::convertible_to<int>;
  }
call::Place on(const Stream& stream) {
  return {stream.handle(), stream.device()};
}

}  // namespace pyptx
