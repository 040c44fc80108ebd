// SPDX-License-Identifier: Apache-2.0
//
// A text and the module read from it, to be edited. Every byte of the text belongs to a token or to
// the blanks and comments around tokens, and every part of the module names its tokens: printing a
// document copies what was not touched, byte for byte, and writes edited parts anew in their place.
// That holds for texts with errors too. Edits change the IR and judge nothing: verify does. A copy
// of a document is one, and so is a module that it shared: edits reach neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/support/copied.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

/// An instruction to be put into a function. Composite operands are made with
/// Document::composite.
struct NewInstruction {
  const isa::Spelling* spelling = nullptr;
  std::span<const ir::Operand> operands;
  std::optional<ir::RegisterId> guard;
  bool guard_negated = false;
};

/// Functions are named by their index in module().functions, statements by their index in the body
/// of the function, items by their index in module().items. Indices have to exist. Inserting and
/// erasing moves the indices behind.
class Document {
 public:
  explicit Document(ParseOutcome outcome);
  /// Reads `text`; see parse_all.
  static Document read(std::string_view text, std::string_view file = "<ptx>",
                       const ParseOptions& options = {});

  const ir::Module& module() const { return *module_; }
  /// The module as it is now; edits made after this are not in it.
  std::shared_ptr<const ir::Module> share() const { return module_.snapshot(); }
  const TokenBuffer& tokens() const { return *tokens_; }
  const diag::Diagnostics& diagnostics() const { return diagnostics_; }
  std::string_view text() const { return module_->locations.text(); }
  /// The bytes that a part of the module was read from; none for one that was put in since.
  diag::TextRange range(const ir::Item& item) const;
  diag::TextRange range(const ir::Statement& statement) const;

  // --- statements -----------------------------------------------------------------------------
  void insert(std::size_t function, std::size_t at, const NewInstruction& instruction);
  void replace(std::size_t function, std::size_t at, const NewInstruction& instruction);
  void insert_comment(std::size_t function, std::size_t at, std::string_view text);
  /// Declares a register and gives its id.
  ir::RegisterId insert_register(std::size_t function, std::size_t at, std::string_view name,
                                 isa::Type type);
  /// Places a new label and gives its id.
  ir::LabelId insert_label(std::size_t function, std::size_t at, std::string_view name);
  /// Erases the statement and nothing else; a block is erased brace by brace.
  void erase(std::size_t function, std::size_t at);

  // --- parts of statements --------------------------------------------------------------------
  /// A composite operand whose children are in the function's pool from now on.
  ir::Operand composite(std::size_t function, ir::OperandKind kind,
                        std::span<const ir::Operand> children, std::int64_t value = 0);
  /// Replaces operand `index` of an instruction.
  void set_operand(std::size_t function, std::size_t at, std::size_t index,
                   const ir::Operand& operand);
  void set_guard(std::size_t function, std::size_t at, std::optional<ir::RegisterId> guard,
                 bool negated = false);
  /// Gives a register another name, everywhere in the function. One of a pool leaves it and is
  /// declared behind it.
  void rename(std::size_t function, ir::RegisterId id, std::string_view name);
  void rename(std::size_t function, ir::LabelId id, std::string_view name);

  // --- items ----------------------------------------------------------------------------------
  void erase_item(std::size_t at);
  void insert_item_comment(std::size_t at, std::string_view text);

  // --- changes made by hand -------------------------------------------------------------------
  /// The module, to be changed; the parts that change have to be named by touch.
  /// Good until the document is copied or shared.
  ir::Module& edit() { return module_.edit(); }
  /// The statement is to be printed anew.
  void touch(std::size_t function, std::size_t at);
  /// The prototype or a directive of the function is to be printed anew.
  void touch_head(std::size_t function);
  void touch_item(std::size_t at);

 private:
  ir::Function& function(std::size_t index) { return *edit().functions[index]; }
  std::uint32_t store(ir::Function& function, const NewInstruction& instruction);
  void put(std::size_t function, std::size_t at, ir::Statement statement);

  support::CopyOnWrite<ir::Module> module_;
  std::shared_ptr<const TokenBuffer> tokens_;
  diag::Diagnostics diagnostics_;
};

/// The text of a document. print(Document::read(text)) == text, whatever the text is.
std::string print(const Document& document);

}  // namespace pyptx::syntax
