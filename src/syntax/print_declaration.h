// SPDX-License-Identifier: Apache-2.0
//
// Headers, variables, registers and function prototypes as text; see printer.h for the rules.
// Every function writes whole lines unless it says otherwise.
#pragma once

#include <string_view>

#include "pyptx/ir/module.h"
#include "text_writer.h"

namespace pyptx::syntax {

void write_header(TextWriter& out, const ir::Module& module);
/// The declaration with its `;`. The caller has written the indentation.
void write_variable(TextWriter& out, const ir::Module& module, const ir::Variable& variable);
void write_register(TextWriter& out, const ir::Module& module, const ir::Register& reg,
                    unsigned depth);
void write_pool(TextWriter& out, const ir::Module& module, const ir::RegisterPool& pool,
                unsigned depth);
/// Everything before the body, or the whole of a declaration.
void write_prototype(TextWriter& out, const ir::Module& module, const ir::Function& function);
/// One `//` line per line of `text`, ASCII whatever the text is: assemblers refuse other bytes.
void write_comment(TextWriter& out, std::string_view text, unsigned depth);
void write_pragma(TextWriter& out, std::string_view text, unsigned depth);

}  // namespace pyptx::syntax
