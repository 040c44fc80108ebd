// SPDX-License-Identifier: Apache-2.0
//
// What does not compile, and the first words that g++ has for it, behind `//:`. The test compiles
// this file once and reads them (tests/package/test_install.py). One mistake to a line.
#include <pyptx/kernel.h>

using namespace pyptx;
using namespace pyptx::types;
namespace inst = ptx::inst;

struct Plain {
  int n;
};

void misuses(const Tensor& X, Reg a, Reg p, Address at, Shared tile, Mbarriers bars, RegArray v) {
  // clang-format off
  Kernel("k", {"X", "Y"}, {}, [](const Tensor&) {});  //: takes one `const Tensor&` for each name
  Kernel("k", {"X"}, {}, [](const Tensor&, const Tensor&) {});  //: takes one `const Tensor&` for each name
  Kernel("k", {}, {}, [](const Tensor&) {});  //: the body of a Kernel without tensors takes nothing
  Kernel("k", {"X"}, {}, [](int) {});  //: takes one `const Tensor&` for each name
  KernelOptions{.tarjet = {90}};  //: has no non-static data member named 'tarjet'
  const Reg fixed; fixed = a;  //: discards qualifiers
  const Reg sum; sum = sum + a;  //: discards qualifiers
  inst::lod.global.f32(a, at);  //: 'lod' is not a member of
  inst::ld.global.f33(a, at);  //: has no member named 'f33'
  inst::ld.f32.global(a, at);  //: has no member named 'global'
  inst::ld.shared.L1_no_allocate.f32(a, at);  //: has no member named 'L1_no_allocate'
  inst::add.rnn.f32(a, a, a);  //: has no member named 'rnn'
  inst::ld.global(a, at);  //: no match for call
  inst::ld.global.f32(a);  //: no match for call
  inst::add.u32(a, a);  //: no match for call
  inst::add.u32(a, a, 1, 2);  //: no match for call
  inst::ld.global.f32(a, a);  //: no match for call
  inst::add.u32(a, at, 1);  //: no match for call
  inst::add.u32(a, a, 1.5);  //: no match for call
  inst::ld.global.v2.f32(a, at);  //: no match for call
  inst::ld.global.f32.at(1)(a, at);  //: cannot convert 'int' to 'const pyptx::build::Guard&'
  inst::ld.global.f32.on(p)(a, at);  //: has no member named 'on'
  if (a == 4) ptx::ret();  //: could not convert
  while (a < 4) ptx::ret();  //: could not convert
  static_cast<void>(p && p);  //: no match for 'operator&&'
  static_cast<void>(!p || p);  //: no match for 'operator||'
  static_cast<void>(a == "4");  //: no match for 'operator=='
  static_cast<void>(a + X);  //: no match for 'operator+'
  static_cast<void>(!p + 1);  //: no match for 'operator+'
  static_cast<void>(a / X);  //: no match for 'operator/'
  ptx::if_(1, [] {});  //: invalid initialization of reference of type 'const pyptx::build::Guard&'
  ptx::if_(p);  //: too few arguments
  ptx::range(0, 4, [] {});  //: invalid initialization of reference of type 'const std::function<void(const pyptx::Reg&)>&'
  ptx::range(0, 4, [](int) {});  //: invalid initialization of reference of type 'const std::function<void(const pyptx::Reg&)>&'
  ptx::kloop(4, [](const Reg&) {}, 2);  //: invalid user-defined conversion from
  ptx::loop("top", [] {});  //: invalid initialization of reference of type 'const pyptx::build::Guard&'
  ptx::assert_("message", p);  //: invalid initialization of reference of type 'const pyptx::build::Guard&'
  reg::scalar();  //: too few arguments
  reg::scalar(4);  //: cannot convert 'int' to 'pyptx::isa::Type'
  reg::scalar(f33);  //: 'f33' was not declared
  reg::array(f32);  //: too few arguments
  v[0] = "x";  //: no match for 'operator='
  v["x"] = 0;  //: no match for 'operator[]'
  static_cast<void>(tile.load(0));  //: cannot convert 'int' to 'std::initializer_list<pyptx::build::Index>'
  smem::alloc(f32, 4);  //: could not convert
  smem::alloc(f32, {4}, {.name = 4});  //: could not convert
  ptx::mbarrier::wait(bars[0]);  //: too few arguments
  ptx::mbarrier::init(bars, 1);  //: invalid initialization of reference of type 'const pyptx::author::Place&'
  ptx::tma::load(tile, a, 0, bars[0]);  //: could not convert
  ptx::mma::sync({.d = a});  //: invalid initialization of reference of type 'const pyptx::build::mma::Arguments&'
  ptx::wgmma::mma_async({.d = tile});  //: invalid initialization of reference of type 'const pyptx::build::wgmma::MmaArguments&'
  ptx::printf("%s", {"x"});  //: could not convert
  ptx::global_ptrs("X");  //: class template argument deduction failed
  ptx::special::tid.w();  //: has no member named 'w'
  ptx::special::tidd.x();  //: 'tidd' is not a member of
  ptx::addr(X);  //: no matching function for call
  // clang-format on
}

void calls(const DeclaredKernel<>& k, const Stream& stream, std::vector<float>& x,
           const std::vector<float>& fixed) {
  // clang-format off
  kernel("k", {Input("X", {"N"}, f32)}, {}, [] {});  //: takes one `const Tensor&` for each tensor
  kernel("k", {}, {}, [](const Tensor&) {});  //: takes one `const Tensor&` for each tensor
  kernel("k", {Output("X", {"N"}, f32)}, {}, [](const Tensor&, const Tensor&) {});  //: takes one `const Tensor&` for each tensor
  kernel<Plain>("k", {Input("X", {"N"}, f32)}, {}, [](const Tensor&) {});  //: template values can be copied and compared
  kernel("k", {Input("X", {"N"}, f32)}, {.grid = "N"}, [](const Tensor&) {});  //: a grid is one to three sizes, or a function
  kernel("k", {Input("X", {"N"}, f32)}, {.grid = [](int) { return 1; }}, [](const Tensor&) {});  //: a grid is one to three sizes, or a function
  KernelSpec<>{.grit = 1};  //: has no non-static data member named 'grit'
  Input("X", {"N"}, "f32");  //: no matching function for call to
  static_cast<void>(k(x, "alpha"));  //: a call takes tensors (host, device, dlpack, a vector)
  static_cast<void>(k(x, x.data()));  //: a call takes tensors (host, device, dlpack, a vector)
  static_cast<void>(k(x, true));  //: a call takes tensors (host, device, dlpack, a vector)
  static_cast<void>(k(x, Plain{1}));  //: a call takes tensors (host, device, dlpack, a vector)
  static_cast<void>(k(x, stream));  //: a call takes tensors (host, device, dlpack, a vector)
  static_cast<void>(k.emulate({}, nullptr));  //: a call takes tensors (host, device, dlpack, a vector)
  static_cast<void>(k(x, out(fixed)));  //: out() and inout() take memory that may be written
  static_cast<void>(k(x, inout(x.data())));  //: out() and inout() take a view (host, device, dlpack) or a vector
  host(x.data());  //: no matching function for call to
  host(std::vector<Plain>(2));  //: elements of this C++ type have no type in PTX
  arg("alpha", "2");  //: could not convert
  k.ptx({{"N", "M"}});  //: no matching function for call to
  // clang-format on
}
