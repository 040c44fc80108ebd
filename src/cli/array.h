// SPDX-License-Identifier: Apache-2.0
//
// Arguments of a kernel as the command line spells them: scalars (`u32:7`), buffers
// (`f32[16x8]:random:3`, `f32[64]:@x.npy`, `@x.npy`), and the .npy files of NumPy, versions 1 and
// 2, little-endian, in C order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::cli {

/// How an element is spelled here and in a .npy file.
struct ElementType {
  std::string_view name;  // "f32"
  std::string_view npy;   // "<f4"
  std::uint32_t bytes;
  char kind;  // f: IEEE binary, h: bfloat16, u, s
};

struct Array {
  const ElementType* type = nullptr;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;

  std::uint64_t count() const { return type == nullptr ? 0 : bytes.size() / type->bytes; }
  /// Element `i` as text.
  std::string text(std::uint64_t i) const;
  /// "f32[16x8]"
  std::string describe() const;
};

struct KernelArgument {
  bool is_buffer = false;
  Array array;  // of a scalar: one element
};

/// Reads one `--arg`; nothing, with words in `problem`, when it is not one.
std::optional<KernelArgument> read_argument(std::string_view text, std::string& problem);

std::optional<Array> read_npy(const std::string& path, std::string& problem);
bool write_npy(const std::string& path, const Array& array, std::string& problem);

}  // namespace pyptx::cli
