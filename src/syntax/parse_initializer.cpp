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

constexpr std::size_t kMaxValues = std::size_t{1} << 24;

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
    if (extents_.empty()) {
      const auto single = value();
      if (!single) return false;
      variable_.initializer.push_back(*single);
      return true;
    }
    return level(0) && settle_size();
  }

 private:
  bool problem(std::string text) {
    const std::string name(context_.module.text(variable_.name));
    return cursor_.fail(diag::Diagnostic(diag::Kind::Initializer, {name, std::move(text)}));
  }

  std::size_t elements_below(std::size_t depth) const {
    std::size_t elements = 1;
    for (std::size_t i = depth + 1; i < extents_.size(); ++i) elements *= extents_[i];
    return elements;
  }

  // The manual fills a row that is given in part with zeros, ptxas packs the next row right behind
  // it: rows below the outermost level have to be whole, where the two agree.
  bool level(std::size_t depth) {
    if (!cursor_.expect(TokenKind::BraceOpen)) return false;
    const std::uint64_t extent = extents_[depth];
    std::uint64_t given = 0;
    do {
      if (extent != 0 && given == extent) {
        return problem("more than " + std::to_string(extent) + " values");
      }
      if (variable_.initializer.size() >= kMaxValues) {
        return problem("more values than can be held");
      }
      ++given;
      if (depth + 1 != extents_.size()) {
        if (!level(depth + 1)) return false;
        continue;
      }
      const auto one = value();
      if (!one) return false;
      variable_.initializer.push_back(*one);
    } while (cursor_.accept(TokenKind::Comma));
    if (depth != 0 && given != extent) {
      return problem("an inner row needs all of its " + std::to_string(extent) + " values");
    }
    return cursor_.expect(TokenKind::BraceClose);
  }

  bool settle_size() {
    if (extents_.front() != 0 || !variable_.count) return true;
    const std::size_t first = variable_.initializer.size() / elements_below(0);
    std::uint64_t count = first;
    if (!variable_.dimensions.empty()) {
      variable_.dimensions.front() = first;
      count = 1;
      for (const std::uint64_t extent : variable_.dimensions) count *= extent;
    }
    variable_.count = count;
    return true;
  }

  std::optional<std::int64_t> value() {
    const TokenKind kind = cursor_.peek().kind;
    if (kind == TokenKind::Float32 || kind == TokenKind::Float64) {
      const std::uint64_t bits = hexadecimal_bits(cursor_.text());
      const auto stored = kind == TokenKind::Float32 ? from_single(static_cast<std::uint32_t>(bits))
                                                     : from_double(bits);
      if (stored) cursor_.next();
      return stored;
    }
    if (!at_constant(cursor_)) {
      cursor_.fail(
          diag::Diagnostic(diag::Kind::UnsupportedSyntax, {"an address in an initialiser"}));
      return std::nullopt;
    }
    const auto constant = parse_constant(cursor_);
    if (!constant) return std::nullopt;
    if (constant->is_float()) return from_double(constant->bits);
    if (isa::info(variable_.type).kind == isa::TypeKind::Float) {
      problem("a floating-point value is needed");
      return std::nullopt;
    }
    return constant->integer();
  }

  // Bits are stored as they lie in memory: a double given to .f32 is rounded, as the assembler
  // does.
  std::optional<std::int64_t> from_double(std::uint64_t bits) {
    if (variable_.type == isa::Type::F32) {
      const auto single = static_cast<float>(std::bit_cast<double>(bits));
      return std::int64_t{std::bit_cast<std::uint32_t>(single)};
    }
    if (variable_.type == isa::Type::F64) return static_cast<std::int64_t>(bits);
    problem("a floating-point value for type ." + std::string(isa::info(variable_.type).name));
    return std::nullopt;
  }
  std::optional<std::int64_t> from_single(std::uint32_t bits) {
    if (variable_.type == isa::Type::F32) return std::int64_t{bits};
    return from_double(std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(bits)}));
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
