// Networks of pods as hooks see them: plugins that are scripts, in real namespaces.
#include "network/plugins_for_test.h"
#include "runtime/engine_hooks_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kHookedResult[] = R"({"cniVersion": "1.0.0",
    "interfaces": [{"name": "eth0", "sandbox": "/n"}],
    "ips": [{"address": "10.1.0.5/16", "interface": 0},
            {"address": "fd00::5/64", "interface": 0}]})";

class EngineHooksNetworksTest : public EngineHooksTest {
 protected:
  void SetUp() override {
    scripts_.WriteConfig("10.conflist", R"({"cniVersion": "1.0.0", "name": "pods",
        "plugins": [{"type": "main"}]})");
    scripts_.WriteGood("main", kHookedResult);
    network::Options options{.host = host_, .state = *scripts_.root().Sub("state")};
    options.config_directory = scripts_.conf();
    options.plugin_directories = {scripts_.bin()};
    auto network = network::Network::Open(std::move(options));
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
    EngineHooksTest::SetUp();
  }

  network::ScriptedPlugins scripts_;
};

TEST_F(EngineHooksNetworksTest, ThePodHasItsNetworkFromItsFirstHookToItsLast) {
  std::map<std::string, std::vector<std::string>> addresses;
  plugins_.on_hook = [&](const std::string& hook, const std::string&) {
    addresses[hook] = plugins_.last_pod().addresses;
  };
  const std::string pod = Pod();
  Started(pod);
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  for (const char* hook : {"RunSandbox", "CreateContainer", "StartContainer", "StopSandbox"}) {
    EXPECT_THAT(addresses[hook], ElementsAre("10.1.0.5", "fd00::5")) << hook;
  }
  EXPECT_THAT(engine_->Addresses(pod), IsEmpty());
}

TEST_F(EngineHooksNetworksTest, ARefusedPodGivesItsNetworkBack) {
  plugins_.faults.FailNext("RunSandbox", absl::InternalError("no"));
  EXPECT_FALSE(engine_->RunSandbox(PodSpec(), "").ok());
  EXPECT_THAT(network_->Attached(), IsEmpty());
  ExpectNothingLeft();
  EXPECT_TRUE(engine_->RunSandbox(PodSpec(), "").ok());
}

}  // namespace
}  // namespace plimsoll::runtime
