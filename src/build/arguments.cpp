// SPDX-License-Identifier: Apache-2.0
//
// See arguments.h.
#include "arguments.h"

#include "pyptx/support/concat.h"

namespace pyptx::build {

using diag::Kind;
using ir::Operand;
using support::concat;

std::string words(const Reg& reg) {
  return concat("a register of type ", isa::info(reg.type).name);
}

std::string words(const Index& value) {
  return value.is_constant() ? std::to_string(value.value) : words(*value.reg);
}

bool refuse(Tracer& tracer, const Argument& what, std::string_view wanted, std::string got) {
  tracer.report(diag::Diagnostic(Kind::BadArgument,
                                 {std::string(what.words), std::string(wanted), std::move(got)})
                    .about(what.parameter, what.element));
  return false;
}

bool check_choice(Tracer& tracer, const Argument& what, std::int64_t value, std::int64_t first,
                  std::int64_t second) {
  if (value == first || value == second) return true;
  return refuse(tracer, what, concat(first, " or ", second), std::to_string(value));
}

bool check_range(Tracer& tracer, const Argument& what, std::int64_t value, std::int64_t lowest,
                 std::int64_t highest) {
  if (value >= lowest && value <= highest) return true;
  return refuse(tracer, what, concat("within ", lowest, " to ", highest), std::to_string(value));
}

bool check_wide(Tracer& tracer, const Argument& what, const Reg& reg) {
  if (isa::info(reg.type).bits == 64) return true;
  return refuse(tracer, what, "a 64-bit register", words(reg));
}

bool check_place(Tracer& tracer, const SharedPlace& place, std::uint32_t align,
                 const Argument& what) {
  if (place.offset % align == 0) return true;
  const bool has_name = place.block && place.owner == tracer.tag();
  tracer.report(
      diag::Diagnostic(Kind::SharedAlignment,
                       {has_name ? concat("'", tracer.shared_block(*place.block).name, "'")
                                 : std::string("the address"),
                        std::to_string(place.offset & -place.offset), std::string(what.words),
                        std::to_string(align)})
          .about(what.parameter, what.element));
  return false;
}

ir::Operand vector_of(Tracer& tracer, std::span<const Reg> registers) {
  const std::vector<Operand> operands(registers.begin(), registers.end());
  return tracer.vector(operands);
}

ir::Operand vector_of(Tracer& tracer, std::span<const Index> values) {
  std::vector<Operand> operands;
  for (const Index& value : values) operands.push_back(value.operand());
  return tracer.vector(operands);
}

Reg as_predicate(Tracer& tracer, const std::variant<bool, Reg>& flag, const Argument& what) {
  const Reg* given = std::get_if<Reg>(&flag);
  if (given != nullptr && given->type == isa::Type::Pred) return *given;
  const Reg is_set = tracer.reg(isa::Type::Pred);
  if (given != nullptr && isa::info(given->type).bits != 32) {
    refuse(tracer, what, "a bool, a predicate or a 32-bit register", words(*given));
    return is_set;
  }
  const Operand value =
      given != nullptr ? Operand(*given) : Operand::integer(std::get<bool>(flag) ? 1 : 0);
  tracer.emit("setp.ne.u32", {is_set, value, Operand::integer(0)});
  return is_set;
}

std::optional<ir::Operand> cta_mask(Tracer& tracer, const Index& mask) {
  if (mask.is_constant()) {
    if (mask.value > 0 && mask.value <= 0xFFFF) return mask.operand();
  } else if (isa::info(mask.reg->type).bits == 16) {
    return mask.operand();
  } else if (isa::info(mask.reg->type).bits == 32) {
    const Reg narrow = tracer.reg(isa::Type::U16);
    tracer.emit("cvt.u16.u32", {narrow, *mask.reg});
    return Operand(narrow);
  }
  refuse(tracer, {"the multicast mask", "multicast_mask|mask"}, "1 to 65535 or a 16-bit register",
         words(mask));
  return std::nullopt;
}

bool is_spelling(std::string_view text) {
  return isa::find_spelling(text) != nullptr || isa::spell(text, isa::Detail::Verdict).ok();
}

std::string spelled(std::string_view stem, std::span<const std::string_view> endings) {
  for (const std::string_view ending : endings) {
    std::string text = concat(stem, ending);
    if (is_spelling(text)) return text;
  }
  return concat(stem, endings.front());
}

}  // namespace pyptx::build
