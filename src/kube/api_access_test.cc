#include "kube/api_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::kube {
namespace {

using ::testing::HasSubstr;

class ApiAccessTest : public testing::Test {
 protected:
  ApiAccessTest() {
    config_.kubeconfig = dir_.root().PathOf("kubeconfig");
    config_.state_directory = dir_.root().PathOf("state");
    Write("{token: t}");
  }
  void Write(const std::string& user) {
    const std::string text = absl::StrCat(
        "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: ",
        user, "}]\n");
    EXPECT_TRUE(dir_.root().ReplaceFile("kubeconfig", text).ok());
  }
  absl::Status Check() {
    return CheckFiles(config_, [this](const std::string& text) { warnings_.push_back(text); });
  }

  TestDir dir_;
  KubeProgramConfig config_;
  std::vector<std::string> warnings_;
};

TEST_F(ApiAccessTest, FilesThatAreRightAreLeftAlone) {
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_FALSE(dir_.root().Exists("state")) << "a check makes nothing";
  ASSERT_TRUE(dir_.root().MakeDirs("state").ok());
  EXPECT_TRUE(Check().ok()) << Check();
  config_.kubeconfig.clear();
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ApiAccessTest, AKubeconfigThatCantBeReadIsAFault) {
  ASSERT_TRUE(dir_.root().RemoveFile("kubeconfig").ok());
  EXPECT_THAT(std::string(Check().message()), HasSubstr("kubeconfig: "));
  ASSERT_EQ(mkfifo(config_.kubeconfig.c_str(), 0600), 0);
  EXPECT_THAT(std::string(Check().message()), HasSubstr("is a FIFO"));
}

TEST_F(ApiAccessTest, AStateDirectoryMustBeOne) {
  ASSERT_TRUE(dir_.root().ReplaceFile("state", "").ok());
  EXPECT_THAT(std::string(Check().message()),
              HasSubstr(absl::StrCat("stateDirectory: \"", config_.state_directory, "\" is a")));
  EXPECT_THAT(std::string(Check().message()), HasSubstr(", not a directory"));
  config_.state_directory += "/below";
  EXPECT_THAT(std::string(Check().message()), HasSubstr("stateDirectory: "));
}

TEST_F(ApiAccessTest, AUserWithoutCredentialsIsToldOf) {
  Write("{}");
  EXPECT_TRUE(Check().ok()) << Check();
  ASSERT_FALSE(warnings_.empty());
  EXPECT_THAT(warnings_.front(), HasSubstr("the context's user has no credentials"));
  warnings_.clear();
  const auto client = OpenApi(
      config_, [](const char*) { return static_cast<const char*>(nullptr); },
      [this](const std::string& text) { warnings_.push_back(text); });
  EXPECT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(warnings_.size(), 1u);
}

}  // namespace
}  // namespace plimsoll::kube
