// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/forms.h"

#include <vector>

#include "pyptx/author/call.h"
#include "pyptx/build/memory.h"

namespace pyptx::ptx {
namespace {

namespace forms = build::forms;

/// The instruction that is spelled so; of one type, its integers fitted to that.
Reg spelled(std::string_view spelling, Operands operands, const Guard& guard, const Where& where,
            std::optional<isa::Type> type = {}) {
  build::Tracer& tracer = author::at_instruction(where);
  const auto known = isa::spell(spelling);
  if (!known) {
    tracer.report(known.error());
    return {};
  }
  std::vector<ir::Operand> all;
  for (const author::Any& operand : operands) {
    const auto index = static_cast<std::uint16_t>(all.size());
    all.push_back(author::resolved(tracer, **known, operand, index));
  }
  if (type) forms::fit_literals(*type, all);
  tracer.emit(*known, all, guard);
  return operands.size() == 0 ? Reg() : author::register_of(*operands.begin());
}

Reg typed(std::string_view opcode, isa::Type type, Operands operands, const Guard& guard,
          const Where& where) {
  return spelled(forms::spelling(opcode, type), operands, guard, where, type);
}

}  // namespace

Reg instruction(std::string_view spelling, Operands operands, const Guard& guard, Where where) {
  return spelled(spelling, operands, guard, where);
}

// The language has no other way to say "the same for each opcode".
#define PYPTX_FORM(function, opcode)                                                 \
  Reg function(isa::Type type, Operands operands, const Guard& guard, Where where) { \
    return typed(opcode, type, operands, guard, where);                              \
  }
PYPTX_FORM(mov, "mov")
PYPTX_FORM(add, "add")
PYPTX_FORM(sub, "sub")
PYPTX_FORM(neg, "neg")
PYPTX_FORM(abs, "abs")
PYPTX_FORM(min, "min")
PYPTX_FORM(max, "max")
PYPTX_FORM(shl, "shl")
PYPTX_FORM(shr, "shr")
PYPTX_FORM(and_, "and")
PYPTX_FORM(or_, "or")
PYPTX_FORM(xor_, "xor")
PYPTX_FORM(not_, "not")
PYPTX_FORM(selp, "selp")
#undef PYPTX_FORM

Reg mul(isa::Type type, Operands operands, const std::optional<std::string>& mode,
        const Guard& guard, Where where) {
  return typed(forms::mul(type, mode), type, operands, guard, where);
}

Reg mad(isa::Type type, Operands operands, std::string_view mode, const Guard& guard, Where where) {
  return typed(forms::mad(type, mode), type, operands, guard, where);
}

Reg setp(std::string_view comparison, isa::Type type, Operands operands, const Guard& guard,
         Where where) {
  return typed(forms::setp(comparison), type, operands, guard, where);
}

Reg cvt(isa::Type to, isa::Type from, Operands operands, const Conversion& how, const Guard& guard,
        Where where) {
  return instruction(forms::cvt(to, from, how), operands, guard, where);
}

Reg ld(isa::Type type, const Any& destination, const Any& address, const AccessOptions& options,
       Where where) {
  build::Tracer& tracer = author::at(where);
  build::load(tracer, type, author::resolved(tracer, destination),
              author::resolved(tracer, address, 1), options.space, options.cache, options.guard);
  return author::register_of(destination);
}

void st(isa::Type type, const Any& address, const Any& source, const AccessOptions& options,
        Where where) {
  build::Tracer& tracer = author::at(where);
  build::store(tracer, type, author::resolved(tracer, address), author::resolved(tracer, source, 1),
               options.space, options.cache, options.guard);
}

}  // namespace pyptx::ptx
