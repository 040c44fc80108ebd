// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/control.h"

#include <utility>

#include "pyptx/build/control.h"

namespace pyptx::ptx {

using author::at;
using author::tracer;

void if_(const Guard& condition, const Block& then, const Block& otherwise, Where where) {
  build::If first(condition);
  first.begin(at(where));
  then();
  first.end(tracer());
  if (!otherwise) return;
  build::Else second;
  second.begin(tracer());
  otherwise();
  second.end(tracer());
}

void loop(std::string label, const Guard& again, const Block& body, Where where) {
  build::Loop construct(std::move(label), again);
  construct.begin(at(where));
  body();
  construct.end(tracer());
}

void range(const author::Right& start, const author::Right& stop,
           const std::function<void(Reg)>& body, const author::Right& step, Where where) {
  build::Range construct(start.value, stop.value, step.value);
  const Reg counter = construct.begin(at(where));
  body(counter);
  construct.end(tracer());
}

void kloop(const author::Right& total, std::int64_t unroll,
           const std::function<void(build::Value)>& body, std::string_view label, Where where) {
  build::kloop(at(where), total.value, unroll, body, label);
}

void scope(const Block& body, Where where) {
  build::Scope construct;
  construct.begin(at(where));
  body();
  construct.end(tracer());
}

void label(std::string_view name, Where where) { build::place_label(at(where), name); }
void bra(std::string_view label, const Guard& guard, Where where) {
  build::branch(at(where), label, guard);
}
void ret(const Guard& guard, Where where) { build::ret(at(where), guard); }
void trap(const Guard& guard, Where where) { build::trap(at(where), guard); }
void comment(std::string_view text, Where where) { at(where).comment(text); }
void raw(std::string_view text, Where where) { at(where).raw(text); }

}  // namespace pyptx::ptx
