// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/trace.h"

#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace pyptx::author {
namespace {

thread_local build::Tracer* writing = nullptr;

/// What was written outside of every body. Other threads than the one that traces are outside, so
/// it belongs to no thread.
class Stray {
 public:
  ~Stray() {
    if (!first_) return;
    std::fprintf(stderr, "%s", diag::describe(*first_).c_str());
  }

  void add(const std::source_location* where) {
    const std::lock_guard lock(mutex_);
    if (first_) return;
    diag::Diagnostic found(diag::Kind::NoTrace, {});
    if (where != nullptr && where->line() != 0) {
      diag::LocationTable places;
      found.loc = places.native(where->file_name(), where->line(), where->column());
      found.resolve(places);
    }
    first_ = std::move(found);
  }

  std::optional<diag::Diagnostic> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(first_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<diag::Diagnostic> first_;
};

Stray& stray() {
  static Stray all;
  return all;
}

/// A tracer that emits nothing.
build::Tracer& nowhere(const std::source_location* where) {
  stray().add(where);
  thread_local build::Tracer tracer = [] {
    build::Options options;
    options.entry = "nowhere";
    return build::Tracer(std::move(options), nullptr);
  }();
  if (!tracer.has_error()) tracer.report({diag::Kind::NoTrace, {}});
  return tracer;
}

build::Tracer& placed(const std::source_location& where, bool is_instruction) {
  if (writing == nullptr) return nowhere(&where);
  // Where nothing is known, the place before is the best guess.
  if (where.line() != 0) {
    writing->set_loc(writing->module().locations.native(where.file_name(), where.line(),
                                                        where.column(), is_instruction));
  }
  return *writing;
}

}  // namespace

build::Tracer& tracer() { return writing != nullptr ? *writing : nowhere(nullptr); }

build::Tracer& at(const std::source_location& where) { return placed(where, false); }

build::Tracer& at_instruction(const std::source_location& where) { return placed(where, true); }

std::uint32_t block() { return writing == nullptr ? 0 : writing->block(); }

std::uint32_t copied(const build::Reg& reg) {
  if (writing == nullptr) return 0;
  const bool is_ours = reg.owner == writing->tag();
  if (is_ours && static_cast<std::size_t>(reg.id) + 1 == writing->function().registers.size()) {
    writing->keep_newest();
  }
  return writing->block();
}

void check_rebinding(const build::Reg& reg, std::uint32_t block) {
  if (writing == nullptr || reg.owner != writing->tag() || writing->follows(block)) return;
  writing->report(diag::Diagnostic(diag::Kind::Rebinding, {std::string(writing->block_name())})
                      .note("write the register with 'a += b' or 'a.set(b)'; a variable that only "
                            "the block needs is declared in it"));
}

std::optional<diag::Diagnostic> take_stray() { return stray().take(); }

Writing::Writing(build::Tracer& tracer) : outer_(std::exchange(writing, &tracer)) {}

Writing::~Writing() { writing = outer_; }

}  // namespace pyptx::author
