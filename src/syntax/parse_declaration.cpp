// SPDX-License-Identifier: Apache-2.0
#include "parse_declaration.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constant_expression.h"
#include "parse_initializer.h"
#include "pyptx/isa/type.h"

namespace pyptx::syntax {
namespace {

constexpr std::size_t kMaxDimensions = 64;
constexpr std::uint64_t kMaxRun = std::numeric_limits<std::int32_t>::max();

std::uint8_t accept_vector(Cursor& cursor) {
  if (cursor.accept_word(".v2")) return 2;
  if (cursor.accept_word(".v4")) return 4;
  return 0;
}

class DeclarationParser {
 public:
  explicit DeclarationParser(ParseContext& context) : context_(context), cursor_(context.cursor) {}

  /// A prototype may have them in .param; a definition may not, which is for verify to say.
  bool takes_predicates = false;

  // .space {.attribute(..) | .align N} [.vN] .type
  bool specifiers(ir::Variable& variable) {
    const auto space = cursor_.at(TokenKind::DotWord) ? space_of(cursor_.text()) : std::nullopt;
    if (!space) return cursor_.fail_expected("a state space");
    variable.space = *space;
    cursor_.next();
    while (true) {
      if (cursor_.at_word(".attribute")) {
        if (!parse_attributes(context_, variable.attributes)) return false;
      } else if (cursor_.at_word(".align")) {
        if (!alignment(variable.align)) return false;
      } else {
        break;
      }
    }
    variable.vector = accept_vector(cursor_);
    return type(variable);
  }

  // [.ptr [.space] [.align N]]
  bool pointer(ir::Variable& variable) {
    if (!cursor_.accept_word(".ptr")) return true;
    ir::PointerAttribute attribute;
    if (cursor_.at(TokenKind::DotWord)) {
      attribute.space = space_of(cursor_.text());
      if (attribute.space) cursor_.next();
    }
    if (cursor_.at_word(".align") && !alignment(attribute.align)) return false;
    variable.pointer = attribute;
    return true;
  }

  // name[2][4] or name<4>
  bool declarator(ir::Variable& variable, bool is_parameter, bool may_be_unnamed) {
    const std::uint32_t first = cursor_.position();
    const bool unnamed = may_be_unnamed && cursor_.at(TokenKind::Underscore);
    if (!cursor_.at(TokenKind::Identifier) && !unnamed) return cursor_.fail_expected("a name");
    variable.name = context_.intern(cursor_.text(cursor_.next()));
    if (!is_parameter && cursor_.at(TokenKind::Less)) {
      variable.run = parse_run(context_);
      variable.loc = cursor_.loc(cursor_.since(first));
      return variable.run.has_value();
    }
    variable.loc = cursor_.loc(cursor_.since(first));
    if (!cursor_.at(TokenKind::BracketOpen)) return true;
    std::vector<std::uint64_t> extents;
    while (cursor_.accept(TokenKind::BracketOpen)) {
      if (extents.size() == kMaxDimensions) {
        return cursor_.fail(
            diag::Diagnostic(diag::Kind::NestingTooDeep, {std::to_string(kMaxDimensions)}));
      }
      if (extents.empty() && cursor_.accept(TokenKind::BracketClose)) {
        extents.push_back(0);
        continue;
      }
      const auto extent = parse_integer_literal(cursor_);
      if (!extent || !cursor_.expect(TokenKind::BracketClose)) return false;
      extents.push_back(*extent);
    }
    variable.loc = cursor_.loc(cursor_.since(first));
    return set_extents(variable, extents, cursor_.since(first));
  }

  bool alignment(std::uint32_t& align) {
    cursor_.next();
    const std::uint32_t first = cursor_.position();
    const auto value = parse_integer_literal(cursor_);
    if (!value) return false;
    if (!std::has_single_bit(*value) || *value > std::numeric_limits<std::uint32_t>::max()) {
      return cursor_.fail(
          diag::Diagnostic(diag::Kind::DirectiveValue,
                           {".align", "a power of two below 2^32", std::to_string(*value)}),
          cursor_.since(first));
    }
    align = static_cast<std::uint32_t>(*value);
    return true;
  }

 private:
  bool type(ir::Variable& variable) {
    if (!cursor_.at(TokenKind::DotWord)) return cursor_.fail_expected("a type");
    const std::string_view word = cursor_.text();
    const auto found = isa::find_type(word.substr(1));
    const bool is_register = variable.space == ir::Space::Register;
    const bool storable =
        found && (is_register ? isa::info(*found).is_register
                              : isa::info(*found).bits >= 8 ||
                                    (takes_predicates && *found == isa::Type::Pred));
    if (!storable) {
      return cursor_.fail(
          diag::Diagnostic(diag::Kind::UnknownType, {std::string(word), "a variable"}));
    }
    variable.type = *found;
    cursor_.next();
    return true;
  }

  bool set_extents(ir::Variable& variable, std::vector<std::uint64_t>& extents, TokenRange range) {
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const std::uint64_t extent = extents[i];
      if (i != 0 && extent == 0) {
        return cursor_.fail(
            diag::Diagnostic(diag::Kind::DirectiveValue, {"an inner extent", "positive", "0"}),
            range);
      }
      count *= extent;  // whether memory has so much is for whoever makes code to say
    }
    variable.count = count;
    if (extents.size() > 1) variable.dimensions = std::move(extents);
    return true;
  }

  ParseContext& context_;
  Cursor& cursor_;
};

}  // namespace

std::optional<ir::Space> space_of(std::string_view word) {
  if (word == ".reg") return ir::Space::Register;
  if (word == ".const") return ir::Space::Const;
  if (word == ".global") return ir::Space::Global;
  if (word == ".local") return ir::Space::Local;
  if (word == ".param") return ir::Space::Param;
  if (word == ".shared") return ir::Space::Shared;
  return std::nullopt;
}

std::optional<ir::Linkage> linkage_of(std::string_view word) {
  if (word == ".extern") return ir::Linkage::Extern;
  if (word == ".visible") return ir::Linkage::Visible;
  if (word == ".weak") return ir::Linkage::Weak;
  if (word == ".common") return ir::Linkage::Common;
  return std::nullopt;
}

std::optional<std::vector<DeclaredVariable>> parse_variables(ParseContext& context,
                                                             ir::Linkage linkage,
                                                             std::uint32_t first) {
  Cursor& cursor = context.cursor;
  DeclarationParser parser(context);
  ir::Variable common;
  common.linkage = linkage;
  if (!parser.specifiers(common)) return std::nullopt;
  std::vector<DeclaredVariable> variables;
  do {
    DeclaredVariable& declared = variables.emplace_back(common);
    if (!parser.declarator(declared.variable, false, false)) return std::nullopt;
    if (!declared.variable.run && cursor.accept(TokenKind::Equal) &&
        !parse_initializer(context, declared.variable)) {
      return std::nullopt;
    }
    declared.tokens = {first, cursor.position() + 1};
    first = cursor.position() + 1;
  } while (cursor.accept(TokenKind::Comma));
  if (!cursor.accept(TokenKind::Semicolon)) {
    cursor.fail_expected("',' or ';'");
    return std::nullopt;
  }
  return variables;
}

std::optional<std::vector<ir::Variable>> parse_parameters(ParseContext& context,
                                                          bool may_be_unnamed) {
  Cursor& cursor = context.cursor;
  if (!cursor.expect(TokenKind::ParenOpen)) return std::nullopt;
  std::vector<ir::Variable> parameters;
  if (cursor.accept(TokenKind::ParenClose)) return parameters;
  DeclarationParser parser(context);
  parser.takes_predicates = true;
  do {
    if (!cursor.at_word(".param") && !cursor.at_word(".reg")) {
      cursor.fail_expected("'.param'");
      return std::nullopt;
    }
    ir::Variable& variable = parameters.emplace_back();
    if (!parser.specifiers(variable) || !parser.pointer(variable) ||
        !parser.declarator(variable, true, may_be_unnamed)) {
      return std::nullopt;
    }
  } while (cursor.accept(TokenKind::Comma));
  if (!cursor.expect(TokenKind::ParenClose)) return std::nullopt;
  return parameters;
}

bool parse_attributes(ParseContext& context, ir::Attributes& attributes) {
  Cursor& cursor = context.cursor;
  cursor.next();
  if (!cursor.expect(TokenKind::ParenOpen)) return false;
  do {
    if (cursor.accept_word(".managed")) {
      attributes.managed = true;
    } else if (cursor.accept_word(".unified")) {
      if (!cursor.expect(TokenKind::ParenOpen)) return false;
      const auto high = parse_integer_literal(cursor);
      if (!high || !cursor.expect(TokenKind::Comma)) return false;
      const auto low = parse_integer_literal(cursor);
      if (!low || !cursor.expect(TokenKind::ParenClose)) return false;
      attributes.unified = {*high, *low};
    } else {
      return cursor.fail_expected("'.managed' or '.unified'");
    }
  } while (cursor.accept(TokenKind::Comma));
  return cursor.expect(TokenKind::ParenClose);
}

std::optional<std::uint32_t> parse_run(ParseContext& context) {
  Cursor& cursor = context.cursor;
  cursor.next();
  const std::uint32_t token = cursor.position();
  const auto count = parse_integer_literal(cursor);
  if (!count) return std::nullopt;
  if (*count > kMaxRun) {
    cursor.fail(diag::Diagnostic(diag::Kind::DirectiveValue,
                                 {"the number of names", "at most " + std::to_string(kMaxRun),
                                  std::to_string(*count)}),
                {token, token + 1});
    return std::nullopt;
  }
  if (!cursor.expect(TokenKind::Greater)) return std::nullopt;
  return static_cast<std::uint32_t>(*count);
}

std::optional<RegisterType> parse_register_type(ParseContext& context) {
  Cursor& cursor = context.cursor;
  cursor.next();
  // An alignment is read and says nothing: registers have no address.
  for (std::uint32_t align = 0; cursor.at_word(".align");) {
    if (!DeclarationParser(context).alignment(align)) return std::nullopt;
  }
  RegisterType result;
  result.vector = accept_vector(cursor);
  if (!cursor.at(TokenKind::DotWord)) {
    cursor.fail_expected("a type");
    return std::nullopt;
  }
  const std::string_view word = cursor.text();
  const auto type = isa::find_type(word.substr(1));
  if (!type || !isa::info(*type).is_register) {
    diag::Diagnostic diagnostic(diag::Kind::UnknownType, {std::string(word), "a register"});
    if (type && isa::info(isa::info(*type).storage).is_register) {
      diagnostic->fixits.push_back(
          {"." + std::string(isa::info(isa::info(*type).storage).name), "registers hold it as"});
    }
    cursor.fail(std::move(diagnostic));
    return std::nullopt;
  }
  cursor.next();
  result.type = *type;
  return result;
}

}  // namespace pyptx::syntax
