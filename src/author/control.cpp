// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/control.h"

#include <utility>

#include "pyptx/build/control.h"
#include "pyptx/build/print.h"
#include "pyptx/support/concat.h"

namespace pyptx::ptx {

using author::at;
using author::tracer;

void if_(const Guard& condition, const Block& then, const Block& otherwise, Where where) {
  build::If first(condition);
  first.begin(at(where));
  then();
  first.end(tracer());
  if (otherwise) else_(otherwise, where);
}

void elif_(const Condition& condition, const Block& then, Where where) {
  build::Elif construct(condition.asked);
  construct.begin(at(where));
  then();
  construct.end(tracer());
}

void else_(const Block& otherwise, Where where) {
  build::Else construct;
  construct.begin(at(where));
  otherwise();
  construct.end(tracer());
}

void while_(const Condition& condition, const Block& body, Where where) {
  build::While construct =
      condition.given ? build::While(*condition.given) : build::While(condition.asked);
  construct.begin(at(where));
  body();
  construct.end(tracer());
}

void break_(const Guard& guard, Where where) { build::break_loop(at(where), guard); }
void continue_(const Guard& guard, Where where) { build::continue_loop(at(where), guard); }

void loop(std::string label, const Guard& again, const Block& body, Where where) {
  build::Loop construct(std::move(label), again);
  construct.begin(at(where));
  body();
  construct.end(tracer());
}

void range(const author::Right& start, const author::Right& stop,
           const std::function<void(const Reg&)>& body, const author::Right& step, Where where) {
  build::Range construct(start.value, stop.value, step.value);
  const Reg counter = construct.begin(at(where));
  body(counter);
  construct.end(tracer());
}

void kloop(const author::Right& total, std::int64_t unroll,
           const std::function<void(const Reg&)>& body, std::string_view label, Where where) {
  const auto with_register = [&](const build::Value& index) {
    if (index.reg() != nullptr) return body(*index.reg());
    body(build::scalar(tracer(), isa::Type::U32, index));
  };
  build::kloop(at(where), total.value, unroll, with_register, label);
}

void scope(const Block& body, Where where) {
  build::Scope construct;
  construct.begin(at(where));
  body();
  construct.end(tracer());
}

void intrinsic(std::string_view name, const Block& body, Where where) {
  build::Tracer& opened = at(where);
  const bool had_error = opened.has_error();
  opened.comment(support::concat("begin ", name));
  body();
  if (!had_error) {
    opened.add_note(
        support::concat("in ", name, ", called at ", where.file_name(), ":", where.line()));
  }
  opened.comment(support::concat("end ", name));
}

void label(std::string_view name, Where where) { build::place_label(at(where), name); }
void bra(std::string_view label, const Guard& guard, Where where) {
  build::branch(at(where), label, guard);
}
void ret(const Guard& guard, Where where) { build::ret(at(where), guard); }
void trap(const Guard& guard, Where where) { build::trap(at(where), guard); }
void assert_(const Guard& condition, std::string_view message, Where where) {
  build::assert_that(at(where), condition, message);
}
void comment(std::string_view text, Where where) { at(where).comment(text); }
void raw(std::string_view text, Where where) { at(where).raw(text); }
void pragma(std::string_view text, Where where) { at(where).pragma(text); }
void file(std::uint32_t number, std::string_view name, Where where) {
  at(where).file(number, name);
}
void loc(std::uint32_t file, std::uint32_t line, std::uint32_t column, Where where) {
  at(where).line(file, line, column);
}

}  // namespace pyptx::ptx
