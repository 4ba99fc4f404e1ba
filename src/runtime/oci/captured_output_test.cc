#include "runtime/oci/captured_output.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kSure = CapturedOutput::kSureBytes;

std::string Text(CapturedOutput& output, CapturedOutput::Stream stream) {
  return output.TakeText(stream);
}

TEST(CapturedOutputTest, KeepsWhatCameThroughThePipes) {
  CapturedOutput output(1000, nullptr);
  ASSERT_TRUE(output.Open().ok());
  ASSERT_EQ(write(output.writer(CapturedOutput::kOut), "out", 3), 3);
  ASSERT_EQ(write(output.writer(CapturedOutput::kErr), "err", 3), 3);
  EXPECT_EQ(output.Read(CapturedOutput::kOut), 3u);
  EXPECT_EQ(output.Read(CapturedOutput::kOut), 0u);
  output.ReadRest();
  EXPECT_EQ(output.reader(CapturedOutput::kErr), -1);
  EXPECT_EQ(Text(output, CapturedOutput::kOut), "out");
  EXPECT_EQ(Text(output, CapturedOutput::kErr), "err");
}

TEST(CapturedOutputTest, TheShorterStreamIsSureOfHalf) {
  CapturedOutput output(1000, nullptr);
  output.Append(CapturedOutput::kOut, std::string(2000, 'o'));
  EXPECT_EQ(output.text(CapturedOutput::kOut).size(), 1000u);
  output.Append(CapturedOutput::kErr, std::string(300, 'e'));
  EXPECT_EQ(output.text(CapturedOutput::kOut).size(), 700u);
  output.Append(CapturedOutput::kErr, std::string(300, 'e'));
  output.Append(CapturedOutput::kOut, "after a hole");
  EXPECT_EQ(Text(output, CapturedOutput::kOut),
            std::string(500, 'o') + "\n[plimsoll: output truncated after 500 bytes]\n");
  EXPECT_EQ(Text(output, CapturedOutput::kErr),
            std::string(500, 'e') + "\n[plimsoll: output truncated after 500 bytes]\n");
}

TEST(CapturedOutputTest, AllTogetherStayWithinTheBudgetButForWhatIsSure) {
  const auto budget = std::make_shared<ByteBudget>(100'000);
  ByteShare first_share(budget);
  CapturedOutput first(1 << 20, &first_share);
  first.Append(CapturedOutput::kOut, std::string(500'000, 'a'));
  EXPECT_EQ(first.text(CapturedOutput::kOut).size(), 100'000u);
  ByteShare second_share(budget);
  CapturedOutput second(1 << 20, &second_share);
  second.Append(CapturedOutput::kErr, std::string(500'000, 'b'));
  EXPECT_EQ(second.text(CapturedOutput::kErr).size(), kSure);
  second.Append(CapturedOutput::kOut, "a probe's word");
  EXPECT_EQ(Text(second, CapturedOutput::kOut), "a probe's word");
  EXPECT_THAT(
      Text(second, CapturedOutput::kErr),
      EndsWith("after 16384 bytes: the output of all commands together has reached its limit]\n"));
}

TEST(CapturedOutputTest, WhatTheBudgetGetsBackFillsNoHole) {
  const auto budget = std::make_shared<ByteBudget>(0);
  ByteShare share(budget);
  CapturedOutput output(1 << 20, &share);
  output.Append(CapturedOutput::kOut, std::string(kSure + 1, 'a'));
  budget->GiveBack(1 << 20);
  output.Append(CapturedOutput::kOut, "b");
  EXPECT_THAT(Text(output, CapturedOutput::kOut), Not(HasSubstr("b\n")));
}

TEST(CapturedOutputTest, TheShareHoldsInTheEndWhatWasKept) {
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  ByteShare share(budget);
  CapturedOutput output(1 << 20, &share);
  ASSERT_TRUE(output.Open().ok());
  output.Append(CapturedOutput::kOut, std::string(1000, 'a'));
  EXPECT_GE(share.bytes(), 1000u);
  output.ReadRest();
  EXPECT_EQ(share.bytes(), 1000u);
}

}  // namespace
}  // namespace plimsoll::runtime
