// SPDX-License-Identifier: Apache-2.0
//
// Lines of saved kernels (see the header).
#include "saved_text.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "pyptx/interop/registry.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/sha256.h"

namespace pyptx::interop {

using diag::Kind;
using support::concat;

namespace {

constexpr std::string_view kMagic = "pyptx-kernel";

}  // namespace

support::Failure<diag::Diagnostic> bad_bytes(std::string why) {
  return diag::fail(Kind::SavedKernelBytes, {std::move(why)});
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != 0x7f;
  });
}

std::optional<std::uint64_t> read_number(std::string_view digits) {
  std::uint64_t value = 0;
  const char* begin = digits.data();
  const char* end = begin + digits.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stop != end || (digits.size() > 1 && digits[0] == '0')) {
    return std::nullopt;
  }
  return value;
}

std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view out = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return out;
}

std::optional<std::vector<std::string_view>> read_list(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> out;
  while (!text.empty()) out.push_back(take(text, ','));
  return out;
}

std::string words_text(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& word : words) out += concat(out.size() == 1 ? "" : ",", word);
  return out + "]";
}

std::string with_first_line(std::uint64_t version, std::string_view body) {
  return concat(kMagic, " ", version, " ", body.size(), " ", support::Sha256::hex(body), "\n",
                body);
}

diag::Result<Checked> checked_body(std::string_view bytes) {
  std::string_view rest = bytes;
  std::string_view head = take(rest, '\n');
  if (const std::string_view magic = take(head, ' '); magic != kMagic) {
    return bad_bytes(concat("it does not start with '", kMagic, "'"));
  }
  const auto version = read_number(take(head, ' '));
  if (!version) return bad_bytes("it does not say its version");
  if (*version > kLastVersion) {
    return diag::fail(Kind::SavedKernelVersion, {concat(*version), concat(kLastVersion)});
  }
  const auto length = read_number(take(head, ' '));
  if (*version == 0 || !length || head.size() != 64) return bad_bytes("its first line is damaged");
  if (rest.size() != *length) {
    return bad_bytes(
        concat("it was ", *length, " bytes long after its first line and now is ", rest.size()));
  }
  if (support::Sha256::hex(rest) != head) {
    return bad_bytes("its checksum is not that of its content, which was changed or damaged");
  }
  return Checked{*version, rest};
}

std::optional<std::string_view> LineReader::line(std::string_view word) {
  const std::size_t end = rest_.find('\n');
  if (end == std::string_view::npos || !rest_.starts_with(word) || rest_.size() <= word.size() ||
      rest_[word.size()] != ' ') {
    return std::nullopt;
  }
  const std::string_view out = rest_.substr(word.size() + 1, end - word.size() - 1);
  rest_.remove_prefix(end + 1);
  return out;
}

std::optional<std::string_view> LineReader::block(std::string_view length) {
  const auto size = read_number(length);
  if (!size || *size >= rest_.size() || rest_[*size] != '\n') return std::nullopt;
  const std::string_view out = rest_.substr(0, *size);
  rest_.remove_prefix(*size + 1);
  return out;
}

diag::Status LineReader::read_binaries(std::vector<SavedKernel::Binary>& out) {
  while (auto head = line("cubin")) {
    const std::string_view target = take(*head, ' ');
    const auto cubin = block(*head);
    if (!cubin || !is_word(target)) return bad_bytes("one of its binaries is incomplete");
    out.push_back({std::string(target), std::string(*cubin)});
  }
  return diag::success();
}

diag::Result<std::string_view> LineReader::text(std::vector<SavedKernel::Binary>& binaries) {
  const auto head = line("ptx");
  const auto ptx = head ? block(*head) : std::nullopt;
  if (!ptx) return bad_bytes("it has no PTX text");
  if (auto status = read_binaries(binaries); !status) return status.failure();
  if (rest_ != "end\n") return bad_bytes(concat("it ends in '", rest_.substr(0, 40), "'"));
  return *ptx;
}

std::string text_lines(std::string_view ptx, const std::vector<SavedKernel::Binary>& binaries) {
  std::string out = concat("ptx ", ptx.size(), "\n", ptx, "\n");
  for (const SavedKernel::Binary& binary : binaries) {
    out += concat("cubin ", binary.target, " ", binary.cubin.size(), "\n", binary.cubin, "\n");
  }
  return out + "end\n";
}

std::shared_ptr<KernelImage> image_of_saved(std::string_view ptx, std::string_view target,
                                            driver::LaunchPlan plan,
                                            const std::shared_ptr<const ir::Module>& module,
                                            const std::vector<SavedKernel::Binary>& binaries) {
  if (binaries.empty()) {
    return Registry::instance().intern(std::string(ptx), std::string(target), std::move(plan),
                                       module);
  }
  auto image =
      std::make_shared<KernelImage>(std::string(ptx), std::string(target), std::move(plan), module);
  for (const SavedKernel::Binary& binary : binaries) {
    image->adopt_cubin(binary.target, binary.cubin);
  }
  return image;
}

}  // namespace pyptx::interop
