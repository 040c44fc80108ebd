// SPDX-License-Identifier: Apache-2.0
//
// Matrix instructions, copies and output from C++: the same instructions as from Python.
#include "pyptx/author/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pyptx/author.h"

namespace pyptx {
namespace {

using namespace pyptx::types;
using ::testing::HasSubstr;

template <typename F>
std::string text(isa::Target target, F body) {
  KernelOptions options;
  options.target = target;
  const auto found = Kernel("k", {"X"}, options, body).ptx();
  return found ? *found : std::string(found.error().code()) + " " + found.error().message();
}

TEST(Matrix, AmpereFragmentsAndCopies) {
  const std::string found = text({80, 0}, [](const Tensor& X) {
    const auto [px] = ptx::global_ptrs(X);
    const Shared tile = smem::alloc(f16, {16, 16});
    ptx::cp_async::cg(tile, ptx::addr(px));
    ptx::cp_async::commit_group();
    ptx::cp_async::wait_group(0);
    const RegArray a = reg::array(b32, 4);
    const RegArray b = reg::array(b32, 2);
    const RegArray c = reg::array(f32, 4);
    ptx::ldmatrix(a, tile);
    ptx::mma::Arguments product;
    product.shape = {16, 8, 16};
    product.type_d = product.type_c = f32;
    product.type_a = product.type_b = f16;
    product.d = c;
    product.a = a;
    product.b = b;
    product.c = c;
    ptx::mma::sync(product);
    ptx::printf("%f\n", {c[0]});
  });
  EXPECT_THAT(found, HasSubstr("cp.async.cg.shared.global ["));
  EXPECT_THAT(found, HasSubstr("cp.async.wait_group 0;\n"));
  EXPECT_THAT(found, HasSubstr("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r"));
  EXPECT_THAT(found, HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0"));
  EXPECT_THAT(found, HasSubstr("vprintf"));
}

TEST(Matrix, TensorMemory) {
  const std::string found = text({100, 'a'}, [](const Tensor&) {
    const Shared slot = smem::alloc(u32, {1});
    ptx::tcgen05::alloc(slot, 64);
    const Reg tmem = slot.load({0});
    const RegArray out = reg::array(b32, 4);
    ptx::tcgen05::ld(out, tmem, {.shape = "32x32b", .count = 4});
    ptx::tcgen05::wait_ld();
    ptx::tcgen05::dealloc(tmem, 64);
  });
  EXPECT_THAT(found, HasSubstr("tcgen05.alloc.cta_group::1.sync.aligned"));
  EXPECT_THAT(found, HasSubstr("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r"));
  EXPECT_THAT(found, HasSubstr("tcgen05.wait::ld.sync.aligned;\n"));
}

TEST(Matrix, MistakesAreDiagnostics) {
  EXPECT_THAT(text({90, 'a'}, [](const Tensor&) { ptx::tcgen05::wait_ld(); }), HasSubstr("PTX03"));
  EXPECT_THAT(text({90, 'a'}, [](const Tensor&) { ptx::printf("%d\n", {reg::scalar(f32, 1.0)}); }),
              HasSubstr("PTX"));
}

}  // namespace
}  // namespace pyptx
