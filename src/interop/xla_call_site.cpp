// SPDX-License-Identifier: Apache-2.0
#if __has_include("xla/ffi/api/c_api.h")

#include "xla_call_site.h"

#include <string>
#include <utility>

#include "pyptx/interop/registry.h"

namespace pyptx::interop::xla {
namespace {

diag::Result<CallSite> read_kernel(const Frame& frame) {
  if (const auto handle = frame.integer("cubin_handle")) return CallSite{nullptr, *handle};
  const auto hash = frame.string("hash");
  if (!hash) return diag::fail(diag::Kind::CallAttribute, {"`hash` or `cubin_handle`", "neither"});
  if (auto known = Registry::instance().find(*hash)) return CallSite{std::move(known), 0};

  const auto ptx = frame.string("ptx");
  const auto target = frame.string("target");
  const auto plan_text = frame.string("plan");
  if (!ptx || !target || !plan_text) {
    const char* missing = !ptx ? "`ptx`" : !target ? "`target`" : "`plan`";
    return diag::fail(diag::Kind::CallAttribute, {missing, "none"});
  }
  auto plan = driver::LaunchPlan::from_text(*plan_text);
  if (!plan) return plan.failure();
  auto image =
      Registry::instance().intern(std::string(*ptx), std::string(*target), std::move(*plan));
  if (image->hash() != *hash) {
    return diag::fail(diag::Kind::ContentHash, {std::string(*hash), image->hash()});
  }
  return CallSite{std::move(image), 0};
}

}  // namespace

diag::Result<CallSite> read_call_site(const Frame& frame) {
  auto site = read_kernel(frame);
  const std::int64_t unread = frame.integer("unread").value_or(0);
  if (site && unread < 0) {
    return diag::fail(diag::Kind::CallAttribute,
                      {"`unread`, a number of arguments", std::to_string(unread)});
  }
  if (site) site->unread = static_cast<std::size_t>(unread);
  return site;
}

}  // namespace pyptx::interop::xla

#endif
