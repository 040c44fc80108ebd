// SPDX-License-Identifier: Apache-2.0
#include "cache_entry.h"

#include <charconv>

#include "pyptx/support/concat.h"
#include "pyptx/support/sha256.h"

namespace pyptx::driver {
namespace {

using support::concat;
using support::Sha256;

constexpr std::string_view kEntryMagic = "pyptx-cubin 2 ";

/// The line that begins a file, its newline included.
std::string head_of(std::string_view key, const CubinCache::Entry& entry) {
  Sha256 hash;
  for (const std::string_view part : {key, std::string_view(entry.compiler),
                                      std::string_view(entry.log), std::string_view(entry.cubin)}) {
    hash.field(part);
  }
  return concat(kEntryMagic, Sha256::hex(hash.finish()), " ", entry.compiler.size(), " ",
                entry.log.size(), " ", entry.cubin.size(), "\n");
}

/// The number that `text` begins with; it and one character after it are taken off.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop == text.data() + text.size()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  return value;
}

}  // namespace

std::string pack_entry(std::string_view key, const CubinCache::Entry& entry) {
  return concat(head_of(key, entry), entry.compiler, entry.log, entry.cubin);
}

std::optional<CubinCache::Entry> unpack_entry(std::string_view key, std::string_view bytes) {
  const auto end = bytes.find('\n');
  const auto sizes = kEntryMagic.size() + 2 * sizeof(Sha256::Digest) + 1;
  if (end == std::string_view::npos || sizes > end) return std::nullopt;
  std::string_view numbers = bytes.substr(sizes, end + 1 - sizes);
  std::string_view body = bytes.substr(end + 1);
  const auto compiler = take_number(numbers);
  const auto log = take_number(numbers);
  if (!compiler || !log || *compiler > body.size() || *log > body.size() - *compiler) {
    return std::nullopt;
  }
  CubinCache::Entry entry{std::string(body.substr(*compiler + *log)),
                          std::string(body.substr(*compiler, *log)),
                          std::string(body.substr(0, *compiler))};
  // Whatever the line said: it is right if it is the line of these parts.
  if (head_of(key, entry) != bytes.substr(0, end + 1)) return std::nullopt;
  return entry;
}

}  // namespace pyptx::driver
