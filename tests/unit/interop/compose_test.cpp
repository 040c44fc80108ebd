// SPDX-License-Identifier: Apache-2.0
//
// Modules made launchable: the plan that comes out, and what does not fit the module.
#include "pyptx/interop/compose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels.h"
#include "pyptx/syntax/document.h"

namespace pyptx::interop {
namespace {

using diag::Kind;

std::shared_ptr<const ir::Module> module_of(const std::string& text) {
  auto module = read_module(text);
  EXPECT_TRUE(module) << module.error().message();
  return *module;
}

std::shared_ptr<const ir::Module> add_module() { return module_of(kernels::kAdd); }

Signature add_signature() {
  const Tile vector{.dims = {"N"}, .dtype = "f32"};
  return {.kernel = "kernel",
          .inputs = {{"a", vector}, {"b", vector}},
          .outputs = {{"c", vector}},
          .scalars = {{"u32", "n"}}};
}

Facts add_facts(std::int64_t n) { return *add_signature().facts({{"N", n}}); }

KernelLaunch add_launch(std::uint32_t n) {
  KernelLaunch launch;
  launch.grid = {(n + 31) / 32, 1, 1};
  launch.block = {32, 1, 1};
  launch.scalars = {{.name = "n", .value = n, .is_fixed = true}};
  return launch;
}

Kind refusal(const Signature& signature, const KernelLaunch& launch,
             const std::shared_ptr<const ir::Module>& module = add_module()) {
  const auto kernel = compose(module, signature, add_facts(50), launch);
  EXPECT_FALSE(kernel);
  return kernel ? Kind::UnknownOpcode : kernel.error().kind;
}

/// c[i] of the kernel where a is 1 and b is 2.
float sum_of(const SavedKernel& kernel) {
  std::vector<float> a(50, 1.0F), b(50, 2.0F), c(50);
  const auto host = [](std::vector<float>& values) {
    return HostTensor{reinterpret_cast<std::uintptr_t>(values.data()), 200, true};
  };
  const HostTensor tensors[] = {host(a), host(b), host(c)};
  const auto report = kernel.emulate(tensors);
  EXPECT_TRUE(report) << report.error().message();
  return c[0];
}

TEST(ComposeTest, TensorsThenScalarsAreTheParameters) {
  const auto kernel = compose(add_module(), add_signature(), add_facts(50), add_launch(50));
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->image->plan(), kernels::add_plan(50));
  EXPECT_EQ(kernel->image->target(), "sm_90a");
  EXPECT_EQ(kernel->tensor(2).bytes, 200U);
  EXPECT_TRUE(kernel->scalars.empty());
  EXPECT_EQ(sum_of(*kernel), 3.0F);
}

TEST(ComposeTest, EqualKernelsAreOneImage) {
  const auto module = add_module();
  const auto one = compose(module, add_signature(), add_facts(50), add_launch(50));
  const auto text = TracedText{module, one->image->ptx(), "sm_90a"};
  const auto other = make_image(text, add_signature(), add_facts(50), add_launch(50));
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(one->image, *other);
}

/// Where the only instruction of this spelling stands.
std::size_t statement_of(const ir::Function& function, std::string_view spelling) {
  const auto is_it = [&](const ir::Statement& statement) {
    return statement.kind == ir::StatementKind::Instruction &&
           function.instructions[statement.index].spelling->text == spelling;
  };
  return static_cast<std::size_t>(std::ranges::find_if(function.body, is_it) -
                                  function.body.begin());
}

TEST(ComposeTest, AnImageRunsWhatItsTextSaysWhateverBecomesOfTheDocument) {
  auto document = syntax::Document::read(kernels::kAdd);
  const auto composed = [&] {
    return *compose(document.share(), add_signature(), add_facts(50), add_launch(50));
  };
  const SavedKernel first = composed();
  const ir::Function& function = *document.module().functions[0];
  const std::size_t add = statement_of(function, "add.f32");
  ASSERT_LT(add, function.body.size());
  const auto& instruction = function.instructions[function.body[add].index];
  const ir::Operand a = function.operands_of(instruction)[1];
  document.set_operand(0, add, 2, a);  // a + a
  EXPECT_EQ(sum_of(first), 3.0F);
  EXPECT_EQ(
      sum_of(*compose(module_of(kernels::kAdd), add_signature(), add_facts(50), add_launch(50))),
      3.0F)
      << "the registry has the image of the right text";
  EXPECT_EQ(sum_of(composed()), 2.0F);
}

TEST(ComposeTest, AnEditedModuleIsJudgedAsItsTextWouldBe) {
  auto document = syntax::Document::read(kernels::kAdd);
  const std::size_t add = statement_of(*document.module().functions[0], "add.f32");
  document.set_operand(0, add, 2, ir::Operand::integer(1));
  const auto kernel = compose(document.share(), add_signature(), add_facts(50), add_launch(50));
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().severity(), diag::Severity::Error);
}

TEST(ComposeTest, AScalarMayComeWithEachLaunch) {
  const Signature signature = add_signature();
  KernelLaunch launch = add_launch(50);
  launch.scalars[0].is_fixed = false;
  const auto kernel = compose(add_module(), signature, add_facts(50), launch);
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->image->plan().argument_count(), 1U);
  ASSERT_EQ(kernel->scalars.size(), 1U);
  EXPECT_EQ(kernel->scalars[0], (ScalarParameter{"n", find_scalar_type("u32"), 50}));
  launch.scalars.clear();
  const auto open = compose(add_module(), signature, add_facts(50), launch);
  EXPECT_EQ(open->scalars[0].value, std::nullopt);

  launch.scalars = {{.name = "n", .value = -1}};
  EXPECT_EQ(refusal(signature, launch), Kind::ScalarValue);
  launch.scalars[0].value = Number::of_bits(std::uint64_t{1} << 32);
  EXPECT_EQ(refusal(signature, launch), Kind::ScalarValue);
  launch.scalars[0] = {.name = "m", .value = 1};
  EXPECT_EQ(refusal(signature, launch), Kind::BadPlan);
}

TEST(ComposeTest, BitsAreTheParametersWhateverItsType) {
  const ScalarType& f32 = *find_scalar_type("f32");
  EXPECT_EQ(Number::of_bits(0x3f800000).bits(f32), 0x3f800000U);
  EXPECT_EQ(Number(1).bits(f32), 0x3f800000U);
}

/// The text of the kernel with its first lines changed.
std::string changed_text(std::string_view from, std::string_view to) {
  std::string text = kernels::kAdd;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(ComposeTest, ParametersAreBoundByTheirNames) {
  const auto module = module_of(
      changed_text("  .param .u64 a,\n  .param .u64 b,\n  .param .u64 c,\n  .param .u32 n\n",
                   "  .param .u64 c,\n  .param .u32 n,\n  .param .u64 b,\n  .param .u64 a\n"));
  const auto kernel = compose(module, add_signature(), add_facts(50), add_launch(50));
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(sum_of(*kernel), 3.0F);
  // Names that are nobody's: by order, as long as no name says otherwise.
  Signature renamed = add_signature();
  renamed.inputs[0].name = "x";
  EXPECT_TRUE(compose(add_module(), renamed, add_facts(50), add_launch(50)));
  EXPECT_EQ(refusal(renamed, add_launch(50), module), Kind::KernelParameters);
}

TEST(ComposeTest, FactsAreThoseOfACall) {
  const Signature signature = add_signature();
  const auto refused = [&](const Facts& facts) {
    const auto kernel = compose(add_module(), signature, facts, add_launch(50));
    EXPECT_FALSE(kernel);
    return kernel ? Kind::UnknownOpcode : kernel.error().kind;
  };
  Facts facts = add_facts(50);
  facts.shapes[1] = {-32};
  EXPECT_EQ(refused(facts), Kind::ArgumentShape);
  facts.shapes[1] = {51};
  EXPECT_EQ(refused(facts), Kind::ArrayDimension);
  facts.shapes[1] = {50, 1};
  EXPECT_EQ(refused(facts), Kind::ArrayRank);
  facts = add_facts(50);
  facts.dtypes[2] = "garbage";
  EXPECT_EQ(refused(facts), Kind::ArgumentType);
  facts.dtypes[2] = "f16";
  EXPECT_EQ(refused(facts), Kind::ArrayElements);
  facts.dtypes.pop_back();
  EXPECT_EQ(refused(facts), Kind::BadPlan);
}

/// As the author's layer gives a kernel that it traced.
struct Trace {
  std::shared_ptr<const ir::Module> module;
  std::vector<std::string> map_tensors;
  std::uint64_t dynamic_shared_bytes = 0;
};

TEST(ComposeTest, ATraceSaysWhatALaunchPasses) {
  const auto module = module_of(changed_text(
      ".address_size 64\n", ".address_size 64\n.extern .shared .align 16 .b8 dyn_smem[];\n"));
  EXPECT_EQ(refusal(add_signature(), add_launch(50), module), Kind::LaunchShape);
  const auto kernel =
      compose(Trace{module, {}, 512}, add_signature(), add_facts(50), add_launch(50));
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->image->plan().dynamic_shared, 512U);
  EXPECT_EQ(compose(Trace{module, {}, 1U << 20}, add_signature(), add_facts(50), add_launch(50))
                .error()
                .kind,
            Kind::SharedTarget);
  EXPECT_EQ(compose(Trace{module, {"d"}, 512}, add_signature(), add_facts(50), add_launch(50))
                .error()
                .kind,
            Kind::BadPlan)
      << "a map over no tensor";
}

TEST(ComposeTest, WhatDoesNotFitTheModuleIsRefused) {
  const Signature signature = add_signature();
  Signature changed = signature;
  changed.kernel = "no_such";
  EXPECT_EQ(refusal(changed, add_launch(50)), Kind::EmuNoEntry);
  changed = signature;
  changed.scalars.clear();
  KernelLaunch launch = add_launch(50);
  launch.scalars.clear();
  EXPECT_EQ(refusal(changed, launch), Kind::KernelParameters);
  changed = signature;
  changed.scalars[0].type = "u33";
  EXPECT_EQ(refusal(changed, add_launch(50)), Kind::DeclarationType);
  changed = signature;
  changed.outputs.clear();
  EXPECT_EQ(refusal(changed, add_launch(50)), Kind::BadPlan);
  launch = add_launch(50);
  launch.maps = {{"d"}};
  EXPECT_EQ(refusal(signature, launch), Kind::BadPlan);
  launch.maps = {{"a"}};
  EXPECT_EQ(refusal(signature, launch), Kind::ArrayMap);  // rows of 200 bytes
  launch = add_launch(50);
  launch.cluster = {3, 1, 1};
  EXPECT_EQ(refusal(signature, launch), Kind::LaunchShape);
  launch = add_launch(50);
  launch.dynamic_shared = 300'000;
  EXPECT_EQ(refusal(signature, launch), Kind::SharedTarget);
  launch = add_launch(50);
  launch.is_programmatic = true;  // and never waits
  EXPECT_EQ(refusal(signature, launch), Kind::DeclarationValue);
}

TEST(ComposeTest, TheBlockIsTheOneThatTheTextAsksFor) {
  std::string text = kernels::kAdd;
  const std::size_t body = text.find('{');
  ASSERT_NE(body, std::string::npos);
  EXPECT_EQ(refusal(add_signature(), add_launch(50),
                    module_of(std::string(text).insert(body, ".reqntid 64\n"))),
            Kind::BlockDirective);
  EXPECT_EQ(refusal(add_signature(), add_launch(50),
                    module_of(std::string(text).insert(body, ".maxntid 8, 2\n"))),
            Kind::BlockDirective);
  const auto fits = compose(module_of(text.insert(body, ".maxntid 8, 4\n")), add_signature(),
                            add_facts(50), add_launch(50));
  EXPECT_TRUE(fits) << fits.error().message();
}

TEST(Compose, InOutTensorsAndFillsTravelWithTheKernel) {
  Signature signature = add_signature();
  signature.inouts = 1;
  signature.out_init = "2.5";
  const auto kernel = compose(add_module(), signature, add_facts(50), add_launch(50));
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_FALSE(kernel->is_written(0));
  EXPECT_TRUE(kernel->is_written(1));
  EXPECT_TRUE(kernel->is_written(2));
  const std::vector<driver::Fill> fills = {{2, 4, 0x40200000, 50}};
  EXPECT_EQ(kernel->image->plan().fills, fills);
  const auto bytes = kernel->to_bytes();
  ASSERT_TRUE(bytes);
  EXPECT_NE(bytes->find("\ninout "), std::string::npos);
  const auto back = SavedKernel::from_bytes(*bytes);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->inouts, 1U);
  EXPECT_EQ(back->image->plan(), kernel->image->plan());
}

TEST(Compose, FillsThatAreNoValuesAreRefused) {
  for (const char* value : {"one", "1e400x", "0x1", "--1"}) {
    Signature signature = add_signature();
    signature.out_init = value;
    EXPECT_EQ(refusal(signature, add_launch(50)), Kind::DeclarationType) << value;
  }
  Signature signature = add_signature();
  signature.out_init = "0";
  KernelLaunch launch = add_launch(50);
  launch.is_programmatic = true;
  EXPECT_FALSE(compose(add_module(), signature, add_facts(50), launch));
  signature.batch = "N";
  signature.inouts = 1;
  EXPECT_EQ(refusal(signature, add_launch(50)), Kind::DeclarationType);
  signature.inouts = 3;
  EXPECT_EQ(refusal(signature, add_launch(50)), Kind::DeclarationType);
}

}  // namespace
}  // namespace pyptx::interop
