#include "daemon/node_nri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/socket_file.h"
#include "base/unique_fd.h"

namespace plimsoll::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeNriTest : public ::testing::Test {
 protected:
  NodeNriTest() {
    config_.run_dir = dir_.root().PathOf("run");
    config_.nri.plugin_dir = "";
  }
  ~NodeNriTest() override { nri_.Stop(); }

  absl::Status Open() {
    return nri_.Open({.config = config_,
                      .version = "1",
                      .host = *FsRoot::Open("/"),
                      .run = dir_.root(),
                      .events = &events_,
                      .log = &log_});
  }
  // Another process's socket.
  UniqueFd Occupy(const std::string& path) {
    EXPECT_TRUE(FsRoot::OpenOrCreate(path.substr(0, path.rfind('/')), 0700).ok());
    auto socket = ListenAt({path, 0600, std::nullopt});
    EXPECT_TRUE(socket.ok()) << socket.status();
    return socket.ok() ? *std::move(socket) : UniqueFd();
  }

  const TestDir dir_;
  Config config_;
  std::vector<std::string> lines_;
  Log log_{LogFormat::kText, LogLevel::kInfo,
           [this](LogLevel, const std::string& line) { lines_.push_back(line); }};
  runtime::EventLog events_{16};
  NodeNri nri_;
};

TEST_F(NodeNriTest, ACheckFindsNothingWrongWithTheDefaults) {
  EXPECT_TRUE(CheckNri(Config()).ok()) << CheckNri(Config());
  config_.nri.policies["10-a"].strikes = -1;
  EXPECT_THAT(CheckNri(config_).message(), HasSubstr("nri: "));
}

TEST_F(NodeNriTest, SwitchedOffItHasNoHooks) {
  config_.nri.enabled = false;
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(nri_.hooks(), nullptr);
  EXPECT_TRUE(nri_.Start(nullptr, nullptr).ok());
  EXPECT_FALSE(nri_.State().is_enabled);
  EXPECT_THAT(nri_.Troubles(), IsEmpty());
}

TEST_F(NodeNriTest, ListensInTheRunDirectory) {
  ASSERT_TRUE(Open().ok());
  EXPECT_NE(nri_.hooks(), nullptr);
  ASSERT_TRUE(nri_.Start(nullptr, nullptr).ok());
  const NriState state = nri_.State();
  EXPECT_TRUE(state.is_enabled);
  EXPECT_EQ(state.socket, config_.run_dir + "/nri/nri.sock");
  EXPECT_THAT(state.plugins, IsEmpty());
  EXPECT_THAT(nri_.Troubles(), IsEmpty());
}

// Another runtime's; the node must come up.
TEST_F(NodeNriTest, WithoutTheSocketOfAutoItGoesOn) {
  const std::string path = config_.run_dir + "/nri/nri.sock";
  const UniqueFd other = Occupy(path);
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(nri_.Start(nullptr, nullptr).ok());
  EXPECT_EQ(nri_.State().socket, "");
  EXPECT_THAT(nri_.Troubles(),
              ElementsAre(AllOf(HasSubstr("no NRI plugin can connect to " + path),
                                HasSubstr("set nri.socket to a path of this daemon's own"))));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("warning no NRI plugin can connect")));
}

TEST_F(NodeNriTest, ANamedSocketIsNeeded) {
  config_.nri.socket = dir_.root().PathOf("own/nri.sock");
  const UniqueFd other = Occupy(config_.nri.socket);
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(nri_.Start(nullptr, nullptr).message(),
              HasSubstr(absl::StrCat("nri.socket: ", config_.nri.socket)));
}

TEST_F(NodeNriTest, ARequiredPluginThatIsNotThereIsATrouble) {
  config_.nri.policies["10-pinner"] = {.required = true};
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(nri_.Start(nullptr, nullptr).ok());
  EXPECT_THAT(nri_.Troubles(), ElementsAre(HasSubstr("NRI plugin 10-pinner is required")));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("warning NRI plugin 10-pinner is required")));
}

}  // namespace
}  // namespace plimsoll::daemon
