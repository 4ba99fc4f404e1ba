// AgentPods and the pods on record that can't be read.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/records/unreadable_pod.h"
#include "agent/pods/status/pod_status.h"
#include "agent/pods/status/pod_subject.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

// The v1 Pod of one that can't be read: phase Unknown, with the reason.
nlohmann::json UnreadableObject(const PodRecord& record, absl::string_view why,
                                const std::string& node) {
  nlohmann::json object = UnseenPodObject(record, node);
  object["status"]["reason"] = "UnreadablePod";
  object["status"]["message"] = std::string(UnreadableError(record.key, why).message());
  return object;
}

}  // namespace

void AgentPods::SetAside(PodRecord record, const std::string& why) {
  nlohmann::json asked_for = std::exchange(record.object, BareObject(record.key));
  record.allocated = record.actuated = nullptr;
  if (record.deleted) {
    table_.Add(std::make_shared<PodWorker>(host_, record, BareManifest(record)));
    return;
  }
  // The pod's devices are on record, its requests are not known.
  const std::string fault = absl::StrCat(UnreadableError(record.key, why).message(),
                                         "; until then the node's room doesn't count its requests");
  host_.events.Add(SubjectOfKey(record.key), "Warning", "UnreadablePod", fault);
  if (note_) note_(fault);
  host_.board.Put(record.key, UnreadableObject(record, why, host_.node.name));
  const absl::MutexLock lock(&mutex_);
  unreadable_[record.key] = {record, why, std::move(asked_for)};
}

absl::Status AgentPods::EndAside(const PodKey& pod, std::optional<int64_t> grace_s) {
  PodRecord record = unreadable_.at(pod).record;
  record.deleted = host_.clock.Now();
  record.grace_s = grace_s.value_or(record.grace_s);
  PLIMSOLL_RETURN_IF_ERROR(host_.store.Put({record}));
  unreadable_.erase(record.key);
  table_.Add(std::make_shared<PodWorker>(host_, record, BareManifest(record)));
  return absl::OkStatus();
}

void AgentPods::ReplaceUnreadable() {
  std::vector<PodKey> replaced;
  for (const auto& [key, aside] : unreadable_) {
    // A damaged row doesn't say whether the file has changed: the pod runs on.
    if (!aside.object.is_object()) continue;
    const auto file = files_->pods.find(aside.record.file);
    if (file == files_->pods.end()) continue;
    const auto wanted = file->second.find(key);
    if (wanted == file->second.end() || wanted->second.object == aside.object) continue;
    replaced.push_back(key);
  }
  for (const PodKey& key : replaced) {
    const absl::Status status = EndAside(key, std::nullopt);
    if (status.ok()) continue;
    host_.events.Add(SubjectOfKey(key), "Warning", "FailedDelete", status.message());
  }
}

std::vector<PodRecord> AgentPods::Unreadable() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<PodRecord> records;
  for (const auto& [key, aside] : unreadable_) records.push_back(aside.record);
  return records;
}

}  // namespace plimsoll::agent
