// SPDX-License-Identifier: Apache-2.0
//
// The shared parts of the builder's tests, and the proof that they can fail.
#include "trace_support.h"

#include <array>

#include "ptxas.h"

namespace pyptx::build {
namespace {

std::uint64_t meaning(std::string_view opcode, const std::array<std::uint64_t, 3>& in) {
  const auto word = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  if (opcode == "mov.u32") return word(in[0]);
  if (opcode == "add.u32") return word(in[0] + in[1]);
  if (opcode == "mul.lo.u32") return word(in[0] * in[1]);
  if (opcode == "mad.lo.u32") return word(in[0] * in[1] + in[2]);
  if (opcode == "shr.u32") return word(in[0]) >> in[1];
  if (opcode == "shl.b32") return word(in[0] << in[1]);
  if (opcode == "and.b32") return word(in[0] & in[1]);
  if (opcode == "xor.b32") return word(in[0] ^ in[1]);
  if (opcode == "cvt.u64.u32") return word(in[0]);
  if (opcode == "or.b64") return in[0] | in[1];
  if (opcode == "add.s64") return in[0] + in[1];
  ADD_FAILURE() << "no meaning for " << opcode;
  return 0;
}

}  // namespace

std::string TraceTest::text_of(Tracer& finished) {
  const auto module = finished.finish();
  if (module) return syntax::print(**module);
  ADD_FAILURE() << module.error().code() << ": " << module.error().message();
  return {};
}

std::string TraceTest::refusal() {
  const auto error = tracer.take_error();
  return error ? std::string(error->code()) + ": " + error->message() : std::string();
}

std::optional<std::string> assemble(const std::string& text, const std::string& target) {
  const auto assembled = ask_ptxas(text, target);
  if (!assembled) return std::nullopt;
  return assembled->messages.empty() ? std::string() : assembled->messages + "\n" + text;
}

std::uint32_t evaluate(const Tracer& tracer, Reg wanted,
                       std::unordered_map<std::uint32_t, std::uint64_t> values) {
  const ir::Function& function = tracer.function();
  const auto value_of = [&](const ir::Operand& operand) -> std::uint64_t {
    if (operand.kind == ir::OperandKind::Register) return values[operand.index];
    if (operand.kind == ir::OperandKind::Symbol) return 0;  // blocks are taken to start at 0
    return static_cast<std::uint64_t>(operand.value);
  };
  std::size_t last = 0;  // the instruction that writes `wanted` for good
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const auto operands = function.operands_of(function.instructions[i]);
    if (!operands.empty() && operands[0] == ir::Operand::reg(wanted.id)) last = i + 1;
  }
  for (std::size_t at = 0; at < last; ++at) {
    const ir::Instruction& instruction = function.instructions[at];
    const auto operands = function.operands_of(instruction);
    std::array<std::uint64_t, 3> inputs{};
    for (std::size_t i = 1; i < operands.size() && i <= inputs.size(); ++i) {
      inputs[i - 1] = value_of(operands[i]);
    }
    values[operands[0].index] = meaning(instruction.spelling->text, inputs);
  }
  return static_cast<std::uint32_t>(values[static_cast<std::uint32_t>(wanted.id)]);
}

TEST_F(TraceTest, the_assembler_of_the_tests_refuses_nonsense) {
  tracer.raw("not.an.instruction;");
  const auto said = assemble(text());
  if (!said) GTEST_SKIP() << "no ptxas";
  EXPECT_THAT(*said, testing::HasSubstr("not.an.instruction"));
}

}  // namespace pyptx::build
