// SPDX-License-Identifier: Apache-2.0
//
// The lines of which the bytes of saved kernels are made, and the first one, which has a version, a
// length and a checksum. Private to the interop layer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/saved.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop {

/// Versions of the bytes: of a kernel without scalars, with scalars, and for any size; and of those
/// with in-out tensors or outputs that are filled first, for one size and for any.
inline constexpr std::uint64_t kPlainVersion = 1;
inline constexpr std::uint64_t kScalarVersion = 2;
inline constexpr std::uint64_t kOpenVersion = 3;
inline constexpr std::uint64_t kInOutVersion = 4;
inline constexpr std::uint64_t kOpenInOutVersion = 5;
inline constexpr std::uint64_t kLastVersion = kOpenInOutVersion;

inline bool is_open_version(std::uint64_t version) {
  return version == kOpenVersion || version == kOpenInOutVersion;
}

/// SavedKernelBytes.
support::Failure<diag::Diagnostic> bad_bytes(std::string why);

/// What a word of a line may be: without a space or a control character it cannot end early.
bool is_word(std::string_view text);
/// A number without signs and leading zeros.
std::optional<std::uint64_t> read_number(std::string_view digits);
/// The part of `rest` before `separator`; takes both off.
std::string_view take(std::string_view& rest, char separator);
/// Words between brackets: "[M,64]".
std::optional<std::vector<std::string_view>> read_list(std::string_view text);
std::string words_text(const std::vector<std::string>& words);

/// A body behind its first line.
std::string with_first_line(std::uint64_t version, std::string_view body);
/// What follows a first line that says the truth about it.
struct Checked {
  std::uint64_t version = 0;
  std::string_view body;
};
diag::Result<Checked> checked_body(std::string_view bytes);

/// The lines of a body, in their order.
class LineReader {
 public:
  explicit LineReader(std::string_view body) : rest_(body) {}

  /// A line that starts with `word` and a space, without them.
  std::optional<std::string_view> line(std::string_view word);
  /// As many bytes, and the end of a line behind them.
  std::optional<std::string_view> block(std::string_view length);
  /// The text behind `ptx`, the binaries, and the end: SavedKernelBytes.
  diag::Result<std::string_view> text(std::vector<SavedKernel::Binary>& binaries);

 private:
  diag::Status read_binaries(std::vector<SavedKernel::Binary>& out);

  std::string_view rest_;
};

/// The lines that LineReader::text reads.
std::string text_lines(std::string_view ptx, const std::vector<SavedKernel::Binary>& binaries);

/// An image of its own where there are binaries: nothing ties them to the text but the file's word,
/// which must not decide what other holders of the same text run.
std::shared_ptr<KernelImage> image_of_saved(std::string_view ptx, std::string_view target,
                                            driver::LaunchPlan plan,
                                            const std::shared_ptr<const ir::Module>& module,
                                            const std::vector<SavedKernel::Binary>& binaries);

/// The bytes of a file, and a file that has its name only once it is complete: SavedKernelFile.
diag::Result<std::string> read_saved_file(const std::string& path);
/// What `read` makes of those bytes; its errors name the file.
template <typename Read>
auto read_saved(const std::string& path, Read read) -> decltype(read(std::string_view())) {
  const auto bytes = read_saved_file(path);
  if (!bytes) return diag::fail(bytes.error());
  auto kernel = read(std::string_view(*bytes));
  if (!kernel) {
    return diag::fail(std::move(kernel.error()).note(support::concat("in the file ", path)));
  }
  return kernel;
}
diag::Status write_saved_file(const std::string& path, std::string_view bytes);

}  // namespace pyptx::interop
