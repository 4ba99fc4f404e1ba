#include "streaming/command_end.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll::streaming {
namespace {

using nlohmann::json;

TEST(CommandEnd, SuccessIsToldAsSuch) {
  const json status = json::parse(EndAsJson(0));
  EXPECT_EQ(status["status"], "Success");
  EXPECT_FALSE(status.contains("reason"));
  EXPECT_EQ(EndAsText(0), "");
}

TEST(CommandEnd, ExitCodesStandWhereClientsLookForThem) {
  const json status = json::parse(EndAsJson(3));
  EXPECT_EQ(status["status"], "Failure");
  EXPECT_EQ(status["reason"], "NonZeroExitCode");
  ASSERT_EQ(status["details"]["causes"].size(), 1);
  EXPECT_EQ(status["details"]["causes"][0]["reason"], "ExitCode");
  EXPECT_EQ(status["details"]["causes"][0]["message"], "3");
  EXPECT_NE(EndAsText(3).find("3"), std::string::npos);
}

TEST(CommandEnd, FailuresCarryCodeAndMessage) {
  const json status = json::parse(EndAsJson(absl::NotFoundError("no container x")));
  EXPECT_EQ(status["status"], "Failure");
  EXPECT_EQ(status["message"], "no container x");
  EXPECT_EQ(status["reason"], "NotFound");
  EXPECT_EQ(status["code"], 404);
  EXPECT_EQ(json::parse(EndAsJson(absl::DataLossError("?")))["code"], 500);
  EXPECT_EQ(EndAsText(absl::NotFoundError("no container x")), "no container x");
}

TEST(CommandEnd, MessagesThatAreNoUtf8AreStillJson) {
  EXPECT_TRUE(json::accept(EndAsJson(absl::InternalError("\xff\xfe"))));
}

TEST(TerminalSizes, AreReadFromAnyPieces) {
  TerminalSizes sizes;
  EXPECT_FALSE(sizes.Read("{\"Width\":80,").has_value());
  const auto size = sizes.Read("\"Height\":24}\n{\"Wid");
  ASSERT_TRUE(size.has_value());
  EXPECT_EQ(size->columns, 80);
  EXPECT_EQ(size->rows, 24);
  EXPECT_TRUE(sizes.Read("th\":1,\"Height\":2}").has_value());
}

TEST(TerminalSizes, TheLastOneCounts) {
  TerminalSizes sizes;
  const auto size = sizes.Read("{\"Width\":80,\"Height\":24}{\"Width\":90,\"Height\":30}");
  ASSERT_TRUE(size.has_value());
  EXPECT_EQ(size->columns, 90);
}

TEST(TerminalSizes, WhatIsNoneIsPassedOver) {
  TerminalSizes sizes;
  for (const char* text :
       {"}", "{}", "{\"Width\":-1,\"Height\":5}", "{\"Width\":70000,\"Height\":5}",
        "{\"Width\":\"80\",\"Height\":\"24\"}", "[1,2]", "garbage"}) {
    EXPECT_FALSE(sizes.Read(text).has_value()) << text;
  }
  EXPECT_FALSE(sizes.Read(std::string(1 << 20, '{')).has_value());
  EXPECT_TRUE(sizes.Read("{\"Width\":80,\"Height\":24}").has_value());
}

}  // namespace
}  // namespace plimsoll::streaming
