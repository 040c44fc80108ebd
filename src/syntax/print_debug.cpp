// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, section 11.5 (Debugging Directives).
#include "print_debug.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pyptx::syntax {
namespace {

void write_ascii(TextWriter& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      out << '?';
    } else if (byte >= 0x20 || c == '\t') {
      out << c;
    }
  }
}

void write_position(TextWriter& out, const ir::SourcePosition& position) {
  for (const std::uint32_t part : {position.file, position.line, position.column}) {
    out << ' ';
    out.decimal(part);
  }
}

void write_entry(TextWriter& out, const ir::Module& module, const ir::SectionEntry& entry) {
  using EntryKind = ir::SectionEntry::Kind;
  if (entry.kind == EntryKind::Integer) return out.decimal(entry.value);
  out << module.text(entry.a);
  if (entry.kind == EntryKind::Difference) {
    out << '-' << module.text(entry.b);
  } else if (entry.value != 0) {
    out << '+';
    out.decimal(entry.value);
  }
}

}  // namespace

void write_file(TextWriter& out, const ir::Module& module, const ir::SourceFile& file) {
  out << ".file ";
  out.decimal(file.number);
  out << " \"" << module.text(file.name) << '"';
  if (file.stamp) {
    out << ", ";
    out.decimal(file.stamp->first);
    out << ", ";
    out.decimal(file.stamp->second);
  }
  out.end_line();
}

void write_line(TextWriter& out, const ir::Module& module, const ir::SourceLine& line) {
  out << (line.intermediate ? ".loc_intermediate" : ".loc");
  write_position(out, line.position);
  if (line.function_name != support::Symbol::None) {
    out << ", function_name " << module.text(line.function_name);
    if (line.function_offset != 0) {
      out << '+';
      out.decimal(line.function_offset);
    }
    out << ", inlined_at";
    write_position(out, line.inlined_at);
  }
  out.end_line();
}

void write_section(TextWriter& out, const ir::Module& module, const ir::Section& section) {
  out << ".section " << module.text(section.name);
  out.end_line();
  out << '{';
  out.end_line();
  for (std::size_t i = 0; i < section.entries.size(); ++i) {
    const ir::SectionEntry& entry = section.entries[i];
    if (entry.kind == ir::SectionEntry::Kind::Label) {
      out << module.text(entry.a) << ':';
    } else {
      if (entry.begins_directive || i == 0) {
        out << ".b";
        out.decimal(entry.bytes * 8U);
        out << ' ';
      }
      write_entry(out, module, entry);
    }
    const bool goes_on = i + 1 < section.entries.size() &&
                         section.entries[i + 1].kind != ir::SectionEntry::Kind::Label &&
                         !section.entries[i + 1].begins_directive;
    if (goes_on) {
      out << ", ";
    } else {
      out.end_line();
    }
  }
  out << '}';
  out.end_line();
}

void write_sources(TextWriter& out, const ir::Module& module,
                   const ir::IntermediateSources& sources) {
  out << ".nv_intermediate_source_section {";
  out.end_line();
  for (const ir::CodeBlock& block : sources.blocks) {
    out << ".code_block {";
    out.end_line();
    out << ".ir_name: \"" << module.text(block.ir_name) << '"';
    out.end_line();
    out << ".sourceFileName: ";
    out.decimal(block.file);
    out.end_line();
    out << ".source_begin";
    out.end_line();
    const std::string_view text = module.text(block.text);
    if (!text.empty()) out.lines(text);
    out << ".source_end";
    out.end_line();
    out << '}';
    out.end_line();
  }
  out << '}';
  out.end_line();
}

void write_pragma(TextWriter& out, std::string_view pragma) {
  out << ".pragma \"" << pragma << "\";";
  out.end_line();
}

void write_line_comment(TextWriter& out, std::string_view comment, unsigned depth, diag::Loc loc) {
  for (;; loc = diag::Loc::None) {
    const std::size_t end = comment.find('\n');
    const std::string_view line = comment.substr(0, end);
    out << "//";
    if (!line.empty()) out << ' ';
    write_ascii(out, line);
    out.end_line(loc);
    if (end == std::string_view::npos) break;
    comment.remove_prefix(end + 1);
    out.indent(depth);
  }
  out.seal_line();
}

void write_block_comment(TextWriter& out, std::string_view comment, diag::Loc loc) {
  out << "/*";
  for (;; loc = diag::Loc::None) {
    const std::size_t end = comment.find_first_of("\r\n");
    write_ascii(out, comment.substr(0, end));
    if (end == std::string_view::npos) break;
    out.end_line(loc);
    comment.remove_prefix(comment.substr(end, 2) == "\r\n" ? end + 2 : end + 1);
  }
  out << "*/";
  out.end_line(loc);
}

}  // namespace pyptx::syntax
