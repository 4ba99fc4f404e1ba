#include "agent/pods/status/event_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/node/kube_time.h"

namespace plimsoll::agent {
namespace {

// Messages of runtimes are others' text.
constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kLeastOfAnObject = 10;

}  // namespace

void KubeEventLog::Add(const InvolvedObject& subject, absl::string_view type,
                       absl::string_view reason, absl::string_view message) {
  const absl::string_view text = message.substr(0, kMaxMessageBytes);
  const absl::Time now = clock_.Now();
  const absl::MutexLock lock(&mutex_);
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.subject.kind == subject.kind && each.subject.key == subject.key &&
           each.subject.uid == subject.uid && each.subject.container == subject.container &&
           each.type == type && each.reason == reason && each.message == text;
  });
  if (it != entries_.end()) {
    it->last = now;
    ++it->count;
    entries_.splice(entries_.end(), entries_, it);
    return;
  }
  entries_.push_back({.subject = subject,
                      .type = std::string(type),
                      .reason = std::string(reason),
                      .message = std::string(text),
                      .first = now,
                      .last = now,
                      .count = 1,
                      .number = next_++});
  Trim(subject);
}

void KubeEventLog::Trim(const InvolvedObject& subject) {
  const auto is_of_it = [&](const Entry& each) {
    return each.subject.kind == subject.kind && each.subject.key == subject.key;
  };
  const auto of_it = std::count_if(entries_.begin(), entries_.end(), is_of_it);
  if (static_cast<size_t>(of_it) > std::max(limit_ / 10, kLeastOfAnObject)) {
    entries_.erase(std::find_if(entries_.begin(), entries_.end(), is_of_it));
  }
  if (entries_.size() > limit_) entries_.pop_front();
}

nlohmann::json KubeEventLog::ObjectOf(const Entry& entry) const {
  const InvolvedObject& subject = entry.subject;
  nlohmann::json involved = {{"kind", subject.kind},
                             {"apiVersion", "v1"},
                             {"name", subject.key.name},
                             {"uid", subject.uid}};
  if (!subject.key.pod_namespace.empty()) involved["namespace"] = subject.key.pod_namespace;
  if (!subject.container.empty()) {
    involved["fieldPath"] = absl::StrCat("spec.containers{", subject.container, "}");
  }
  const std::string pod_namespace =
      subject.key.pod_namespace.empty() ? "default" : subject.key.pod_namespace;
  return {{"kind", "Event"},
          {"apiVersion", "v1"},
          {"metadata",
           {{"name", absl::StrCat(subject.key.name, ".", entry.number)},
            {"namespace", pod_namespace},
            {"creationTimestamp", KubeTime(entry.first)}}},
          {"involvedObject", std::move(involved)},
          {"type", entry.type},
          {"reason", entry.reason},
          {"message", entry.message},
          {"count", entry.count},
          {"firstTimestamp", KubeTime(entry.first)},
          {"lastTimestamp", KubeTime(entry.last)},
          {"source", {{"component", "plimsoll-agent"}, {"host", node_}}}};
}

std::vector<nlohmann::json> KubeEventLog::List(const std::optional<PodKey>& pod) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<nlohmann::json> events;
  for (const Entry& entry : entries_) {
    if (!pod || (entry.subject.kind == "Pod" && entry.subject.key == *pod)) {
      events.push_back(ObjectOf(entry));
    }
  }
  return events;
}

}  // namespace plimsoll::agent
