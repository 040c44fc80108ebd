// SPDX-License-Identifier: Apache-2.0
#include "parse_initializer.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "constant_expression.h"
#include "number.h"
#include "pyptx/isa/type.h"

namespace pyptx::syntax {
namespace {

using ir::InitialValue;

class InitializerParser {
 public:
  InitializerParser(ParseContext& context, ir::Variable& variable)
      : context_(context), cursor_(context.cursor), variable_(variable) {
    if (!variable.dimensions.empty()) {
      extents_ = variable.dimensions;
    } else if (variable.count) {
      extents_.push_back(*variable.count);
    }
    if (variable.vector != 0) extents_.push_back(variable.vector);
  }

  bool parse() {
    if (isa::info(variable_.type).kind == isa::TypeKind::Opaque) return properties();
    return extents_.empty() ? value() : level(0);
  }

 private:
  bool problem(std::string text) {
    const std::string name(context_.module.text(variable_.name));
    return cursor_.fail(diag::Diagnostic(diag::Kind::Initializer, {name, std::move(text)}));
  }
  bool push(const InitialValue& value) {
    variable_.initializer.push_back(value);
    return true;
  }

  // Dimensions are few, so recursion is shallow.
  bool level(std::size_t depth) {
    if (!cursor_.expect(TokenKind::BraceOpen)) return false;
    push({InitialValue::Kind::Open, 0, {}, 0});
    const std::uint64_t extent = extents_[depth];
    std::uint64_t given = 0;
    if (!cursor_.at(TokenKind::BraceClose)) {
      do {
        if (extent != 0 && given == extent) {
          return problem("more than " + std::to_string(extent) + " values");
        }
        ++given;
        const bool ok = depth + 1 != extents_.size() ? level(depth + 1) : value();
        if (!ok) return false;
      } while (cursor_.accept(TokenKind::Comma));
    }
    const bool is_vector = variable_.vector != 0 && depth + 1 == extents_.size();
    if (is_vector && given != extent) {
      return problem("a vector needs all of its " + std::to_string(extent) + " values");
    }
    if (!cursor_.expect(TokenKind::BraceClose)) return false;
    push({InitialValue::Kind::Close, 0, {}, 0});
    if (depth == 0 && extent == 0 && variable_.count) settle_size(given);
    return true;
  }

  void settle_size(std::uint64_t rows) {
    std::uint64_t count = rows;
    if (!variable_.dimensions.empty()) {
      variable_.dimensions.front() = rows;
      count = 1;
      for (const std::uint64_t extent : variable_.dimensions) count *= extent;
    }
    variable_.count = count;
  }

  // { addr_mode_0 = wrap, width = 4 }
  bool properties() {
    if (!cursor_.expect(TokenKind::BraceOpen)) return false;
    variable_.has_properties = true;
    if (cursor_.accept(TokenKind::BraceClose)) return true;
    do {
      if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("a property");
      ir::Property& property = variable_.properties.emplace_back();
      property.name = context_.intern(cursor_.text(cursor_.next()));
      if (!cursor_.expect(TokenKind::Equal)) return false;
      if (cursor_.at(TokenKind::Identifier)) {
        property.word = context_.intern(cursor_.text(cursor_.next()));
        continue;
      }
      const auto number = parse_integer_constant(cursor_);
      if (!number) return false;
      property.number = *number;
    } while (cursor_.accept(TokenKind::Comma));
    return cursor_.expect(TokenKind::BraceClose);
  }

  bool value() {
    const TokenKind kind = cursor_.kind();
    if (kind == TokenKind::Float32 || kind == TokenKind::Float64) {
      const std::uint64_t bits = hexadecimal_bits(cursor_.text());
      const auto stored = kind == TokenKind::Float32 ? from_single(static_cast<std::uint32_t>(bits))
                                                     : from_double(bits);
      if (!stored) return false;
      cursor_.next();
      return push(InitialValue::bits(*stored));
    }
    if (kind == TokenKind::Identifier && !cursor_.at_name("WARP_SZ")) return address(0);
    if (kind == TokenKind::Integer && cursor_.peek(1).kind == TokenKind::ParenOpen) return masked();
    const auto constant = parse_constant(cursor_);
    if (!constant) return false;
    if (constant->is_float()) {
      const auto stored = from_double(constant->bits);
      return stored && push(InitialValue::bits(*stored));
    }
    if (isa::info(variable_.type).kind == isa::TypeKind::Float) {
      return problem("a floating-point value is needed");
    }
    return push(InitialValue::bits(constant->integer()));
  }

  // 0xff00(sym): one byte of an address
  bool masked() {
    const std::uint64_t mask = parse_integer_literal(cursor_).value_or(0);
    const int byte = std::countr_zero(mask) / 8;
    if (mask == 0 || mask != std::uint64_t{0xFF} << (byte * 8)) {
      return problem("a mask is 0xff, 0xff00, 0xff0000, ...");
    }
    cursor_.next();
    return address(static_cast<std::uint8_t>(byte + 1)) && cursor_.expect(TokenKind::ParenClose);
  }

  // sym, sym+off, generic(sym), generic(sym)+off; no offset under a mask
  bool address(std::uint8_t byte) {
    InitialValue made{InitialValue::Kind::Address, byte, {}, 0};
    if (cursor_.at_name("generic") && cursor_.peek(1).kind == TokenKind::ParenOpen) {
      made.kind = InitialValue::Kind::Generic;
      cursor_.next();
      cursor_.next();
    }
    if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("a name");
    const std::string_view text = cursor_.text();
    const Name::Kind named = context_.names.find(text).kind;
    if (named == Name::Kind::None || named == Name::Kind::Register || named == Name::Kind::Label) {
      context_.undeclared(text, {cursor_.position(), cursor_.position() + 1});
    }
    made.symbol = context_.intern(text);
    cursor_.next();
    if (made.kind == InitialValue::Kind::Generic && !cursor_.expect(TokenKind::ParenClose)) {
      return false;
    }
    if (byte == 0 && cursor_.accept(TokenKind::Plus)) {
      const auto offset = parse_integer_constant(cursor_);
      if (!offset) return false;
      made.value = *offset;
    }
    return push(made);
  }

  // Bits are stored as they lie in memory, as the assembler does: a double given to 32 bits is
  // rounded, any other value is cut to the bits there are.
  std::optional<std::int64_t> from_double(std::uint64_t bits) {
    if (variable_.type == isa::Type::F32 || variable_.type == isa::Type::B32) {
      const auto single = static_cast<float>(std::bit_cast<double>(bits));
      return std::int64_t{std::bit_cast<std::uint32_t>(single)};
    }
    if (variable_.type == isa::Type::F64) return static_cast<std::int64_t>(bits);
    if (holds_bits()) return cut(bits);
    problem("a floating-point value for type ." + std::string(isa::info(variable_.type).name));
    return std::nullopt;
  }
  std::optional<std::int64_t> from_single(std::uint32_t bits) {
    if (variable_.type == isa::Type::F32) return std::int64_t{bits};
    if (holds_bits()) return cut(bits);
    return from_double(std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(bits)}));
  }

  bool holds_bits() const { return isa::info(variable_.type).kind == isa::TypeKind::Bits; }
  std::int64_t cut(std::uint64_t bits) const {
    const unsigned size = isa::info(variable_.type).bits;
    return static_cast<std::int64_t>(size < 64 ? bits & ((std::uint64_t{1} << size) - 1) : bits);
  }

  ParseContext& context_;
  Cursor& cursor_;
  ir::Variable& variable_;
  std::vector<std::uint64_t> extents_;
};

}  // namespace

bool parse_initializer(ParseContext& context, ir::Variable& variable) {
  return InitializerParser(context, variable).parse();
}

}  // namespace pyptx::syntax
