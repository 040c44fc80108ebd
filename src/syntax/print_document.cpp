// SPDX-License-Identifier: Apache-2.0
//
// The text of a document. The parts of the module are walked in their order; those that still say
// what their tokens say are copied, and neighbours are copied as one range, so that an untouched
// document is one copy. Blanks between two parts stay as they are as long as nothing between the
// two has gone.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "character.h"
#include "document_part.h"
#include "print_declaration.h"
#include "print_part.h"
#include "pyptx/syntax/document.h"
#include "text_writer.h"

namespace pyptx::syntax {
namespace {

constexpr std::string_view kLineEnds = "\r\n";

bool reaches_line_end(const Comment& comment) {
  return comment.kind == Comment::Kind::Line || comment.kind == Comment::Kind::Marker;
}

class DocumentWriter {
 public:
  explicit DocumentWriter(const Document& document)
      : module_(document.module()), tokens_(document.tokens()), text_(document.text()) {
    out_.reserve(text_.size());
    const std::size_t end = text_.find_first_of(kLineEnds);
    if (end != std::string_view::npos)
      line_end_ = text_.substr(end, text_[end] == '\r' && text_.substr(end, 2) == "\r\n" ? 2 : 1);
  }

  std::string run() {
    std::size_t inner = 0;
    for (std::size_t i = 0; i < module_.items.size(); ++i) {
      const ir::Item& item = module_.items[i];
      const std::span<const ir::Item> pending(module_.items.data() + inner, i - inner);
      if (item.kind == ir::ItemKind::Function && is_from_text(item) &&
          module_.functions[item.index]->edited) {
        function(item, pending);
      } else {
        part(item, pending, 0, [&](TextWriter& out) { write_item(out, module_, item); });
      }
      if (!item.mark.inner) inner = i + 1;
    }
    const auto end = static_cast<std::uint32_t>(text_.size());
    gap(end, static_cast<std::uint32_t>(tokens_.tokens.size() - 1));
    extend(end);
    flush();
    return std::move(out_);
  }

 private:
  std::uint32_t begin_of(const ir::TokenRange& range) const {
    return tokens_.tokens[range.first].begin;
  }
  std::uint32_t end_of(const ir::TokenRange& range) const {
    return tokens_.tokens[range.last - 1].end;
  }

  /// Parts that were moved forward are written where they are now.
  template <typename Part>
  bool is_from_text(const Part& part) const {
    if (part.tokens.empty()) return false;
    return is_comment(part.kind) ? part.tokens.first >= next_comment_
                                 : part.tokens.first >= next_token_;
  }

  // `pending` are the comments found inside the part, which precede it in the tree.
  template <typename Part, typename Write>
  void part(const Part& part, std::span<const Part> pending, unsigned depth, Write&& write) {
    if (part.mark.inner) return;
    if (!is_from_text(part)) return insert(depth, is_comment(part.kind), write);
    if (is_comment(part.kind)) return comment(part, depth, write);
    if (!part.mark.edited) return copy(part.tokens);
    replace(part.tokens, pending, depth, write);
  }

  void copy(const ir::TokenRange& range) {
    gap(begin_of(range), range.first);
    extend(end_of(range));
    pass(range.last);
  }

  template <typename Part, typename Write>
  void replace(const ir::TokenRange& range, std::span<const Part> pending, unsigned depth,
               Write&& write) {
    gap(begin_of(range), range.first);
    flush();
    // A comment does not begin on the line of what stands before.
    if (!pending.empty() && !is_at_line_begin()) {
      append(line_end_);
      out_.append(depth, '\t');
    }
    for (const Part& comment : pending) {
      const Comment& source = tokens_.comments[comment.tokens.first];
      append(text_.substr(source.begin, source.end - source.begin));
      if (!reaches_line_end(source)) {
        append(" ");
      } else {
        append(line_end_);
        out_.append(depth, '\t');
      }
    }
    write_bare(write);
    at_ = run_ = end_of(range);
    pass(range.last);
  }

  template <typename Part, typename Write>
  void comment(const Part& part, unsigned depth, Write&& write) {
    const Comment& source = tokens_.comments[part.tokens.first];
    gap(source.begin, source.token);
    next_comment_ = part.tokens.first + 1;
    if (!part.mark.edited) return extend(source.end);
    flush();
    write_bare(write);
    at_ = run_ = source.end;
    open_comment_ = reaches_line_end(source);
    comment_depth_ = depth;
  }

  // A line of its own, behind what has been written.
  template <typename Write>
  void insert(unsigned depth, bool is_comment, Write&& write) {
    flush();
    const bool at_top = out_.empty();
    if (!at_top) append(line_end_);
    out_.append(depth, '\t');
    write_bare(write);
    if (at_top) append(line_end_);
    open_comment_ = is_comment && !at_top;
    comment_depth_ = depth;
  }

  // Canonical text without its indentation and the end of its line.
  template <typename Write>
  void write_bare(Write&& write) {
    TextWriter writer(nullptr);
    write(writer);
    const std::string text = writer.take();
    std::string_view bare = text;
    while (!bare.empty() && is_blank(bare.front())) bare.remove_prefix(1);
    while (!bare.empty() && is_blank(bare.back())) bare.remove_suffix(1);
    // The line ends of the document, in what has several lines.
    for (std::size_t line; (line = bare.find('\n')) != std::string_view::npos;) {
      append(bare.substr(0, line));
      append(line_end_);
      bare.remove_prefix(line + 1);
    }
    append(bare);
  }

  void function(const ir::Item& item, std::span<const ir::Item> pending) {
    const ir::Function& source = *module_.functions[item.index];
    if (source.head_edited) {
      replace(source.head, pending, 0, [&](TextWriter& out) {
        write_prototype(out, module_, source);
        if (!source.is_declaration) out << '{';
      });
    } else {
      copy(source.head);
    }
    for (const ir::RegisterPool& pool : source.pools) {
      if (!pool.placed) {
        insert(1, false, [&](TextWriter& out) { write_pool(out, module_, pool); });
      }
    }
    body(source);
    if (!source.tail.empty()) copy(source.tail);
  }

  void body(const ir::Function& source) {
    unsigned depth = 1;
    std::size_t inner = 0;
    for (std::size_t i = 0; i < source.body.size(); ++i) {
      const ir::Statement& statement = source.body[i];
      if (statement.kind == ir::StatementKind::BlockClose && depth > 1) --depth;
      const std::span<const ir::Statement> pending(source.body.data() + inner, i - inner);
      part(statement, pending, depth, [&](TextWriter& out) {
        unsigned level = depth;
        write_statement(out, module_, source, statement, level);
      });
      if (statement.kind == ir::StatementKind::BlockOpen) ++depth;
      if (!statement.mark.inner) inner = i + 1;
    }
  }

  // Tokens before `token`, and the comments among them, have been dealt with.
  void pass(std::uint32_t token) {
    next_token_ = token;
    while (next_comment_ < tokens_.comments.size() &&
           tokens_.comments[next_comment_].token < token) {
      ++next_comment_;
    }
  }

  // What lies between the last part and the one that begins at byte `begin` and token `token`.
  void gap(std::uint32_t begin, std::uint32_t token) {
    std::uint32_t first = begin;
    std::uint32_t last = at_;
    if (next_token_ < token) {
      first = tokens_.tokens[next_token_].begin;
      last = tokens_.tokens[token - 1].end;
    }
    for (; next_comment_ < tokens_.comments.size(); ++next_comment_) {
      const Comment& comment = tokens_.comments[next_comment_];
      if (comment.begin >= begin) break;
      first = std::min(first, comment.begin);
      last = std::max(last, comment.end);
    }
    next_token_ = std::max(next_token_, token);
    if (first >= last) return extend(begin);
    cut(first, last, begin);
  }

  // Bytes [first, last) have gone; of the blanks on both sides stay what sets the rest apart, and
  // no empty line.
  void cut(std::uint32_t first, std::uint32_t last, std::uint32_t begin) {
    const std::string_view before = text_.substr(at_, first - at_);
    const std::string_view after = text_.substr(last, begin - last);
    const std::size_t line = before.find_last_of(kLineEnds);
    const bool ends_before = line != std::string_view::npos;
    const bool ends_after = after.find_first_of(kLineEnds) != std::string_view::npos;
    if (ends_before && ends_after) {
      const bool is_pair = line > 0 && before.substr(line - 1, 2) == "\r\n";
      extend(at_ + static_cast<std::uint32_t>(is_pair ? line - 1 : line));
      flush();
      at_ = run_ = last;
      extend(begin);
    } else if (ends_after) {
      flush();
      at_ = run_ = last;
      extend(begin);
    } else {
      extend(first);
      flush();
      if (before.empty()) append(after.empty() ? " " : after);
      at_ = run_ = begin;
    }
  }

  bool is_at_line_begin() const {
    const std::size_t last = out_.find_last_not_of(" \t");
    return last == std::string::npos || is_line_end(out_[last]);
  }

  void extend(std::uint32_t end) { at_ = std::max(at_, end); }

  void flush() {
    append(text_.substr(run_, at_ - run_));
    run_ = at_;
  }

  void append(std::string_view text) {
    if (text.empty()) return;
    // A comment that was written reaches to the end of its line.
    if (open_comment_ && !is_line_end(text.front())) {
      out_ += line_end_;
      out_.append(comment_depth_, '\t');
    }
    open_comment_ = false;
    out_ += text;
  }

  const ir::Module& module_;
  const TokenBuffer& tokens_;
  std::string_view text_;
  std::string_view line_end_ = "\n";
  std::string out_;
  std::uint32_t run_ = 0;  // bytes [run_, at_) of the text are to be copied
  std::uint32_t at_ = 0;   // what lies before this byte has been dealt with
  std::uint32_t next_token_ = 0;
  std::uint32_t next_comment_ = 0;
  bool open_comment_ = false;
  unsigned comment_depth_ = 0;
};

}  // namespace

std::string print(const Document& document) { return DocumentWriter(document).run(); }

}  // namespace pyptx::syntax
