// For tests: the surroundings of pods' workers, over a fake runtime.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_HOST_FOR_TEST_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_HOST_FOR_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/life/fake_runtime_for_test.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_worker.h"
#include "agent/pods/records/pod_store.h"
#include "agent/pods/status/event_log.h"
#include "agent/pods/status/pod_board.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// A v1 Pod of one container, "main". `spec`: further fields of the spec, each with a comma behind
// it; `container`: the same of the container.
inline std::string OnePod(const std::string& name, const std::string& spec = "",
                          const std::string& container = "") {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {", spec,
                      "containers: [{", container, "name: main, image: i}]}}");
}

class PodsTest : public testing::Test {
 protected:
  PodsTest()
      : cri_(clock_),
        server_(std::make_unique<FakeCriServer>(cri_, Socket())),
        client_(OpenClient()),
        store_(*PodStore::Open(dir_.root())),
        events_(clock_, "node"),
        host_(Host()) {}

  std::string Socket() const { return dir_.path() + "/cri.sock"; }
  std::unique_ptr<pod::Client> OpenClient() const {
    pod::ClientOptions options;
    options.address = "unix://" + Socket();
    return *pod::Client::Open(std::move(options));
  }
  PodHost Host() {
    return {.client = *client_,
            .root = root_,
            .clock = clock_,
            .events = events_,
            .board = board_,
            .store = *store_,
            .node = {.name = "node", .host_ip = ""},
            .runtime_name = [] { return "fake"; },
            .state_directory = dir_.path(),
            .pod_class_types = nullptr,
            .classes = [](const pod::Manifest& pod) { return NoClasses(pod); },
            .node_classes = [] { return NodeClasses(); }};
  }
  // A worker of a pod that was put on record before.
  std::unique_ptr<PodWorker> WorkerOf(const PodRecord& record, const std::string& manifest) {
    return std::make_unique<PodWorker>(host_, record, Parsed(manifest));
  }
  // Puts a pod on record.
  PodRecord Record(const std::string& name, const std::string& manifest) {
    PodRecord record;
    record.uid = "uid-" + name;
    record.key = {"default", name};
    record.object = {{"metadata", {{"name", name}}}};
    record.created = clock_.Now();
    record.grace_s = Parsed(manifest).grace_period_s;
    EXPECT_TRUE(store_->Put({record}).ok());
    return record;
  }
  static pod::Manifest Parsed(const std::string& manifest) {
    auto pods = pod::ParseManifests(manifest, "test");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return pods->front();
  }
  // The message of the pod's event with this reason; empty: there is none.
  std::string EventOf(const std::string& name, const std::string& reason) const {
    for (const nlohmann::json& each : events_.List(PodKey{"default", name})) {
      if (each["reason"] == reason) return each["message"];
    }
    return "";
  }
  std::string Phase(const std::string& name) const {
    const PodBoard::Object pod = board_.Get({"default", name});
    return pod == nullptr ? "" : (*pod)["status"]["phase"].get<std::string>();
  }

  const TestDir dir_;
  const FsRoot root_ = *FsRoot::Open("/");
  SetClock clock_;
  FakeCri cri_;
  std::unique_ptr<FakeCriServer> server_;
  std::unique_ptr<pod::Client> client_;
  std::unique_ptr<PodStore> store_;
  KubeEventLog events_;
  PodBoard board_;
  PodHost host_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_HOST_FOR_TEST_H_
