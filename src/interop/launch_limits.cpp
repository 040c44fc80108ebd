// SPDX-License-Identifier: Apache-2.0
//
// Limits of launches, in words (see the header).
#include "pyptx/interop/launch_limits.h"

#include <algorithm>
#include <string>

#include "pyptx/interop/sizes.h"
#include "pyptx/isa/limits.h"
#include "pyptx/isa/spelling.h"
#include "pyptx/isa/target.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

/// No size is near the largest number: three of them can be multiplied.
std::int64_t product(const Extents& extents) {
  constexpr std::int64_t kMany = 1 << 20;
  std::int64_t out = 1;
  for (const std::int64_t extent : extents) out *= std::min(extent, kMany);
  return out;
}

support::Failure<diag::Diagnostic> bad_limit(std::string what, std::string why) {
  return diag::fail(Kind::DeclarationValue, {std::move(what), std::move(why)});
}

}  // namespace

diag::Status check_block(std::string_view what, const Extents& block) {
  const isa::Limits& limits = isa::kLargestLimits;
  const std::string subject = concat(what, " block ", plain_sizes().text(block));
  const std::int64_t threads = product(block);
  if (threads == 0) return bad_limit(subject, "has no threads");
  Extents largest{};
  bool fits = threads <= limits.threads;
  for (std::size_t i = 0; i < block.size(); ++i) {
    largest[i] = limits.block[i];
    fits = fits && block[i] <= largest[i];
  }
  if (fits) return diag::success();
  return bad_limit(subject,
                   concat("has ", threads, " threads; a block has at most ", limits.threads,
                          " threads and is at most ", plain_sizes().text(largest)));
}

diag::Status check_cluster(std::string_view what, const Extents& cluster) {
  const std::int64_t ctas = product(cluster);
  const std::int64_t most = isa::kLargestLimits.cluster;
  if (1 <= ctas && ctas <= most) return diag::success();
  return bad_limit(concat(what, " cluster ", plain_sizes().text(cluster)),
                   concat("has ", ctas, " CTAs, expected 1 to ", most));
}

diag::Status check_directives(std::string_view what, const Extents& block, const ir::Module& module,
                              const ir::Function& entry) {
  const auto refused = [&](std::string why) {
    return diag::fail(Kind::BlockDirective,
                      {concat(what, " block ", plain_sizes().text(block)), std::move(why)});
  };
  for (const ir::Directive& directive : entry.directives) {
    const std::string_view name = module.text(directive.name);
    Extents sizes{1, 1, 1};
    std::copy_n(directive.values.begin(), std::min<std::size_t>(directive.values.size(), 3),
                sizes.begin());
    const std::string shown = plain_sizes().text(sizes);
    if (name == "reqntid" && sizes != block) {
      return refused(concat("was declared, but .reqntid asks for ", shown,
                            "; give kernel(block=", shown, ")"));
    }
    if (name == "maxntid" && product(block) > product(sizes)) {
      return refused(concat("has ", product(block), " threads, but .maxntid allows ",
                            product(sizes), "; use a smaller block or a larger bound"));
    }
  }
  return diag::success();
}

diag::Status check_shared(std::string_view what, std::string_view target, std::uint64_t bytes) {
  const auto known = isa::Target::parse(target);
  if (!known || bytes <= isa::limits(*known).cta_shared) return diag::success();
  return diag::fail(Kind::SharedTarget,
                    {concat(what, what.empty() ? "" : " ", bytes), std::string(target),
                     concat(isa::limits(*known).cta_shared)});
}

diag::Status check_programmatic(std::string_view what, const ir::Module& module) {
  const isa::Spelling* const wait = isa::find_spelling("griddepcontrol.wait");
  for (const auto& function : module.functions) {
    for (const ir::Instruction& instruction : function->instructions) {
      if (wait != nullptr && instruction.spelling == wait) return diag::success();
    }
  }
  return bad_limit(concat(what, " programmatic=True"),
                   "needs griddepcontrol.wait in the kernel, before it touches memory that another "
                   "launch reads or writes");
}

}  // namespace pyptx::interop
