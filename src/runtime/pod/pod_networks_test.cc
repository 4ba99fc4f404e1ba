#include "runtime/pod/pod_networks.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/network.h"
#include "network/plugins_for_test.h"
#include "runtime/objects/parts_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPod[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

class PodNetworksTest : public PartsTest {
 protected:
  PodNetworksTest() {
    scripts_.WriteConfig("10.conflist", R"({"cniVersion": "1.0.0", "name": "pods",
        "plugins": [{"type": "main"}]})");
    scripts_.WriteGood("main", R"({"cniVersion": "1.0.0",
        "interfaces": [{"name": "eth0", "sandbox": "/n"}],
        "ips": [{"address": "10.1.0.5/16", "interface": 0}]})");
    network::Options options{.host = *FsRoot::Open("/"), .state = *scripts_.root().Sub("state")};
    options.config_directory = scripts_.conf();
    options.plugin_directories = {scripts_.bin()};
    network_ = *network::Network::Open(std::move(options));
    options_.network = network_.get();
    EXPECT_TRUE(run_.MakeDirs(absl::StrCat("sandboxes/", kPod)).ok());
  }
  static SandboxRecord Networked() {
    SandboxRecord record = SandboxOf(kPod);
    record.spec.name = "web";
    record.spec.hostname = "web";
    record.spec.namespaces.network = NamespaceMode::kPod;
    return record;
  }

  network::ScriptedPlugins scripts_;
  std::unique_ptr<network::Network> network_;
  PodNetworks networks_{options_, &objects_};
};

TEST_F(PodNetworksTest, AnAttachedPodHasAddressesUntilItIsDetached) {
  std::vector<std::string> phases;
  options_.observe_phase = [&](const char* phase, absl::Duration) { phases.emplace_back(phase); };
  const absl::Status attached = networks_.Attach(Networked(), "");
  ASSERT_TRUE(attached.ok()) << attached;
  EXPECT_THAT(networks_.Attached(), ElementsAre(kPod));
  EXPECT_THAT(networks_.Addresses(kPod), ElementsAre("10.1.0.5"));
  EXPECT_THAT(run_.Read(absl::StrCat("sandboxes/", kPod, "/hosts")).value_or(""),
              HasSubstr("10.1.0.5\tweb\n"));
  EXPECT_THAT(phases, ElementsAre("sandbox_network_plugins", "sandbox_network"));
  EXPECT_TRUE(networks_.Detach(kPod).ok());
  EXPECT_FALSE(networks_.IsAttached(kPod));
  EXPECT_THAT(networks_.Addresses(kPod), IsEmpty());
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
}

TEST_F(PodNetworksTest, APodOnTheHostsNetworkIsNotAttached) {
  SandboxRecord record = Networked();
  record.spec.namespaces.network = NamespaceMode::kNode;
  EXPECT_TRUE(networks_.Attach(record, "").ok());
  EXPECT_FALSE(networks_.IsAttached(kPod));
  EXPECT_THAT(scripts_.calls(), IsEmpty());
}

TEST_F(PodNetworksTest, WithoutANetworkEveryCallDoesNothing) {
  options_.network = nullptr;
  Add(Networked());
  EXPECT_TRUE(networks_.Attach(Networked(), "").ok());
  EXPECT_TRUE(networks_.Detach(kPod).ok());
  EXPECT_FALSE(networks_.IsAttached(kPod));
  EXPECT_THAT(networks_.Attached(), IsEmpty());
  EXPECT_TRUE(networks_.CollectGarbage().ok());
  std::vector<Finding> findings;
  networks_.Check(&findings);
  EXPECT_THAT(findings, IsEmpty());
}

TEST_F(PodNetworksTest, AReadyPodWhoseNetworkChangedIsAFinding) {
  ASSERT_TRUE(networks_.Attach(Networked(), "").ok());
  const auto sandbox = Add(Networked());
  std::vector<Finding> findings;
  networks_.Check(&findings);
  EXPECT_THAT(findings, IsEmpty());
  scripts_.Write("main", "[ $CNI_COMMAND != CHECK ] || { echo '{\"msg\": \"no eth0\"}'; exit 1; }");
  networks_.Check(&findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].difference, Difference::kSandboxNetworkBroken);
  EXPECT_EQ(findings[0].sandbox_id, kPod);
  EXPECT_THAT(findings[0].what, HasSubstr("no eth0"));
  {
    absl::MutexLock lock(&sandbox->mutex);
    sandbox->record.state = SandboxState::kNotReady;
  }
  findings.clear();
  networks_.Check(&findings);
  EXPECT_THAT(findings, IsEmpty()) << "a stopped pod needs no network";
}

TEST_F(PodNetworksTest, AFailedAttachLeavesARecordForDetach) {
  scripts_.Write("main", "[ $CNI_COMMAND != ADD ] || { echo '{\"msg\": \"no bridge\"}'; exit 1; }");
  EXPECT_FALSE(networks_.Attach(Networked(), "").ok());
  EXPECT_TRUE(networks_.IsAttached(kPod));
  EXPECT_TRUE(networks_.Detach(kPod).ok());
  EXPECT_FALSE(networks_.IsAttached(kPod));
}

}  // namespace
}  // namespace plimsoll::runtime
