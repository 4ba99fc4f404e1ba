// For tests: a node's network of plugins that are scripts.
#ifndef PLIMSOLL_NETWORK_NETWORK_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_NETWORK_NETWORK_FIXTURE_FOR_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/monotonic_time.h"
#include "base/random_id.h"
#include "gtest/gtest.h"
#include "network/json.h"
#include "network/network.h"
#include "network/plugins_for_test.h"

namespace plimsoll::network {

// The result of a plugin that gives two addresses.
inline constexpr char kResult[] = R"({"cniVersion": "1.0.0",
  "interfaces": [{"name": "br0"}, {"name": "eth0", "sandbox": "/n"}],
  "ips": [{"address": "10.1.0.5/16", "interface": 1}, {"address": "fd00::5/64", "interface": 1}]})";

// One network of scripted plugins, and a pod for it.
class NetworkTest : public ::testing::Test {
 protected:
  NetworkTest() { Open(); }

  void Open() {
    network_.reset();
    Options options{.host = *FsRoot::Open("/"), .state = *scripts_.root().Sub("state")};
    options.config_directory = scripts_.conf();
    options.plugin_directories = {scripts_.bin()};
    options.interfaces = interfaces_;
    options.is_optional = is_optional_;
    options.garbage_patience = absl::ZeroDuration();
    options.now = [this] { return MonotonicNow() + passed_; };
    auto network = Network::Open(std::move(options));
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
  }
  // A chain of "first" and "second", the latter with all capabilities.
  void WriteChain(const std::string& version = "1.0.0") {
    scripts_.WriteConfig("10.conflist",
                         absl::StrCat(R"({"cniVersion": ")", version, R"(", "name": "pods",
        "plugins": [{"type": "first", "mtu": 1400},
                    {"type": "second", "capabilities": {"portMappings": true, "bandwidth": true,
                                                        "dns": true, "ipRanges": true}}]})"));
    scripts_.WriteGood("first", kResult);
    scripts_.WriteGood("second", kResult);
  }
  Attachment Pod() {
    Attachment attachment;
    attachment.id = id_;
    attachment.netns = "/proc/self/ns/net";
    attachment.pod_name = "web";
    attachment.pod_namespace = "default";
    attachment.pod_uid = "u-1";
    return attachment;
  }
  // Sets the boot id of the attachment; null removes it.
  void SetBootOnRecord(const char* boot_id) {
    Json record = Json::parse(scripts_.root().Read(RecordPath()).value_or(""), nullptr,
                              /*allow_exceptions=*/false);
    ASSERT_TRUE(record.is_object() && record.contains("bootId"));
    record.erase("bootId");
    if (boot_id != nullptr) record["bootId"] = boot_id;
    ASSERT_TRUE(scripts_.root().ReplaceFile(RecordPath(), Dump(record), 0600).ok());
  }
  std::string RecordPath() const { return absl::StrCat("state/network/", id_, ".json"); }

  const std::string id_ = RandomId();
  ScriptedPlugins scripts_;
  std::vector<std::string> interfaces_;
  bool is_optional_ = false;
  absl::Duration passed_;  // added to the clock
  std::unique_ptr<Network> network_;
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_NETWORK_FIXTURE_FOR_TEST_H_
