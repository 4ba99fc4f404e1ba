#include "cli/pod_commands/event_names.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::cli {
namespace {

std::string Find(const std::map<std::string, std::string>& names, const std::string& id) {
  const auto found = names.find(id);
  return found == names.end() ? "" : found->second;
}

}  // namespace

void EventNames::Add(const std::vector<cri::PodSandbox>& pods,
                     const std::vector<cri::Container>& containers) {
  for (const cri::PodSandbox& pod : pods) {
    pods_[pod.id()] = absl::StrCat(pod.metadata().namespace_(), "/", pod.metadata().name());
  }
  for (const cri::Container& container : containers) {
    containers_[container.id()] = container.metadata().name();
  }
}

void EventNames::Learn(const node::Event& event) {
  if (event.type() == "SandboxStarted" || event.type() == "SandboxRemoved") {
    pods_.try_emplace(event.sandbox_id(), event.message());
  } else if (event.type() == "ContainerCreated" || event.type() == "ContainerRemoved") {
    containers_.try_emplace(event.container_id(), event.message());
  }
}

void EventNames::Forget(const node::Event& event) {
  if (event.type() == "SandboxRemoved") pods_.erase(event.sandbox_id());
  if (event.type() == "ContainerRemoved") containers_.erase(event.container_id());
}

std::string EventNames::PodOf(const node::Event& event) const {
  return Find(pods_, event.sandbox_id());
}

std::string EventNames::ContainerOf(const node::Event& event) const {
  return Find(containers_, event.container_id());
}

}  // namespace plimsoll::cli
