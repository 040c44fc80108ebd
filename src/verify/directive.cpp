// SPDX-License-Identifier: Apache-2.0
//
// The directives of functions: where they may stand, what they need, what they ask of each other.
// PTX ISA, sections 11.4 (Performance-Tuning Directives), 11.7 (Cluster Dimension Directives) and
// 11.8 (Miscellaneous Directives). Names, places and needs are the table's (isa/common).
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "availability.h"
#include "header.h"
#include "prototype.h"
#include "pyptx/isa/limits.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;

constexpr std::int64_t kLastLanguage = 10;
constexpr std::int64_t kMostControl = 11;

/// The names that .language takes, in lower case.
constexpr auto kLanguages =
    std::to_array<std::string_view>({"unknown", "ptx", "nvvm", "cuda c++", "cuda c++ tile",
                                     "tile ir", "python-cutile", "fortran", "optix"});

class DirectiveCheck {
 public:
  DirectiveCheck(Findings& findings, const ir::Function& function)
      : findings_(findings), module_(findings.module()), function_(function) {}

  void run() {
    for (const ir::Directive& directive : function_.directives) one(directive);
    conflict("maxntid", "reqntid");
    conflict("reqnctapercluster", "maxclusterrank");
    if (has("blocksareclusters") && !(has("reqntid") && has("reqnctapercluster"))) {
      add(Diagnostic(Kind::DirectiveNeeds,
                     {".blocksareclusters", ".reqntid and .reqnctapercluster"}),
          "blocksareclusters");
    }
    if (has("minnctapersm") && !has("maxntid") && !has("reqntid")) {
      add(Diagnostic(Kind::DirectiveIgnored,
                     {".minnctapersm", "neither .maxntid nor .reqntid is given"}),
          "minnctapersm");
    }
    if (has("noreturn") && !function_.returns.empty()) {
      add(Diagnostic(Kind::DirectiveConflict, {".noreturn", "a result"}), "noreturn");
    }
    repeated("noreturn");
    repeated("abi_preserve");
    repeated("abi_preserve_control");
  }

 private:
  void one(const ir::Directive& directive) {
    const std::string_view name = module_.text(directive.name);
    const isa::DirectivePlace place =
        function_.is_entry ? isa::DirectivePlace::Entry : isa::DirectivePlace::Func;
    const isa::DirectiveInfo* info = isa::find_directive(name, place);
    if (info != nullptr && name == "pragma") {
      return check_pragma(findings_, directive.text, place, function_.loc);
    }
    if (info == nullptr) {
      add(Diagnostic(Kind::MisplacedDirective,
                     {"." + std::string(name),
                      function_.is_entry ? "it is for a .func" : "it is for an .entry"}),
          name);
      return;
    }
    if (!info->needs.admits(module_.target) || module_.version < info->needs.version ||
        info->needs.last < module_.version) {
      add(unavailable(module_, info->needs, "." + std::string(name)), name);
    }
    values(directive, name);
    order(name);
  }

  // Of a .func: .noreturn, then what its ABI preserves, then the language. Declarations have no
  // more than the first two, those of entries none.
  void order(std::string_view name) {
    if (function_.is_declaration && (function_.is_entry || name == "language")) {
      add(Diagnostic(Kind::MisplacedDirective,
                     {"." + std::string(name), "it goes with the body of the function"}),
          name);
    }
    if (function_.is_entry) return;
    const int rank = name == "noreturn" ? 0 : name == "language" ? 2 : 1;
    if (rank < rank_) {
      add(Diagnostic(Kind::MisplacedDirective,
                     {"." + std::string(name), "it comes before ." + std::string(last_)}),
          name);
    }
    rank_ = rank;
    last_ = name;
  }

  void values(const ir::Directive& directive, std::string_view name) {
    static constexpr auto kPositive =
        std::to_array<std::string_view>({"maxntid", "reqntid", "maxnreg", "minnctapersm"});
    if (name == "language" && directive.text != ir::Symbol{}) return language(directive.text);
    const bool is_positive = std::ranges::find(kPositive, name) != kPositive.end();
    for (const std::int64_t value : directive.values) {
      if (is_positive && value <= 0) return bad_value(name, "positive", value);
      if (name == "language" && (value < 0 || value > kLastLanguage)) {
        return bad_value(name, "0 to 10", value);
      }
      if (name == "abi_preserve_control" && value > kMostControl) {
        return bad_value(name, "0 to 11", value);
      }
      const std::int64_t registers = isa::limits(module_.target).thread_registers;
      if (name == "maxnreg" && value > registers) {
        add(Diagnostic(
                Kind::DirectiveIgnored,
                {".maxnreg", "a thread has at most " + std::to_string(registers) + " registers"}),
            name);
      }
    }
  }

  void language(ir::Symbol text) {
    std::string lower(module_.text(text));
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (std::ranges::find(kLanguages, lower) != kLanguages.end()) return;
    add(Diagnostic(Kind::DirectiveValue, {".language", "a language it knows",
                                          "\"" + std::string(module_.text(text)) + "\""}),
        "language");
  }

  void bad_value(std::string_view name, std::string wanted, std::int64_t value) {
    add(Diagnostic(Kind::DirectiveValue,
                   {"." + std::string(name), std::move(wanted), std::to_string(value)}),
        name);
  }

  void conflict(std::string_view one, std::string_view other) {
    if (!has(one) || !has(other)) return;
    add(Diagnostic(Kind::DirectiveConflict, {"." + std::string(one), "." + std::string(other)}),
        one);
  }

  void repeated(std::string_view name) {
    const auto count = std::ranges::count_if(
        function_.directives, [&](const ir::Directive& d) { return module_.text(d.name) == name; });
    if (count < 2) return;
    const std::string text = "." + std::string(name);
    add(Diagnostic(Kind::DirectiveConflict, {text, "a second " + text}), name);
  }

  bool has(std::string_view name) const {
    return std::ranges::any_of(function_.directives, [&](const ir::Directive& directive) {
      return module_.text(directive.name) == name;
    });
  }

  void add(Diagnostic diagnostic, std::string_view name) {
    diagnostic.loc = function_.loc;
    for (const auto place : {isa::DirectivePlace::Entry, isa::DirectivePlace::Func}) {
      const isa::DirectiveInfo* info = isa::find_directive(name, place);
      if (info != nullptr) diagnostic->manual = info->manual;
    }
    findings_.add(std::move(diagnostic));
  }

  Findings& findings_;
  const ir::Module& module_;
  const ir::Function& function_;
  int rank_ = 0;
  std::string_view last_;
};

}  // namespace

void check_directives(Findings& findings, const ir::Function& function) {
  if (!function.directives.empty()) DirectiveCheck(findings, function).run();
}

}  // namespace pyptx::verify
