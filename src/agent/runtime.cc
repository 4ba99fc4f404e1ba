#include "agent/runtime.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/kubelet_check.h"
#include "agent/pods/life/passing.h"
#include "agent/runtime_operations.h"
#include "base/status.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

ClassTypeInfo TypeOf(const ::runtime::v1::ClassResourceInfo& info) {
  ClassTypeInfo type;
  for (const auto& each : info.classes()) type.capacities[each.name()] = each.capacity();
  type.default_class = info.default_class();
  type.immutable = info.immutable();
  return type;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Open(const std::string& address, bool classes,
                                                       Counters& counters, int64_t patience_s) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto client, pod::Client::Open(CountedCalls(address, counters)));
  return std::unique_ptr<Runtime>(new Runtime(std::move(client), classes, patience_s));
}

std::string Runtime::Name() {
  {
    const absl::MutexLock lock(&mutex_);
    if (!name_.empty()) return name_;
  }
  const auto version = client_->Version(patience_s_);
  if (!version.ok()) return "";
  const absl::MutexLock lock(&mutex_);
  name_ = version->runtime_name();
  return name_;
}

void Runtime::ExpectNoPodsOf(const std::string& agent, const std::string& state_directory,
                             std::function<void(const std::string&)> warn) {
  at_first_look_ = [=, warn = std::move(warn)](const Sandboxes& sandboxes) {
    const auto lost = std::count_if(sandboxes.begin(), sandboxes.end(), [&](const auto& sandbox) {
      const auto maker = sandbox.labels().find(pod::kAgentLabel);
      return sandbox.state() == ::runtime::v1::SANDBOX_READY && maker != sandbox.labels().end() &&
             maker->second == agent;
    });
    if (lost == 0) return;
    warn(absl::StrCat("the runtime runs ", lost, lost == 1 ? " pod" : " pods",
                      " of this agent, and the state directory ", state_directory,
                      " has no pod on record: is the disk of ", state_directory,
                      " mounted? Mount it and restart the agent, and the pods are found again"));
  };
}

absl::Status Runtime::CheckUse() {
  {
    const absl::MutexLock lock(&mutex_);
    if (is_checked_) return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandboxes,
                            client_->ListPodSandboxes(/*uid=*/"", patience_s_));
  PLIMSOLL_RETURN_IF_ERROR(CheckNoKubeletsPods(sandboxes));
  Classes().status().IgnoreError();  // to be known when the runtime is away
  {
    const absl::MutexLock lock(&mutex_);
    if (std::exchange(is_checked_, true)) return absl::OkStatus();
  }
  if (at_first_look_) at_first_look_(sandboxes);
  return absl::OkStatus();
}

absl::StatusOr<NodeClasses> Runtime::Classes() {
  if (!classes_) return NodeClasses();
  const auto status = client_->RuntimeStatus(/*verbose=*/false, patience_s_);
  const absl::MutexLock lock(&mutex_);
  failure_ = status.status();
  if (IsPassing(failure_)) return Told();
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  NodeClasses classes;
  const auto& lists = status->status().resources();
  for (const auto& each : lists.pod_class_resources()) classes.pod[each.name()] = TypeOf(each);
  for (const auto& each : lists.container_class_resources()) {
    classes.container[each.name()] = TypeOf(each);
  }
  told_ = classes;
  return classes;
}

absl::StatusOr<NodeClasses> Runtime::KnownClasses() const {
  if (!classes_) return NodeClasses();
  const absl::MutexLock lock(&mutex_);
  return Told();
}

absl::StatusOr<NodeClasses> Runtime::Told() const {
  if (told_) return *told_;
  return absl::UnavailableError(
      absl::StrCat("the runtime has not told its classes yet: ", failure_.message()));
}

}  // namespace plimsoll::agent
