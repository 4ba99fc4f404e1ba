#include "soak/pod_life.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"

namespace plimsoll::testing {
namespace {

using Code = grpc::StatusCode;
using Stub = cri::RuntimeService::Stub;

constexpr size_t kMostContainers = 3;  // at a time
// Below the kernel's range for automatic ports; pods may share a network.
constexpr int kFirstPort = 10000;
constexpr int kPorts = 20000;  // far more than there are pods at a time

}  // namespace

PodLife::PodLife(const PodLifeOptions& options)
    : options_(options),
      random_(options.seed * 1'000'003 + static_cast<uint64_t>(options.number)),
      calls_(options.node, options.journal, absl::StrCat("pod ", options.number)),
      name_(absl::StrCat("pod", options.number)) {
  config_.mutable_metadata()->set_name(name_);
  config_.mutable_metadata()->set_namespace_("soak");
  config_.mutable_metadata()->set_uid("uid-" + name_);
  config_.set_log_directory(absl::StrCat(options.node->directory(), "/logs/", name_));
  (*config_.mutable_labels())["soak"] = name_;
  cri::NamespaceOption& namespaces =
      *config_.mutable_linux()->mutable_security_context()->mutable_namespace_options();
  namespaces.set_network(options.has_network ? cri::POD : cri::NODE);
  namespaces.set_pid(cri::CONTAINER);
  if (options.has_network) config_.set_hostname(name_);
}

void PodLife::Live() {
  if (!Run()) return;
  const uint64_t steps = 5 + Dice(10);
  // Steps after a fault would show nothing: the pod is only removed then.
  for (uint64_t i = 0; i < steps && !calls_.has_faults(); ++i) Step();
  if (Dice(5) > 0) Stop();
  if (Dice(5) == 0) Stop();
  Remove();
  if (!calls_.has_faults()) CheckGone();
  if (!calls_.has_faults()) CheckEvents();
  options_.journal->Count("pods");
  options_.journal->Count("containers", containers_.size());
  // Removing logs is the client's job.
  const auto logs = FsRoot::Open(options_.node->directory() + "/logs");
  if (logs.ok()) logs->RemoveTree(name_).IgnoreError();
}

bool PodLife::Run() {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = config_;
  cri::RunPodSandboxResponse response;
  if (calls_.Ask("RunPodSandbox", &Stub::RunPodSandbox, request, &response) != Code::OK) {
    return false;
  }
  id_ = response.pod_sandbox_id();
  return true;
}

void PodLife::Step() {
  const uint64_t dice = Dice(100);
  std::vector<ContainerLife*> existing;
  for (ContainerLife& container : containers_) {
    if (container.exists()) existing.push_back(&container);
  }
  if (existing.empty() || (existing.size() < kMostContainers && dice < 20)) {
    return CreateContainer();
  }
  if (dice < 40) return Look();
  if (dice < 42) return CreateWithoutImage();
  if (dice < 44) return RunAgain();
  existing[Dice(existing.size())]->Step();
}

void PodLife::Look() {
  switch (Dice(6)) {
    case 0:
      return ListPods();
    case 1:
      return ListContainers();
    case 2:
      return PodStatus();
    case 3:
      return PodStats();
    case 4:
      return ListPodStats();
    default:
      return ListContainerStats();
  }
}

void PodLife::CreateContainer() {
  containers_.emplace_back(&calls_, &random_, absl::StrCat("c", containers_.size()), id_, config_,
                           kFirstPort + options_.number % kPorts);
}

// Refused, and leaves nothing: neither an event nor an entry in a list.
void PodLife::CreateWithoutImage() {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(id_);
  request.mutable_config()->mutable_metadata()->set_name("none");
  request.mutable_config()->mutable_image()->set_image("localhost/no-such-image:1");
  *request.mutable_sandbox_config() = config_;
  cri::CreateContainerResponse response;
  calls_.Ask("CreateContainer", &Stub::CreateContainer, request, &response, {Code::NOT_FOUND});
  ListContainers();
}

void PodLife::RunAgain() {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = config_;
  cri::RunPodSandboxResponse response;
  calls_.Ask("RunPodSandbox", &Stub::RunPodSandbox, request, &response, {Code::ALREADY_EXISTS});
}

void PodLife::ListPods() {
  cri::ListPodSandboxRequest request;
  (*request.mutable_filter()->mutable_label_selector())["soak"] = name_;
  cri::ListPodSandboxResponse response;
  if (calls_.Ask("ListPodSandbox", &Stub::ListPodSandbox, request, &response) != Code::OK) return;
  if (response.items_size() != 1 || response.items(0).id() != id_ ||
      response.items(0).state() != cri::SANDBOX_READY) {
    calls_.Fault("ListPodSandbox shows " + response.ShortDebugString());
  }
}

void PodLife::ListContainers() {
  cri::ListContainersRequest request;
  request.mutable_filter()->set_pod_sandbox_id(id_);
  cri::ListContainersResponse response;
  if (calls_.Ask("ListContainers", &Stub::ListContainers, request, &response) != Code::OK) return;
  std::map<std::string, cri::ContainerState> shown;
  for (const cri::Container& each : response.containers()) shown[each.id()] = each.state();
  bool right = shown.size() == static_cast<size_t>(response.containers_size());
  for (const ContainerLife& container : containers_) {
    const auto found = shown.find(container.id());
    const bool is_shown = found != shown.end();
    right &= is_shown == container.exists() && (!is_shown || container.MayBe(found->second));
    if (is_shown) shown.erase(found);
  }
  if (!right || !shown.empty()) {
    calls_.Fault("ListContainers shows " + response.ShortDebugString());
  }
}

void PodLife::PodStatus() {
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(id_);
  cri::PodSandboxStatusResponse response;
  if (calls_.Ask("PodSandboxStatus", &Stub::PodSandboxStatus, request, &response) != Code::OK) {
    return;
  }
  const cri::PodSandboxStatus& status = response.status();
  if (status.id() != id_ || status.state() != cri::SANDBOX_READY ||
      status.metadata().name() != name_ || status.network().ip().empty() == options_.has_network) {
    calls_.Fault("PodSandboxStatus shows " + status.ShortDebugString());
  }
}

template <typename List>
void PodLife::CheckLive(const char* what, const List& stats) {
  std::set<std::string> shown;
  for (const cri::ContainerStats& each : stats) shown.insert(each.attributes().id());
  bool right = shown.size() == static_cast<size_t>(stats.size());
  for (const ContainerLife& container : containers_) {
    const bool is_shown = shown.erase(container.id()) > 0;
    right &= is_shown ? container.may_live() : !container.surely_lives();
  }
  if (right && shown.empty()) return;
  calls_.Fault(absl::StrCat(what, " has statistics of ", stats.size(),
                            " containers, which are not those of the pod that live"));
}

void PodLife::PodStats() {
  cri::PodSandboxStatsRequest request;
  request.set_pod_sandbox_id(id_);
  cri::PodSandboxStatsResponse response;
  if (calls_.Ask("PodSandboxStats", &Stub::PodSandboxStats, request, &response) != Code::OK) return;
  if (response.stats().attributes().id() != id_) calls_.Fault("PodSandboxStats is of another pod");
  CheckLive("PodSandboxStats", response.stats().linux().containers());
}

void PodLife::ListPodStats() {
  cri::ListPodSandboxStatsRequest request;
  request.mutable_filter()->set_id(id_);
  cri::ListPodSandboxStatsResponse response;
  if (calls_.Ask("ListPodSandboxStats", &Stub::ListPodSandboxStats, request, &response) !=
      Code::OK) {
    return;
  }
  if (response.stats_size() != 1 || response.stats(0).attributes().id() != id_) {
    return calls_.Fault("ListPodSandboxStats shows " + response.ShortDebugString());
  }
  CheckLive("ListPodSandboxStats", response.stats(0).linux().containers());
}

void PodLife::ListContainerStats() {
  cri::ListContainerStatsRequest request;
  request.mutable_filter()->set_pod_sandbox_id(id_);
  cri::ListContainerStatsResponse response;
  if (calls_.Ask("ListContainerStats", &Stub::ListContainerStats, request, &response) != Code::OK) {
    return;
  }
  CheckLive("ListContainerStats", response.stats());
}

void PodLife::Stop() {
  cri::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(id_);
  cri::StopPodSandboxResponse response;
  calls_.Ask("StopPodSandbox", &Stub::StopPodSandbox, request, &response);
  for (ContainerLife& container : containers_) container.PodWasStopped();
  if (!calls_.has_faults() && Dice(2) == 0) ListContainers();
}

void PodLife::Remove() {
  cri::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(id_);
  cri::RemovePodSandboxResponse response;
  calls_.Ask("RemovePodSandbox", &Stub::RemovePodSandbox, request, &response);
  for (ContainerLife& container : containers_) {
    if (container.exists()) container.PodWasRemoved();
    if (!calls_.has_faults()) container.CheckLogAtTheEnd();
  }
}

void PodLife::CheckGone() {
  ListContainers();
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(id_);
  cri::PodSandboxStatusResponse response;
  calls_.Ask("PodSandboxStatus", &Stub::PodSandboxStatus, request, &response, {Code::NOT_FOUND});
}

void PodLife::CheckEvents() {
  if (!options_.events->AwaitRemoval(id_, Patience(absl::Seconds(20)))) {
    calls_.Fault("the pod's removal was not told");
  }
  std::vector<ContainerStory> stories;
  for (const ContainerLife& container : containers_) stories.push_back(container.story());
  for (const std::string& fault : EventFaults(id_, stories, options_.events->Take(id_))) {
    calls_.Fault(fault);
  }
}

}  // namespace plimsoll::testing
