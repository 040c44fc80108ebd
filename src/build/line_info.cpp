// SPDX-License-Identifier: Apache-2.0
//
// The author's lines in the text: a .loc before each instruction that comes from another line than
// the one before it, and a .file for each source file. Assembled, this is the line table that SASS
// listings and profilers read. PTX ISA, section 11.5 (Debugging Directives).
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pyptx/build/tracer.h"

namespace pyptx::build {
namespace {

/// Numbers the files in the order of their first use.
class Files {
 public:
  explicit Files(ir::Module& module) : module_(module) {
    for (const ir::SourceFile& file : module.files) {
      numbers_.emplace(module.text(file.name), file.number);
      last_ = std::max(last_, file.number);
    }
  }

  std::uint32_t number(std::string_view path) {
    // Nearly always the file of the instruction before, whose name is the same text in memory.
    if (path.data() == recent_.data() && path.size() == recent_.size()) return recent_number_;
    recent_ = path;
    recent_number_ = looked_up(path);
    return recent_number_;
  }

 private:
  std::uint32_t looked_up(std::string_view path) {
    const auto known = numbers_.find(path);
    if (known != numbers_.end()) return known->second;
    const support::Symbol name = module_.symbols.intern(quotable(path));
    module_.items.push_back({ir::ItemKind::File, static_cast<std::uint32_t>(module_.files.size())});
    module_.files.push_back({++last_, name, std::nullopt});
    numbers_.emplace(path, last_);
    return last_;
  }

  /// A path as a PTX string, which has no way to write a quote.
  static std::string quotable(std::string_view path) {
    std::string text(path);
    for (char& c : text) {
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = '?';
    }
    return text;
  }

  ir::Module& module_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::uint32_t last_ = 0;
  std::string_view recent_;
  std::uint32_t recent_number_ = 0;
};

}  // namespace

void Tracer::add_line_info() {
  if (!function_->lines.empty()) return;  // the author places lines of their own
  Files files(*module_);
  support::GrowingArray<ir::Statement> body;
  body.reserve(function_->body.size() * 2);
  ir::SourcePosition last;
  for (const ir::Statement& statement : function_->body) {
    if (statement.kind == ir::StatementKind::Instruction) {
      const diag::Loc loc = function_->instructions[statement.index].loc;
      if (const auto point = module_->locations.point(loc)) {
        const ir::SourcePosition here{files.number(point->file), point->line, point->column};
        if (here.file != last.file || here.line != last.line) {
          body.push_back(
              {ir::StatementKind::Line, static_cast<std::uint32_t>(function_->lines.size()), loc});
          function_->lines.push_back({here, {}, 0, {}, false});
          last = here;
        }
      }
    }
    body.push_back(statement);
  }
  function_->body = std::move(body);
}

}  // namespace pyptx::build
