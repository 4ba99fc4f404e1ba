#include "runtime/oci/exec/process.h"

#include <sys/resource.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

TEST(ExecProcessTest, IsTheContainersWithAnotherCommand) {
  const Json config = Json::parse(R"({"ociVersion": "1.0.2", "process": {
      "args": ["sleep", "1000"], "terminal": true, "consoleSize": {"width": 1, "height": 2},
      "cwd": "/srv", "env": ["A=1"], "noNewPrivileges": true, "oomScoreAdj": 100,
      "rlimits": [{"type": "RLIMIT_NOFILE", "soft": 1, "hard": 2}],
      "selinuxLabel": "u:r:t:s0",
      "user": {"uid": 33, "gid": 34, "additionalGids": [34, 77]}}})");
  const auto text = ExecProcess(config.dump(), {"echo", "a \"b\""}, /*terminal=*/false);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(Json::parse(*text), Json::parse(R"({
      "args": ["echo", "a \"b\""], "terminal": false, "cwd": "/srv", "env": ["A=1"],
      "noNewPrivileges": true, "selinuxLabel": "u:r:t:s0",
      "user": {"uid": 33, "gid": 34, "additionalGids": [34, 77]}})"));
}

TEST(ExecProcessTest, ATerminalHasAType) {
  const auto with_terminal = [](const char* config) {
    const auto text = ExecProcess(config, {"sh"}, /*terminal=*/true);
    return text.ok() ? Json::parse(*text) : Json(text.status().ToString());
  };
  EXPECT_EQ(with_terminal(R"({"process": {"env": ["A=b"], "terminal": false}})"),
            Json::parse(R"({"args": ["sh"], "env": ["A=b", "TERM=xterm"], "terminal": true})"));
  EXPECT_EQ(with_terminal(R"({"process": {"env": ["TERM=linux"]}})"),
            Json::parse(R"({"args": ["sh"], "env": ["TERM=linux"], "terminal": true})"));
  EXPECT_EQ(with_terminal(R"({"process": {}})"),
            Json::parse(R"({"args": ["sh"], "env": ["TERM=xterm"], "terminal": true})"));
}

TEST(ExecProcessTest, WhatIsNoConfigIsRefused) {
  for (const char* config : {"", "[]", "{}", R"({"process": 1})", R"({"process": {)"}) {
    EXPECT_TRUE(absl::IsDataLoss(ExecProcess(config, {"true"}, false).status())) << config;
  }
}

TEST(ExecProcessTest, LimitsAreForTheLauncherUnlessItHasThem) {
  rlimit own = {};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &own), 0);
  const Json config = {
      {"process",
       {{"rlimits",
         {{{"type", "RLIMIT_NOFILE"}, {"soft", 1}, {"hard", UINT64_MAX}},
          {{"type", "RLIMIT_STACK"}, {"soft", own.rlim_cur}, {"hard", own.rlim_max}}}}}}};
  EXPECT_THAT(ExecLimits(config.dump()), ::testing::ElementsAre("7:1:18446744073709551615"));
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  const Json same = {
      {"process",
       {{"rlimits",
         {1, {{"type", "RLIMIT_NOFILE"}, {"soft", own.rlim_cur}, {"hard", own.rlim_max}}}}}}};
  EXPECT_THAT(ExecLimits(same.dump()),
              ::testing::ElementsAre(absl::StrCat("7:", own.rlim_cur, ":", own.rlim_max)));
  for (const char* text : {"", "{}", R"({"process": 1})", R"({"process": {}})"}) {
    EXPECT_THAT(ExecLimits(text), ::testing::IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace plimsoll::runtime
