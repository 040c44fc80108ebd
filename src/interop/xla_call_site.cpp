// SPDX-License-Identifier: Apache-2.0
#if __has_include("xla/ffi/api/c_api.h")

#include "xla_call_site.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/interop/registry.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop::xla {
namespace {

diag::Result<CallSite> read_kernel(const Frame& frame) {
  if (const auto handle = frame.integer("cubin_handle")) return CallSite{.handle = *handle};
  if (const auto open = frame.string("open")) {
    auto found = GraphKernels::instance().find(*open);
    if (!found) return found.failure();
    if (found->open == nullptr) {
      return diag::fail(diag::Kind::CallAttribute, {"`open`, a kernel for any size", "another"});
    }
    return CallSite{.open = std::move(found->open)};
  }
  const auto hash = frame.string("hash");
  if (!hash) return diag::fail(diag::Kind::CallAttribute, {"`hash` or `cubin_handle`", "neither"});
  if (auto known = Registry::instance().find(*hash)) return CallSite{.image = std::move(known)};

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
  return CallSite{.image = std::move(image)};
}

}  // namespace

diag::Result<CallSite> read_call_site(const Frame& frame) {
  auto site = read_kernel(frame);
  if (!site) return site;
  const auto count = [&](std::string_view name, std::size_t& out) -> diag::Status {
    const std::int64_t given = frame.integer(name).value_or(0);
    if (given < 0) {
      return diag::fail(
          diag::Kind::CallAttribute,
          {support::concat("`", name, "`, a number of arguments"), std::to_string(given)});
    }
    out = static_cast<std::size_t>(given);
    return diag::success();
  };
  if (auto status = count("unread", site->unread); !status) return status.failure();
  if (auto status = count("kept", site->kept); !status) return status.failure();
  return site;
}

diag::Result<std::shared_ptr<KernelImage>> image_for(const OpenGraphKernel& open,
                                                     const Frame& frame) {
  const std::size_t inputs = open.open().signature.inputs.size();
  std::vector<Shape> shapes[2];
  for (std::size_t i = 0; i < frame.buffer_count(); ++i) {
    const XLA_FFI_Buffer& buffer = frame.buffer(i);
    shapes[i < inputs ? 0 : 1].emplace_back(buffer.dims, buffer.dims + buffer.rank);
  }
  auto kernel = open.at(shapes[0], std::span<const Shape>(shapes[1]));
  if (!kernel) return kernel.failure();
  const SavedKernel& saved = (*kernel)->saved();
  return saved.is_empty ? nullptr : saved.image;
}

}  // namespace pyptx::interop::xla

#endif
