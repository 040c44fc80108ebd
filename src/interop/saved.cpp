// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a saved kernel (see the header):
//   pyptx-kernel VERSION LENGTH SHA256    of all that follows this line
//   target sm_90a
//   plan pyptx-plan 1 ...                 the launch plan's own text
//   in DTYPE rows|columns BYTES [D0,D1] NAME   one line per input, then `out` lines
//   scalar TYPE BITS|- NAME               one line per run-time scalar: its default, or none
//   ptx LENGTH                            a line, that many bytes, a line's end
//   cubin TARGET LENGTH                   the same, any number of them
//   end
// Format 2 has scalars; what has none is written in format 1, which older libraries read.
// The reader is total: it accepts exactly what the writer writes.
#include "pyptx/interop/saved.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "pyptx/interop/registry.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/sha256.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

constexpr std::string_view kMagic = "pyptx-kernel";
constexpr std::uint64_t kVersion = 2;  // the newest

std::uint64_t version_of(const SavedKernel& kernel) { return kernel.scalars.empty() ? 1 : 2; }

support::Failure<diag::Diagnostic> bad(std::string why) {
  return diag::fail(Kind::SavedKernelBytes, {std::move(why)});
}

/// What a word of a line may be: without a space or a control character it cannot end early.
bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != 0x7f;
  });
}

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const char* begin = digits.data();
  const char* end = begin + digits.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stop != end || (digits.size() > 1 && digits[0] == '0')) {
    return std::nullopt;
  }
  return value;
}

/// The part of `rest` before `separator`; takes both off.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view out = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return out;
}

std::string tensor_line(std::string_view role, const SavedTensor& tensor) {
  std::string extents;
  for (const auto extent : tensor.shape) {
    extents += concat(extents.empty() ? "" : ",", extent);
  }
  return concat(role, " ", tensor.dtype, tensor.column_major ? " columns " : " rows ", tensor.bytes,
                " [", extents, "] ", tensor.name, "\n");
}

std::string scalar_line(const ScalarParameter& scalar) {
  const std::string value = scalar.value ? concat(*scalar.value) : "-";
  return concat("scalar ", scalar.type->name, " ", value, " ", scalar.name, "\n");
}

std::optional<ScalarParameter> read_scalar(std::string_view line) {
  ScalarParameter scalar;
  scalar.type = find_scalar_type(take(line, ' '));
  const std::string_view value = take(line, ' ');
  scalar.name = line;
  if (value != "-") scalar.value = number(value);
  const bool ok = scalar.type != nullptr && (value == "-" || scalar.value) && is_word(scalar.name);
  return ok ? std::optional(std::move(scalar)) : std::nullopt;
}

bool read_shape(std::string_view text, std::vector<std::int64_t>& shape) {
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2) return false;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const auto extent = number(take(text, ','));
    if (!extent || *extent > std::uint64_t{1} << 62) return false;
    shape.push_back(static_cast<std::int64_t>(*extent));
  }
  return true;
}

std::optional<SavedTensor> read_tensor(std::string_view line) {
  SavedTensor tensor;
  tensor.dtype = take(line, ' ');
  const std::string_view order = take(line, ' ');
  const auto bytes = number(take(line, ' '));
  const std::string_view shape = take(line, ' ');
  tensor.name = line;
  tensor.column_major = order == "columns";
  tensor.bytes = bytes.value_or(0);
  const bool ok = bytes.has_value() && (order == "rows" || order == "columns") &&
                  read_shape(shape, tensor.shape) && is_word(tensor.dtype) && is_word(tensor.name);
  return ok ? std::optional(std::move(tensor)) : std::nullopt;
}

/// With binaries an image of its own: nothing ties them to the text but the file's word, which must
/// not decide what other holders of the same text run.
std::shared_ptr<KernelImage> make_image(std::string_view ptx, std::string_view target,
                                        driver::LaunchPlan plan,
                                        const std::vector<SavedKernel::Binary>& binaries) {
  if (binaries.empty()) {
    return Registry::instance().intern(std::string(ptx), std::string(target), std::move(plan));
  }
  auto image = std::make_shared<KernelImage>(std::string(ptx), std::string(target), std::move(plan),
                                             nullptr);
  for (const SavedKernel::Binary& binary : binaries) {
    image->adopt_cubin(binary.target, binary.cubin);
  }
  return image;
}

/// Reads the lines after the first, whose bytes are known to be those that were written.
class Reader {
 public:
  explicit Reader(std::string_view body) : rest_(body) {}

  diag::Result<SavedKernel> kernel();

 private:
  /// A line that starts with `word` and a space, without them.
  std::optional<std::string_view> line(std::string_view word);
  std::optional<std::string_view> block(std::string_view length);
  diag::Status tensors(std::string_view role, std::vector<SavedTensor>& out);
  diag::Status scalars(std::vector<ScalarParameter>& out);
  diag::Status binaries(std::vector<SavedKernel::Binary>& out);

  std::string_view rest_;
};

std::optional<std::string_view> Reader::line(std::string_view word) {
  const std::size_t end = rest_.find('\n');
  if (end == std::string_view::npos || !rest_.starts_with(word) || rest_.size() <= word.size() ||
      rest_[word.size()] != ' ') {
    return std::nullopt;
  }
  const std::string_view out = rest_.substr(word.size() + 1, end - word.size() - 1);
  rest_.remove_prefix(end + 1);
  return out;
}

std::optional<std::string_view> Reader::block(std::string_view length) {
  const auto size = number(length);
  if (!size || *size >= rest_.size() || rest_[*size] != '\n') return std::nullopt;
  const std::string_view out = rest_.substr(0, *size);
  rest_.remove_prefix(*size + 1);
  return out;
}

diag::Status Reader::tensors(std::string_view role, std::vector<SavedTensor>& out) {
  while (const auto text = line(role)) {
    auto tensor = read_tensor(*text);
    if (!tensor) return bad(concat("'", role, " ", *text, "' describes no tensor"));
    out.push_back(std::move(*tensor));
  }
  return diag::success();
}

diag::Status Reader::scalars(std::vector<ScalarParameter>& out) {
  while (const auto text = line("scalar")) {
    auto scalar = read_scalar(*text);
    if (!scalar) return bad(concat("'scalar ", *text, "' describes no scalar"));
    out.push_back(std::move(*scalar));
  }
  return diag::success();
}

diag::Status Reader::binaries(std::vector<SavedKernel::Binary>& out) {
  while (auto head = line("cubin")) {
    const std::string_view target = take(*head, ' ');
    const auto cubin = block(*head);
    if (!cubin || !is_word(target)) return bad("one of its binaries is incomplete");
    out.push_back({std::string(target), std::string(*cubin)});
  }
  return diag::success();
}

diag::Result<SavedKernel> Reader::kernel() {
  SavedKernel out;
  const auto target = line("target");
  const auto plan_text = line("plan");
  if (!target || !is_word(*target) || !plan_text) return bad("it names no target or no plan");
  auto plan = driver::LaunchPlan::from_text(*plan_text);
  if (!plan) return plan.failure();
  if (auto why = plan->problem()) return diag::fail(std::move(*why));
  if (auto status = tensors("in", out.inputs); !status) return status.failure();
  if (auto status = tensors("out", out.outputs); !status) return status.failure();
  if (auto status = scalars(out.scalars); !status) return status.failure();
  const auto head = line("ptx");
  const auto ptx = head ? block(*head) : std::nullopt;
  if (!ptx) return bad("it has no PTX text");
  if (auto status = binaries(out.binaries); !status) return status.failure();
  if (rest_ != "end\n") return bad(concat("it ends in '", rest_.substr(0, 40), "'"));
  out.image = make_image(*ptx, *target, std::move(*plan), out.binaries);
  return out;
}

/// The first line, checked against what follows it; that.
diag::Result<std::string_view> checked_body(std::string_view bytes) {
  std::string_view rest = bytes;
  std::string_view head = take(rest, '\n');
  if (const std::string_view magic = take(head, ' '); magic != kMagic) {
    return bad(concat("it does not start with '", kMagic, "'"));
  }
  const auto version = number(take(head, ' '));
  if (!version) return bad("it does not say its version");
  if (*version > kVersion) {
    return diag::fail(Kind::SavedKernelVersion, {concat(*version), concat(kVersion)});
  }
  const auto length = number(take(head, ' '));
  if (*version == 0 || !length || head.size() != 64) return bad("its first line is damaged");
  if (rest.size() != *length) {
    return bad(
        concat("it was ", *length, " bytes long after its first line and now is ", rest.size()));
  }
  if (support::Sha256::hex(rest) != head) {
    return bad("its checksum is not that of its content, which was changed or damaged");
  }
  return rest;
}

/// Why these scalars are not those of the plan, or nothing.
std::optional<std::string> scalar_problem(const SavedKernel& kernel) {
  const driver::LaunchPlan& plan = kernel.image->plan();
  if (plan.argument_count() != kernel.scalars.size()) {
    return concat("its plan takes ", plan.argument_count(), " scalars, it names ",
                  kernel.scalars.size());
  }
  std::size_t index = 0;
  for (const driver::ParamSlot& slot : plan.params) {
    if (slot.kind != driver::ParamSlot::Kind::Argument) continue;
    const ScalarParameter& scalar = kernel.scalars[index++];
    const bool has_type = scalar.type != nullptr && scalar.type->size == slot.size;
    // A default with more bits than the type would be cut by a launch.
    const bool fits = has_type && scalar.value.value_or(0) >> (8 * slot.size - 1) <= 1;
    if (!is_word(scalar.name) || !fits) {
      return concat("scalar ", index - 1, " has no name, or a type or value of another size");
    }
  }
  return std::nullopt;
}

/// Why these tensors could not be read back, or nothing.
std::optional<std::string> problem(const SavedKernel& kernel) {
  if (kernel.image->plan().tensor_count != kernel.tensor_count()) {
    return concat("its plan counts ", kernel.image->plan().tensor_count, " tensors, it names ",
                  kernel.tensor_count());
  }
  const bool has_names =
      is_word(kernel.image->target()) &&
      std::all_of(kernel.binaries.begin(), kernel.binaries.end(),
                  [](const SavedKernel::Binary& binary) { return is_word(binary.target); });
  if (!has_names) return "a target is no name";
  for (std::size_t i = 0; i < kernel.tensor_count(); ++i) {
    const SavedTensor& tensor = kernel.tensor(i);
    const bool is_sized = std::none_of(tensor.shape.begin(), tensor.shape.end(),
                                       [](std::int64_t extent) { return extent < 0; });
    if (!is_word(tensor.name) || !is_word(tensor.dtype) || !is_sized) {
      return concat("tensor ", i, " has no name, no element type or a negative size");
    }
  }
  return scalar_problem(kernel);
}

}  // namespace

diag::Result<std::string> SavedKernel::to_bytes() const {
  if (const auto why = problem(*this)) return bad(*why);
  std::string body = concat("target ", image->target(), "\nplan ", image->plan().to_text(), "\n");
  for (const SavedTensor& tensor : inputs) body += tensor_line("in", tensor);
  for (const SavedTensor& tensor : outputs) body += tensor_line("out", tensor);
  for (const ScalarParameter& scalar : scalars) body += scalar_line(scalar);
  body += concat("ptx ", image->ptx().size(), "\n", image->ptx(), "\n");
  for (const Binary& binary : binaries) {
    body += concat("cubin ", binary.target, " ", binary.cubin.size(), "\n", binary.cubin, "\n");
  }
  body += "end\n";
  return concat(kMagic, " ", version_of(*this), " ", body.size(), " ", support::Sha256::hex(body),
                "\n", body);
}

diag::Result<SavedKernel> SavedKernel::from_bytes(std::string_view bytes) {
  const auto body = checked_body(bytes);
  if (!body) return diag::fail(body.error());
  auto kernel = Reader(*body).kernel();
  if (!kernel) return kernel;
  const auto again = kernel->to_bytes();
  if (!again) return diag::fail(again.error());
  if (*again != bytes) return bad("it says the same in other words than this library");
  return kernel;
}

}  // namespace pyptx::interop
