// SPDX-License-Identifier: Apache-2.0
#include "pyptx/interop/dlpack.h"

#include <gtest/gtest.h>

#include <vector>

namespace pyptx::interop::dlpack {
namespace {

bool contiguous(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  Tensor tensor{};
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.shape = shape.data();
  tensor.strides = strides.data();
  return is_contiguous(tensor);
}

TEST(DlpackTest, ContiguityIgnoresStridesThatAddressNothing) {
  EXPECT_TRUE(contiguous({4, 8}, {8, 1}));
  EXPECT_FALSE(contiguous({4, 8}, {1, 4}));
  EXPECT_FALSE(contiguous({4, 8}, {16, 1})) << "rows with a gap";
  EXPECT_TRUE(contiguous({1, 8}, {999, 1}));
  EXPECT_TRUE(contiguous({8, 1}, {1, 7}));
  EXPECT_TRUE(contiguous({}, {}));
  EXPECT_TRUE(contiguous({0, 8}, {1, 1}));
  EXPECT_TRUE(contiguous({3, 0}, {5, 5}));
  EXPECT_FALSE(contiguous({2}, {0})) << "a broadcast";
}

TEST(DlpackTest, FindsTypesUnderEveryName) {
  for (const ElementType& element : element_types()) {
    EXPECT_EQ(find_element_type(element.name), &element);
    EXPECT_EQ(find_element_type(element.torch), &element);
    EXPECT_EQ(find_element_type("torch." + std::string(element.torch)), &element);
    EXPECT_EQ(find_element_type(element.type), &element);
  }
  EXPECT_EQ(find_element_type("float8_e8m0fnu")->name, "ue8m0");
  EXPECT_EQ(find_element_type({TypeCode::Float4E2m1fn, 4, 2})->name, "e2m1x2");
  EXPECT_EQ(find_element_type({TypeCode::Float8E4m3fn, 8, 1})->name, "e4m3");
  EXPECT_EQ(find_element_type({TypeCode::Bool, 8, 1})->name, "pred");
  EXPECT_EQ(find_element_type("b32"), nullptr);
  EXPECT_EQ(find_element_type("e2m1"), nullptr) << "half a byte: no framework has it alone";
  EXPECT_EQ(find_element_type("complex64"), nullptr);
  EXPECT_EQ(find_element_type({TypeCode::Float, 32, 2}), nullptr) << "a vector of two lanes";
}

TEST(DlpackTest, CountsBytes) {
  const std::vector<std::int64_t> shape{3, 5};
  EXPECT_EQ(byte_count({TypeCode::Bfloat, 16, 1}, shape), 30U);
  EXPECT_EQ(byte_count({TypeCode::Float, 32, 1}, {}), 4U);
  EXPECT_EQ(byte_count({TypeCode::Float4E2m1fn, 4, 2}, shape), 15U);
}

TEST(DlpackTest, WalksBackToATableItKnows) {
  ExchangeApi known{};
  known.header.version = {1, 7};
  ExchangeHeader newer{{3, 0}, &known.header};
  EXPECT_EQ(compatible_api(&known.header), &known);
  EXPECT_EQ(compatible_api(&newer), &known);
  newer.prev_api = nullptr;
  EXPECT_EQ(compatible_api(&newer), nullptr);
  known.header.version = {0, 9};
  EXPECT_EQ(compatible_api(&known.header), nullptr) << "before the ABI we declare";
  EXPECT_EQ(compatible_api(nullptr), nullptr);
}

}  // namespace
}  // namespace pyptx::interop::dlpack
