// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <algorithm>
#include <string>

#include "pyptx/support/concat.h"

namespace pyptx::call {
namespace {

using diag::Kind;
using interop::ReadTensor;
using support::concat;

/// The output that the written tensor number `index` of a call is; the count of them where it is
/// none.
std::size_t output_of(const Core& core, const Arguments& call, std::size_t index) {
  const auto& outputs = core.signature().outputs;
  const std::string_view name = call.written[index].name;
  if (!name.empty()) {
    return static_cast<std::size_t>(std::ranges::find(outputs, name, &interop::Argument::name) -
                                    outputs.begin());
  }
  // Those without a name are the ones that nobody names, in order.
  std::size_t before = 0;
  for (std::size_t i = 0; i < index; ++i) before += call.written[i].name.empty() ? 1 : 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (std::ranges::count(call.written, outputs[i].name, &Arguments::Tag::name) != 0) continue;
    if (before-- == 0) return i;
  }
  return outputs.size();
}

}  // namespace

std::optional<std::span<const ReadTensor>> in_order(const Core& core, const Arguments& call,
                                                    TensorMemory& memory) {
  const std::size_t inputs = core.input_count();
  const std::size_t count = call.written.size();
  if (call.tensors.size() != inputs + count || core.signature().outputs.size() != count) {
    return std::nullopt;
  }
  bool is_plain = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Arguments::Tag& tag = call.written[i];
    is_plain = is_plain && tag.name.empty() && tag.role == core.role_of_output(i);
    if (tag.is_const) return std::nullopt;
  }
  if (is_plain) return call.tensors;
  std::uint64_t taken = 0;
  std::ranges::copy(call.tensors.first(inputs), memory.begin());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t output = output_of(core, call, i);
    if (output == count || call.written[i].role != core.role_of_output(output)) {
      return std::nullopt;
    }
    if ((taken >> output & 1) != 0) return std::nullopt;
    taken |= std::uint64_t{1} << output;
    memory[inputs + output] = call.tensors[inputs + i];
  }
  return std::span<const ReadTensor>(memory.data(), call.tensors.size());
}

diag::Result<std::span<const ReadTensor>> ordered(const Core& core, const Arguments& call,
                                                  TensorMemory& memory) {
  if (const auto found = in_order(core, call, memory)) return *found;
  const interop::Signature& signature = core.signature();
  const auto names = [](const std::vector<interop::Argument>& arguments) {
    std::string out;
    for (const auto& argument : arguments) out += concat(out.empty() ? "" : ", ", argument.name);
    return out.empty() ? "none" : out;
  };
  const std::size_t inputs = call.tensors.size() - call.written.size();
  if (inputs != core.input_count()) {
    const bool has_outputs =
        call.written.empty() && call.tensors.size() == signature.tensor_count();
    return diag::fail(
        Kind::ArrayCount,
        {signature.title(),
         concat("takes ", core.input_count(), core.input_count() == 1 ? " input (" : " inputs (",
                names(signature.inputs), ")"),
         concat("got ", inputs, has_outputs ? "; outputs are passed as out(...)" : "")});
  }
  for (std::size_t i = 0; i < call.written.size(); ++i) {
    const Arguments::Tag& tag = call.written[i];
    const std::size_t output = output_of(core, call, i);
    if (output == signature.outputs.size() && !tag.name.empty()) {
      return diag::fail(Kind::KeywordName,
                        {signature.title(), concat("has no output '", tag.name, "' (it has ",
                                                   names(signature.outputs), ")")});
    }
    if (output == signature.outputs.size()) break;  // too many
    const std::string what =
        concat(signature.title(), ": output '", signature.outputs[output].name, "'");
    if (tag.is_const) return diag::fail(Kind::ArrayMemory, {what, "is read-only"});
    const auto same = std::ranges::count(call.written, tag.name, &Arguments::Tag::name);
    if (!tag.name.empty() && same > 1) {
      return diag::fail(Kind::KeywordName, {what, "is given twice"});
    }
    if (tag.role != core.role_of_output(output)) {
      return diag::fail(Kind::ArgumentKind,
                        {what, tag.role == Role::Output
                                   ? "is read too, it is declared InOut: pass it as inout(...)"
                                   : "is declared Output: pass it as out(...)"});
    }
  }
  const std::size_t count = signature.outputs.size();
  return diag::fail(Kind::ArrayCount,
                    {signature.title(),
                     concat("has ", count, count == 1 ? " output (" : " outputs (",
                            names(signature.outputs), ")"),
                     concat("got ", call.written.size(), "; pass each as out(...) or inout(...)")});
}

}  // namespace pyptx::call
