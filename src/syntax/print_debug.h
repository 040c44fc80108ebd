// SPDX-License-Identifier: Apache-2.0
//
// Text of debugging directives, pragmas and comments. Each ends its line; none indents it.
#pragma once

#include <string_view>

#include "pyptx/ir/module.h"
#include "text_writer.h"

namespace pyptx::syntax {

void write_file(TextWriter& out, const ir::Module& module, const ir::SourceFile& file);
void write_line(TextWriter& out, const ir::Module& module, const ir::SourceLine& line);
void write_section(TextWriter& out, const ir::Module& module, const ir::Section& section);
void write_sources(TextWriter& out, const ir::Module& module,
                   const ir::IntermediateSources& sources);
void write_pragma(TextWriter& out, std::string_view pragma);
/// Lines after `//`; a text of several lines gives a comment each, all at `depth`. What is not
/// ASCII is shown as '?', since an assembler reads no more.
/// `loc` is that of the line it begins on.
void write_line_comment(TextWriter& out, std::string_view comment, unsigned depth, diag::Loc loc);
void write_block_comment(TextWriter& out, std::string_view comment, diag::Loc loc);

}  // namespace pyptx::syntax
