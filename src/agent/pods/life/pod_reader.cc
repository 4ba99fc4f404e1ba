#include "agent/pods/life/pod_reader.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/pods/life/pod_host.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

namespace cri = ::runtime::v1;

ObservedState StateOf(cri::ContainerState state) {
  switch (state) {
    case cri::CONTAINER_CREATED:
      return ObservedState::kCreated;
    case cri::CONTAINER_RUNNING:
      return ObservedState::kRunning;
    case cri::CONTAINER_EXITED:
      return ObservedState::kExited;
    default:
      return ObservedState::kUnknown;
  }
}

std::vector<std::string> AddressesOf(const cri::PodSandboxStatus& status) {
  std::vector<std::string> ips;
  if (!status.network().ip().empty()) ips.push_back(status.network().ip());
  for (const auto& more : status.network().additional_ips()) ips.push_back(more.ip());
  return ips;
}

int64_t GenerationOf(const cri::Container& container) {
  const auto it = container.annotations().find(kGenerationAnnotation);
  int64_t generation = 1;
  if (it == container.annotations().end() || !absl::SimpleAtoi(it->second, &generation)) return 1;
  return generation;
}

template <typename Quantities>
resources::ResourceList ListOf(const Quantities& quantities) {
  resources::ResourceList list;
  for (const auto& [name, quantity] : quantities) {
    absl::StatusOr<resources::Quantity> amount = resources::Quantity::Parse(quantity.string());
    if (amount.ok()) list.emplace(name, *std::move(amount));
  }
  return list;
}

std::optional<ReportedResources> ResourcesOf(const cri::ContainerStatus& status) {
  if (!status.resources().has_linux()) return std::nullopt;
  const cri::LinuxContainerResources& told = status.resources().linux();
  ReportedResources resources{.cpu_shares = told.cpu_shares(),
                              .cpu_quota_us = told.cpu_quota(),
                              .cpu_period_us = told.cpu_period(),
                              .memory_limit_bytes = told.memory_limit_in_bytes(),
                              .memory_swap_limit_bytes = told.memory_swap_limit_in_bytes(),
                              .oom_score_adj = told.oom_score_adj(),
                              .cpus = told.cpuset_cpus(),
                              .memory_nodes = told.cpuset_mems(),
                              .written = std::nullopt};
  if (status.has_kubernetes_resources()) {
    resources.written = {.requests = ListOf(status.kubernetes_resources().requests()),
                         .limits = ListOf(status.kubernetes_resources().limits())};
  }
  return resources;
}

std::map<std::string, std::string> ClassesOf(
    const google::protobuf::Map<std::string, std::string>& classes) {
  return {classes.begin(), classes.end()};
}

}  // namespace

void PodReader::ForgetLiving() {
  std::erase_if(known_,
                [](const auto& each) { return each.second.state != ObservedState::kExited; });
}

void PodReader::Forget(const std::string& id) {
  known_.erase(id);
  known_sandboxes_.erase(id);
}

absl::StatusOr<ObservedPod> PodReader::Read() {
  ObservedPod pod;
  PLIMSOLL_RETURN_IF_ERROR(ReadSandboxes(pod));
  PLIMSOLL_RETURN_IF_ERROR(ReadContainers(pod));
  return pod;
}

absl::Status PodReader::ReadSandboxes(ObservedPod& pod) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto listed, client_.ListPodSandboxes(uid_));
  for (const cri::PodSandbox& each : listed) {
    ObservedSandbox sandbox{.id = each.id(),
                            .attempt = each.metadata().attempt(),
                            .ready = each.state() == cri::SANDBOX_READY,
                            .ips = {}};
    const auto known = known_sandboxes_.find(sandbox.id);
    if (known != known_sandboxes_.end()) {
      sandbox.ips = known->second.ips;
      sandbox.classes = known->second.classes;
    } else if (sandbox.ready) {
      const auto status = client_.PodSandboxStatus(sandbox.id);
      if (absl::IsNotFound(status.status())) continue;
      PLIMSOLL_RETURN_IF_ERROR(status.status());
      sandbox.ips = AddressesOf(status->status());
      if (status->status().has_class_resources()) {
        sandbox.classes = ClassesOf(status->status().class_resources().class_());
      }
      known_sandboxes_[sandbox.id] = sandbox;
    }
    pod.sandboxes.push_back(std::move(sandbox));
  }
  std::erase_if(known_sandboxes_, [&](const auto& known) {
    return std::none_of(listed.begin(), listed.end(),
                        [&](const cri::PodSandbox& each) { return each.id() == known.first; });
  });
  std::sort(pod.sandboxes.begin(), pod.sandboxes.end(),
            [](const auto& one, const auto& other) { return one.attempt > other.attempt; });
  return absl::OkStatus();
}

absl::Status PodReader::ReadContainers(ObservedPod& pod) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto listed, client_.ListContainersOf(uid_));
  std::map<std::string, ObservedContainer> known;
  for (const cri::Container& each : listed) {
    ObservedContainer container;
    container.id = each.id();
    container.name = each.metadata().name();
    container.sandbox_id = each.pod_sandbox_id();
    container.attempt = each.metadata().attempt();
    container.state = StateOf(each.state());
    container.image = each.image().user_specified_image();
    container.image_ref = each.image_ref();
    container.created = absl::FromUnixNanos(each.created_at());
    container.generation = GenerationOf(each);
    absl::StatusOr<ObservedContainer> details = Details(std::move(container));
    if (absl::IsNotFound(details.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(details.status());
    known[details->id] = *details;
    pod.containers.push_back(*std::move(details));
  }
  known_ = std::move(known);
  std::stable_sort(pod.containers.begin(), pod.containers.end(),
                   [](const auto& one, const auto& other) { return one.attempt > other.attempt; });
  return absl::OkStatus();
}

absl::StatusOr<ObservedContainer> PodReader::Details(ObservedContainer container) {
  const auto it = known_.find(container.id);
  if (it != known_.end() && it->second.state == container.state) return it->second;
  if (container.state == ObservedState::kCreated) return container;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response, client_.ContainerStatus(container.id));
  const cri::ContainerStatus& status = response.status();
  container.state = StateOf(status.state());
  container.started = absl::FromUnixNanos(status.started_at());
  container.finished = absl::FromUnixNanos(status.finished_at());
  container.exit_code = status.exit_code();
  container.reason = status.reason();
  container.message = status.message();
  container.log_path = status.log_path();
  container.resources = ResourcesOf(status);
  if (!container.log_path.empty() && container.log_path.front() != '/') {
    container.log_path = absl::StrCat(log_directory_, "/", container.log_path);
  }
  if (container.image.empty()) container.image = status.image().image();
  if (container.state == ObservedState::kExited) {
    const std::string words = last_words_(container);
    absl::StrAppend(&container.message, container.message.empty() || words.empty() ? "" : ": ",
                    words);
  }
  if (status.has_class_resources()) {
    container.classes = ClassesOf(status.class_resources().classes());
  }
  return container;
}

}  // namespace plimsoll::agent
