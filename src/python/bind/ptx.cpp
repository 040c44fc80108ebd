// SPDX-License-Identifier: Apache-2.0
//
// The functions of pyptx.ptx that are one instruction or a fixed few: ptx.inst, addresses,
// parameters, loads and stores, typed arithmetic forms.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/build/forms.h"
#include "pyptx/build/memory.h"
#include "pyptx/support/concat.h"
#include "trace/inst_node.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_ptx(nb::module_& m);
void bind_element(nb::module_& ptx);
void bind_expressions(nb::module_& ptx);
void bind_special(nb::module_& ptx);

namespace {

namespace forms = build::forms;
using namespace nb::literals;
using build::Reg;
using build::Tracer;
using support::concat;

std::string_view text_of(const std::optional<std::string>& text) {
  return text ? std::string_view(*text) : std::string_view{};
}

/// The place `base` names: an address, or what stands for one (a register, a name, an allocation).
Address to_address(Tracer& t, nb::handle base) {
  if (nb::isinstance<Address>(base)) return nb::cast<Address>(base);
  const ir::Operand operand = to_operand(t, base);
  if (operand.kind != ir::OperandKind::Address) return {operand, 0};
  return {t.function().children(operand)[0], operand.value};
}

/// base + offset in a fresh register; only a register can be added to.
ir::Operand sum(Tracer& t, ir::Operand base, Reg offset) {
  const bool is_ours = base.count == 0 || base.count == t.tag();
  if (base.kind != ir::OperandKind::Register || !is_ours) {
    t.report(diag::Diagnostic(
                 diag::Kind::BadArgument,
                 {"the base of an address with a register offset", "a register", "something else"})
                 .about("base")
                 .note("put the address into a register first: memory.address(), or mov"));
    return {};
  }
  const Reg reg{base.register_id(), t.type_of(base.register_id()), t.tag()};
  return build::binary(t, build::BinaryOp::Add, reg, offset);
}

/// [base + offset]; a register offset is added first, since PTX addresses have none. With parts
/// [base, part, ...]; a list in the offset's place is the one part.
Address make_address(nb::handle base, nb::handle offset, nb::handle parts) {
  return traced([&](Tracer& t) -> Address {
    Address place = to_address(t, base);
    if (t.has_error()) return place;
    const bool is_part = nb::isinstance<nb::list>(offset);
    if (is_part || !parts.is_none()) {
      place.parts = is_part ? nb::make_tuple(offset) : nb::tuple(parts);
      if (place.offset == 0 && (is_part ? parts.is_none() : offset.is_none())) return place;
      t.report(diag::Diagnostic(diag::Kind::BadArgument,
                                {"an address with parts", "no byte offset beside them", "both"})
                   .about("offset"));
      return place;
    }
    if (offset.is_none()) return place;
    const build::Value value = need_value(t, offset);
    if (t.has_error()) return place;
    if (value.reg() != nullptr) {
      place.base = sum(t, place.base, *value.reg());
    } else if (value.integer() != nullptr) {
      place.offset += *value.integer();
    } else {
      t.report(diag::Diagnostic(diag::Kind::BadArgument,
                                {"the byte offset of an address", "an integer", "a float"})
                   .about("offset"));
    }
    return place;
  });
}

ir::Operand address_operand(Tracer& t, nb::handle value) {
  const auto& place = nb::cast<Address&>(value);
  if (!place.parts.is_valid()) return t.address(place.base, place.offset);
  std::vector<ir::Operand> parts{place.base};
  for (const ir::Operand& part : to_operands(t, place.parts)) parts.push_back(part);
  return t.address(parts);
}

void bind_address(nb::module_& m, nb::module_& ptx) {
  nb::class_<Address> address(m, "Address", "A place in memory: [base+offset].");
  address.def_ro("offset", &Address::offset);
  register_operand(address, &address_operand);
  ptx.def("addr", &make_address, "base"_a, "offset"_a = nb::none(), nb::kw_only(),
          "parts"_a = nb::none(),
          "[base+offset], or [base, part, ...] as tensor copies and textures have: "
          "addr(map, [x, y]) is [map, {x, y}].");
}

nb::tuple global_pointers(nb::args tensors) {
  nb::list pointers;
  for (nb::handle tensor : tensors) {
    const std::string name = to_name(tensor);
    pointers.append(traced([&](Tracer& t) { return build::global_pointer(t, name); }));
  }
  return nb::tuple(pointers);
}

void bind_memory(nb::module_& ptx) {
  ptx.def("global_ptrs", &global_pointers, "tensors"_a,
          "The global addresses of tensors, one 64-bit register each.");
  ptx.def(
      "param",
      [](nb::handle type, const std::string& name, std::optional<Reg> dst) {
        return traced([&](Tracer& t) { return build::param(t, to_type(type), name, dst); });
      },
      "dtype"_a, "name"_a, "dst"_a = nb::none(), "The value of a kernel parameter.");
  ptx.def(
      "ld",
      [](nb::handle type, nb::handle dst, nb::handle addr, const std::string& space,
         const std::optional<std::string>& cache, nb::handle pred) {
        traced([&](Tracer& t) {
          build::load(t, to_type(type), to_operand(t, dst),
                      to_operand(t, addr, diag::Focus::argument("addr")), space, text_of(cache),
                      to_guard(t, pred));
        });
        return nb::borrow(dst);
      },
      "dtype"_a, "dst"_a, "addr"_a, nb::kw_only(), "space"_a = "global", "cache"_a = nb::none(),
      "pred"_a = nb::none(), "ld.<space>.<cache>.<dtype>; a list is a vector. Gives dst.");
  ptx.def(
      "st",
      [](nb::handle type, nb::handle addr, nb::handle src, const std::string& space,
         const std::optional<std::string>& cache, nb::handle pred) {
        traced([&](Tracer& t) {
          build::store(t, to_type(type), to_operand(t, addr),
                       to_operand(t, src, diag::Focus::argument("src")), space, text_of(cache),
                       to_guard(t, pred));
        });
      },
      "dtype"_a, "addr"_a, "src"_a, nb::kw_only(), "space"_a = "global", "cache"_a = nb::none(),
      "pred"_a = nb::none(), "st.<space>.<cache>.<dtype>");
  ptx.def(
      "var",
      [](const std::string& space, nb::handle type, const std::string& name,
         std::optional<std::uint64_t> size, std::optional<std::uint32_t> align,
         const std::optional<std::string>& linking) {
        return traced([&](Tracer& t) {
          return Address{build::variable(t, space, to_type(type), name, size, align.value_or(0),
                                         text_of(linking)),
                         0};
        });
      },
      "space"_a, "dtype"_a, "name"_a, nb::kw_only(), "size"_a = nb::none(), "align"_a = nb::none(),
      "linking"_a = nb::none(), "Declare a variable; gives its address.");
  nb::module_ cvta = ptx.def_submodule("cvta", "Generic addresses and back.");
  cvta.def(
      "param",
      [](nb::handle src, std::optional<Reg> dst) {
        return traced([&](Tracer& t) {
          return build::cvta_param(t, to_operand(t, src, diag::Focus::argument("src")), dst);
        });
      },
      "src"_a, "dst"_a = nb::none(), "cvta.param.u64");
  cvta.def(
      "to_global",
      [](nb::handle src, std::optional<Reg> dst) {
        return traced([&](Tracer& t) {
          return build::cvta_to_global(t, to_operand(t, src, diag::Focus::argument("src")), dst);
        });
      },
      "src"_a, "dst"_a = nb::none(), "cvta.to.global.u64");
}

/// opcode.type with the operands given; numbers take the type's literal form.
nb::object typed(std::string_view opcode, nb::handle type, nb::handle operands, nb::handle pred) {
  traced([&](Tracer& t) {
    const isa::Type named = to_type(type);
    const std::string text = forms::spelling(opcode, named);
    const auto spelling = isa::spell(text, isa::Detail::Verdict);
    std::vector<ir::Operand> list;
    for (nb::handle operand : operands) {
      const auto index = static_cast<std::uint16_t>(list.size());
      list.push_back(spelling ? to_operand_of(t, **spelling, index, operand)
                              : to_operand(t, operand, {diag::Focus::Part::Operand, index}));
    }
    forms::fit_literals(named, list);
    t.emit(text, list, to_guard(t, pred));
  });
  return nb::len(operands) > 0 ? nb::object(operands[0]) : nb::object(nb::none());
}

/// `is_shared`: values in the type's place are for an expression of that name
/// (ptx_expressions.cpp).
void form(nb::module_& ptx, const char* name, const std::string& opcode, bool is_shared = false) {
  ptx.def(
      name,
      [opcode, is_shared](nb::handle type, nb::args operands, nb::handle pred) {
        if (is_shared && is_value(type)) throw nb::next_overload();
        return typed(opcode, type, operands, pred);
      },
      "dtype"_a, "operands"_a, "pred"_a = nb::none(),
      concat(opcode, ".<dtype> destination, sources...").c_str());
}

nb::object convert(nb::handle dst_type, nb::handle src_type, nb::handle dst, nb::handle src,
                   const std::optional<std::string>& rounding, bool ftz, bool sat,
                   nb::handle pred) {
  const std::string spelling =
      forms::cvt(to_type(dst_type), to_type(src_type), {rounding.value_or(""), ftz, sat});
  return traced([&](Tracer& t) {
    t.emit(spelling, {to_operand(t, dst), to_operand(t, src, diag::Focus::argument("src"))},
           to_guard(t, pred));
    return nb::borrow(dst);
  });
}

void bind_arithmetic(nb::module_& ptx) {
  // one-place: names of functions that spell an instruction, which the table judges.
  for (const char* opcode : {"mov", "add", "sub", "shl", "shr", "neg"}) form(ptx, opcode, opcode);
  // one-place: likewise.
  for (const char* opcode : {"abs", "min", "max"}) form(ptx, opcode, opcode, true);
  form(ptx, "and_", "and");
  form(ptx, "or_", "or");
  form(ptx, "xor_", "xor");
  form(ptx, "not_", "not");
  form(ptx, "selp", "selp");
  ptx.def(
      "mul",
      [](nb::handle type, nb::args operands, const std::optional<std::string>& mode,
         nb::handle pred) { return typed(forms::mul(to_type(type), mode), type, operands, pred); },
      "dtype"_a, "operands"_a, "mode"_a = nb::none(), "pred"_a = nb::none(),
      "mul.<mode>.<dtype>; integers keep the low half where no mode is given.");
  ptx.def(
      "mad",
      [](nb::handle type, nb::args operands, const std::string& mode, nb::handle pred) {
        if (is_value(type)) throw nb::next_overload();
        return typed(forms::mad(to_type(type), mode), type, operands, pred);
      },
      "dtype"_a, "operands"_a, "mode"_a = "lo", "pred"_a = nb::none(),
      "mad.<mode>.<dtype>, or fma.rn for floats: d = a * b + c.");
  ptx.def(
      "setp",
      [](const std::string& comparison, nb::handle type, nb::args operands, nb::handle pred) {
        return typed(forms::setp(comparison), type, operands, pred);
      },
      "cmp"_a, "dtype"_a, "operands"_a, "pred"_a = nb::none(), "setp.<cmp>.<dtype> p, a, b");
  ptx.def("cvt", &convert, "dst_dtype"_a, "src_dtype"_a, "dst"_a, "src"_a,
          "rounding"_a = nb::none(), "ftz"_a = false, "sat"_a = false, "pred"_a = nb::none(),
          "cvt.<rounding>.<ftz>.<sat>.<dst_dtype>.<src_dtype> dst, src");
  bind_expressions(ptx);
}

}  // namespace

void bind_ptx(nb::module_& m) {
  nb::module_ ptx = m.def_submodule("ptx", "Instructions of the kernel being traced.");
  bind_inst(m);
  ptx.attr("inst") = nb::cast(InstNode{});
  bind_address(m, ptx);
  bind_special(ptx);
  bind_memory(ptx);
  bind_element(ptx);
  bind_arithmetic(ptx);
}

}  // namespace pyptx::python
