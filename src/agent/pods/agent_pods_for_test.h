// For tests: the pods of an agent over a fake runtime.
#ifndef PLIMSOLL_AGENT_PODS_AGENT_PODS_FOR_TEST_H_
#define PLIMSOLL_AGENT_PODS_AGENT_PODS_FOR_TEST_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/allocation/fake_devices_for_test.h"
#include "agent/pods/allocation/managers_for_test.h"
#include "agent/pods/life/pod_host_for_test.h"
#include "base/wait_until_for_test.h"

namespace plimsoll::agent {

class AgentPodsTest : public PodsTest {
 protected:
  void TearDown() override { pods_.reset(); }
  void Start() {
    AgentPods::Options options{.host = Host()};
    options.before_admission = before_admission_;
    options.admit = [](const pod::Manifest&, const std::vector<const pod::Manifest*>&) {
      return std::optional<PodVerdict>();
    };
    options.node = [] { return nlohmann::json(); };
    options.max_threads = 4;
    options.host.may_start = [this] {
      return may_start_ ? absl::OkStatus() : absl::FailedPreconditionError("a kubelet's pods");
    };
    if (adapt_) adapt_(options);
    auto pods = AgentPods::Start(std::move(options));
    ASSERT_TRUE(pods.ok()) << pods.status();
    pods_ = *std::move(pods);
    if (managers_ == nullptr) return;
    const absl::Status managed = pods_->SetManagers(managers_, /*refit=*/false);
    ASSERT_TRUE(managed.ok()) << managed;
  }
  // Acts like a killed agent: what is on record stays, and the client is new.
  void Restart() {
    pods_.reset();
    client_ = OpenClient();
    Start();
  }
  void Apply(const std::string& name) {
    const auto applied = pods_->Apply(OnePod(name), "test");
    ASSERT_TRUE(applied.ok()) << applied.status();
  }
  bool AwaitPhase(const std::string& name, const std::string& phase) {
    return WaitUntil([&] { return Phase(name) == phase; });
  }
  bool AwaitGone(const std::string& name) {
    return WaitUntil([&] { return absl::IsNotFound(pods_->Get({"default", name}).status()); });
  }
  bool AwaitEvent(const std::string& name, const std::string& reason) {
    return WaitUntil([&] { return !EventOf(name, reason).empty(); });
  }
  // The reason of the pod's first container; empty: it doesn't wait.
  std::string WaitingReason(const std::string& name) const {
    return (*pods_->Get({"default", name}))
        .value("/status/containerStatuses/0/state/waiting/reason"_json_pointer, "");
  }
  std::string WaitingMessage(const std::string& name) const {
    return (*pods_->Get({"default", name}))
        .value("/status/containerStatuses/0/state/waiting/message"_json_pointer, "");
  }
  static std::map<PodKey, pod::PodObject> Wanted(const std::string& manifest) {
    return *WantedPods(manifest, "test");
  }
  void Execute(const std::string& sql) {
    const auto database =
        sqlite::Database::Open(dir_.root().PathOf(PodStore::kFileName), sqlite::Durability::kFull);
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE((*database)->Execute(sql).ok());
  }
  std::string UidOf(const std::string& name) {
    return (*pods_->Get({"default", name}))["metadata"]["uid"];
  }

  static nlohmann::json ObjectOf(const std::string& manifest) {
    return Wanted(manifest).begin()->second.object;
  }
  static std::string WithClass(const std::string& name, const std::string& of_rdt) {
    return OnePod(name, "", absl::StrCat("resources: {classes: {rdt: ", of_rdt, "}}, "));
  }
  static std::string WithCpu(const std::string& name, const std::string& cpu) {
    return OnePod(name, "", absl::StrCat("resources: {requests: {cpu: ", cpu, "}}, "));
  }
  PodRecord RecordOf(const std::string& name, const nlohmann::json& object) {
    PodRecord record;
    record.uid = "uid-" + name;
    record.key = {"default", name};
    record.object = object;
    record.created = clock_.Now();
    return record;
  }
  // On record as a pod that has a CPU, and waits for two.
  void PutWaiting(const std::string& name) {
    PodRecord record = RecordOf(name, ObjectOf(WithCpu(name, "2")));
    record.allocated = ObjectOf(WithCpu(name, "1"));
    record.generation = 2;
    record.pending = PodVerdict{"Deferred", "no room"};
    ASSERT_TRUE(store_->Put({record}).ok());
  }
  std::optional<PodRecord> OnRecord(const std::string& name) {
    const auto loaded = store_->Load();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (!loaded.ok()) return std::nullopt;
    for (const PodRecord& each : loaded->pods) {
      if (each.key.name == name) return each;
    }
    return std::nullopt;
  }
  std::string ClassOf(const std::string& name) {
    const auto record = OnRecord(name);
    if (!record) return "";
    return record->object.value("/spec/containers/0/resources/classes/rdt"_json_pointer, "");
  }

  std::shared_ptr<const NodeManagers> managers_ = NoManagers();  // null: none are known
  FakeDevices devices_;
  std::function<void()> before_admission_;
  std::function<void(AgentPods::Options&)> adapt_;
  absl::Notification asked_, answer_;
  std::atomic<bool> may_start_ = true;
  std::unique_ptr<AgentPods> pods_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_AGENT_PODS_FOR_TEST_H_
