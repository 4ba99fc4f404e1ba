#include "network/network.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/network_fixture_for_test.h"

namespace plimsoll::network {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(NetworkTest, WithoutConfigurationThereIsNoNetwork) {
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  const auto added = network_->Add(pod);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_FALSE(added->is_attached);
  EXPECT_THAT(added->warnings, ElementsAre(HasSubstr("there is no CNI network")));
  EXPECT_FALSE(network_->IsAttached(id_));
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_THAT(std::string(network_->Ready().message()),
              StartsWith("NetworkPluginNotReady: no CNI network"));
}

TEST_F(NetworkTest, OneThatCanNotBeUsedIsAnErrorUnlessItIsOptional) {
  scripts_.WriteConfig("10.conf", R"({"cniVersion": "1.0.0", "name": "n", "type": "absent"})");
  EXPECT_TRUE(absl::IsFailedPrecondition(network_->Add(Pod()).status()));
  EXPECT_THAT(std::string(network_->Ready().message()),
              AllOf(StartsWith("NetworkPluginNotReady: network n of"), HasSubstr("plugin absent")));
  scripts_.WriteConfig("10.conf", "{");
  EXPECT_TRUE(absl::IsFailedPrecondition(network_->Add(Pod()).status()));
  EXPECT_THAT(std::string(network_->Ready().message()), HasSubstr("10.conf: not valid JSON"));
  EXPECT_FALSE(network_->IsAttached(id_));

  is_optional_ = true;
  Open();
  const auto added = network_->Add(Pod());
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_FALSE(added->is_attached);
}

TEST_F(NetworkTest, StatusOfThePluginsIsAskedFrom11On) {
  WriteChain("1.0.0");
  EXPECT_TRUE(network_->Ready().ok());
  EXPECT_THAT(scripts_.calls(), IsEmpty());
  WriteChain("1.1.0");
  EXPECT_TRUE(network_->Ready().ok());
  EXPECT_THAT(scripts_.calls(), ElementsAre("STATUS first", "STATUS second"));
  // It does not ask each time.
  EXPECT_TRUE(network_->Ready().ok());
  EXPECT_EQ(scripts_.calls().size(), 2u);
  Open();
  scripts_.Write("second", R"(echo '{"code": 50, "msg": "no addresses left"}'; exit 1)");
  EXPECT_THAT(std::string(network_->Ready().message()),
              AllOf(StartsWith("NetworkPluginNotReady: "), HasSubstr("no addresses left")));
}

TEST_F(NetworkTest, OneStatusThatFailsLeavesTheNetworkReady) {
  WriteChain("1.1.0");
  EXPECT_TRUE(network_->Ready().ok());
  scripts_.Write("second", R"(echo '{"code": 50, "msg": "no addresses left"}'; exit 1)");
  passed_ = kStatusAge;
  EXPECT_TRUE(network_->Ready().ok()) << network_->Ready();
  EXPECT_THAT(scripts_.calls(),
              ElementsAre("STATUS first", "STATUS second", "STATUS first", "STATUS second"));
  passed_ += kStatusGrace;
  EXPECT_THAT(std::string(network_->Ready().message()), HasSubstr("no addresses left"));
}

TEST_F(NetworkTest, GarbageCollectionNamesWhatIsInUse) {
  WriteChain("1.0.0");
  ASSERT_TRUE(network_->Add(Pod()).ok());
  ASSERT_TRUE(network_->CollectGarbage().ok());
  EXPECT_THAT(scripts_.calls(), Not(Contains("GC first")));
  WriteChain("1.1.0");
  ASSERT_TRUE(network_->CollectGarbage().ok());
  const Json valid =
      Json::parse(absl::StrCat(R"([{"containerID": ")", id_, R"(", "ifname": "eth0"}])"));
  EXPECT_EQ(scripts_.InputOf("second", "GC")["cni.dev/valid-attachments"], valid);
  EXPECT_EQ(scripts_.InputOf("second", "GC")["cni.dev/attachments"], valid);
}

// A GC might take the result of a fresh ADD for garbage.
TEST_F(NetworkTest, NothingIsCollectedBesideAnAdd) {
  WriteChain("1.1.0");
  const std::string begun = scripts_.path() + "/begun";
  const std::string let = scripts_.path() + "/let";
  ASSERT_EQ(mkfifo(begun.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(let.c_str(), 0600), 0);
  scripts_.Write("first", absl::StrCat("[ $CNI_COMMAND != ADD ] || { : > ", begun, "; : > ", let,
                                       "; echo '", kResult, "'; }"));
  std::thread adder([this] { EXPECT_TRUE(network_->Add(Pod()).ok()); });
  const UniqueFd in_add(open(begun.c_str(), O_RDONLY | O_CLOEXEC));  // waits for the writer
  EXPECT_TRUE(absl::IsUnavailable(network_->CollectGarbage()));
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD first"));
  const UniqueFd go_on(open(let.c_str(), O_RDONLY | O_CLOEXEC));
  adder.join();
  EXPECT_TRUE(network_->CollectGarbage().ok());
  EXPECT_THAT(scripts_.calls(), Contains("GC second"));
}

}  // namespace
}  // namespace plimsoll::network
