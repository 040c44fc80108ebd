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
// Format 3 is of kernels for any size (open_kernel.cpp).
// The reader is total: it accepts exactly what the writer writes.
#include "pyptx/interop/saved.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "pyptx/support/concat.h"
#include "saved_text.h"

namespace pyptx::interop {
namespace {

using support::concat;

std::uint64_t version_of(const SavedKernel& kernel) {
  if (kernel.inouts != 0 || !kernel.image->plan().fills.empty()) return kInOutVersion;
  return kernel.scalars.empty() ? kPlainVersion : kScalarVersion;
}

std::string tensor_line(std::string_view role, const SavedTensor& tensor) {
  std::vector<std::string> extents;
  extents.reserve(tensor.shape.size());
  for (const auto extent : tensor.shape) extents.push_back(concat(extent));
  return concat(role, " ", tensor.dtype, tensor.column_major ? " columns " : " rows ", tensor.bytes,
                " ", words_text(extents), " ", tensor.name, "\n");
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
  if (value != "-") scalar.value = read_number(value);
  const bool ok = scalar.type != nullptr && (value == "-" || scalar.value) && is_word(scalar.name);
  return ok ? std::optional(std::move(scalar)) : std::nullopt;
}

bool read_shape(std::string_view text, std::vector<std::int64_t>& shape) {
  const auto words = read_list(text);
  if (!words) return false;
  for (const std::string_view word : *words) {
    const auto extent = read_number(word);
    if (!extent || *extent > std::uint64_t{1} << 62) return false;
    shape.push_back(static_cast<std::int64_t>(*extent));
  }
  return true;
}

std::optional<SavedTensor> read_tensor(std::string_view line) {
  SavedTensor tensor;
  tensor.dtype = take(line, ' ');
  const std::string_view order = take(line, ' ');
  const auto bytes = read_number(take(line, ' '));
  const std::string_view shape = take(line, ' ');
  tensor.name = line;
  tensor.column_major = order == "columns";
  tensor.bytes = bytes.value_or(0);
  const bool ok = bytes.has_value() && (order == "rows" || order == "columns") &&
                  read_shape(shape, tensor.shape) && is_word(tensor.dtype) && is_word(tensor.name);
  return ok ? std::optional(std::move(tensor)) : std::nullopt;
}

diag::Status read_tensors(LineReader& lines, std::string_view role, std::vector<SavedTensor>& out) {
  while (const auto text = lines.line(role)) {
    auto tensor = read_tensor(*text);
    if (!tensor) return bad_bytes(concat("'", role, " ", *text, "' describes no tensor"));
    out.push_back(std::move(*tensor));
  }
  return diag::success();
}

diag::Status read_scalars(LineReader& lines, std::vector<ScalarParameter>& out) {
  while (const auto text = lines.line("scalar")) {
    auto scalar = read_scalar(*text);
    if (!scalar) return bad_bytes(concat("'scalar ", *text, "' describes no scalar"));
    out.push_back(std::move(*scalar));
  }
  return diag::success();
}

/// Reads the lines after the first, whose bytes are known to be those that were written.
diag::Result<SavedKernel> read_kernel(LineReader lines) {
  SavedKernel out;
  const auto target = lines.line("target");
  const auto plan_text = lines.line("plan");
  if (!target || !is_word(*target) || !plan_text) return bad_bytes("it names no target or no plan");
  auto plan = driver::LaunchPlan::from_text(*plan_text);
  if (!plan) return plan.failure();
  if (auto why = plan->problem()) return diag::fail(std::move(*why));
  if (auto status = read_tensors(lines, "in", out.inputs); !status) return status.failure();
  const std::size_t read_only = out.inputs.size();
  if (auto status = read_tensors(lines, "inout", out.inputs); !status) return status.failure();
  out.inouts = out.inputs.size() - read_only;
  if (auto status = read_tensors(lines, "out", out.outputs); !status) return status.failure();
  if (auto status = read_scalars(lines, out.scalars); !status) return status.failure();
  const auto ptx = lines.text(out.binaries);
  if (!ptx) return diag::fail(ptx.error());
  out.image = image_of_saved(*ptx, *target, std::move(*plan), nullptr, out.binaries);
  return out;
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
  if (kernel.is_empty) return "its grid is empty, there is no launch to save";
  if (kernel.inouts > kernel.inputs.size()) return "it has more in-out tensors than inputs";
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
  if (const auto why = problem(*this)) return bad_bytes(*why);
  std::string body = concat("target ", image->target(), "\nplan ", image->plan().to_text(), "\n");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    body += tensor_line(i < inputs.size() - inouts ? "in" : "inout", inputs[i]);
  }
  for (const SavedTensor& tensor : outputs) body += tensor_line("out", tensor);
  for (const ScalarParameter& scalar : scalars) body += scalar_line(scalar);
  return with_first_line(version_of(*this), body + text_lines(image->ptx(), binaries));
}

diag::Result<SavedKernel> SavedKernel::from_bytes(std::string_view bytes) {
  const auto checked = checked_body(bytes);
  if (!checked) return diag::fail(checked.error());
  if (is_open_version(checked->version)) {
    return bad_bytes("it is a kernel for any size, which OpenKernel reads");
  }
  auto kernel = read_kernel(LineReader(checked->body));
  if (!kernel) return kernel;
  const auto again = kernel->to_bytes();
  if (!again) return diag::fail(again.error());
  if (*again != bytes) return bad_bytes("it says the same in other words than this library");
  return kernel;
}

}  // namespace pyptx::interop
