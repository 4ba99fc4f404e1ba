#include "cri/calls/grpc_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::cri {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Said(const std::string& message) {
  return ToGrpcStatus(absl::NotFoundError(message)).error_message();
}

TEST(GrpcStatus, KeepsCodeAndMessage) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  const grpc::Status status = ToGrpcStatus(absl::NotFoundError("no such pod"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such pod");
  EXPECT_EQ(Said(std::string(4096, 'x')), std::string(4096, 'x'));
}

TEST(GrpcStatus, ALongMessageLosesItsMiddle) {
  const std::string said =
      Said(absl::StrCat("container ", std::string(100 << 10, 'x'), ": there is none"));
  EXPECT_LE(said.size(), 4096u);
  EXPECT_GT(said.size(), 4000u);
  EXPECT_THAT(said, AllOf(StartsWith("container xx"), HasSubstr("x [cut] x"),
                          EndsWith("xx: there is none")));
}

// Each of these takes three bytes in a trailer, and none may be cut in two.
TEST(GrpcStatus, WhatIsEncodedCountsAsThatAndStaysWhole) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\xe2\x82\xac";
  for (const char* before : {"", "a", "ab"}) {
    std::string said = Said(absl::StrCat(before, euros, before));
    EXPECT_LE(said.size(), 4096u / 3 + 16);
    EXPECT_THAT(said, AllOf(StartsWith(absl::StrCat(before, "\xe2\x82\xac")),
                            HasSubstr("\xac [cut] \xe2"), EndsWith(before)));
  }
}

}  // namespace
}  // namespace plimsoll::cri
