// SPDX-License-Identifier: Apache-2.0
//
// .npy files (NumPy's "NPY format", versions 1.0 and 2.0). See array.h.
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "array.h"
#include "element_type.h"

namespace pyptx::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// What stands behind `'key':` up to `stop`.
std::optional<std::string_view> field(std::string_view header, std::string_view key,
                                      std::string_view stop) {
  const std::string quoted = "'" + std::string(key) + "':";
  std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  at = header.find_first_not_of(' ', at + quoted.size());
  const std::size_t end = header.find(stop, at);
  if (at == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  return header.substr(at, end - at);
}

bool read_shape(std::string_view text, Array& array) {
  if (text.starts_with('(')) text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view extent = text.substr(0, comma);
    while (extent.starts_with(' ')) extent.remove_prefix(1);
    if (extent.empty()) break;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(extent.data(), extent.data() + extent.size(), value);
    if (error != std::errc() || end != extent.data() + extent.size()) return false;
    array.shape.push_back(value);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return true;
}

/// What is wrong with the file's bytes; empty: nothing.
std::string parse(std::string_view bytes, Array& array) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return "is not a .npy file";
  const bool is_first = bytes[6] == 1;
  const std::size_t start = is_first ? 10 : 12;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, is_first ? 2 : 4);
  if (bytes.size() < start + length) return "ends inside its header";
  const std::string_view header = bytes.substr(start, length);
  const auto descr = field(header, "descr", ",");
  const auto order = field(header, "fortran_order", ",");
  const auto shape = field(header, "shape", ")");
  if (!descr || !order || !shape || descr->size() < 3) return "has a header that is not understood";
  array.type = element_by_npy(descr->substr(1, descr->size() - 2));
  if (array.type == nullptr) return "has elements of type " + std::string(*descr);
  if (*order != "False") return "is in Fortran order";
  if (!read_shape(*shape, array)) return "has a header that is not understood";
  std::uint64_t size = array.type->bytes;
  for (const std::uint64_t extent : array.shape) size *= extent;
  const std::string_view data = bytes.substr(start + length);
  if (data.size() != size) {
    return "has " + std::to_string(data.size()) + " bytes of data where its shape has " +
           std::to_string(size);
  }
  array.bytes.resize(size);
  std::memcpy(array.bytes.data(), data.data(), size);
  return {};
}

}  // namespace

std::optional<Array> read_npy(const std::string& path, std::string& problem) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    problem = path + ": " + std::strerror(errno);
    return std::nullopt;
  }
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  Array array;
  const std::string wrong = parse(bytes, array);
  if (wrong.empty()) return array;
  problem = path + " " + wrong;
  return std::nullopt;
}

bool write_npy(const std::string& path, const Array& array, std::string& problem) {
  std::string header =
      "{'descr': '" + std::string(array.type->npy) + "', 'fortran_order': False, 'shape': (";
  for (const std::uint64_t extent : array.shape) header += std::to_string(extent) + ", ";
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << kMagic << '\x01' << '\x00';
  stream.write(reinterpret_cast<const char*>(&length), 2);
  stream << header;
  stream.write(reinterpret_cast<const char*>(array.bytes.data()),
               static_cast<std::streamsize>(array.bytes.size()));
  stream.close();
  if (stream) return true;
  problem = path + ": " + std::strerror(errno);
  return false;
}

}  // namespace pyptx::cli
