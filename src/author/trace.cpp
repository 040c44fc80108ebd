// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/trace.h"

#include <utility>

namespace pyptx::author {
namespace {

thread_local build::Tracer* writing = nullptr;

build::Tracer& nowhere() {
  thread_local build::Tracer tracer = [] {
    build::Options options;
    options.entry = "nowhere";
    return build::Tracer(std::move(options), nullptr);
  }();
  if (!tracer.has_error()) tracer.report({diag::Kind::NoTrace, {}});
  return tracer;
}

}  // namespace

build::Tracer& tracer() { return writing != nullptr ? *writing : nowhere(); }

build::Tracer& at(const std::source_location& where) {
  build::Tracer& current = tracer();
  if (where.line() == 0) return current;  // nothing is known, the place before is the best guess
  current.set_loc(current.module().locations.native(where.file_name(), where.line()));
  return current;
}

Writing::Writing(build::Tracer& tracer) : outer_(std::exchange(writing, &tracer)) {}

Writing::~Writing() { writing = outer_; }

}  // namespace pyptx::author
