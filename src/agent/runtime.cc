#include "agent/runtime.h"

#include "agent/pods/passing.h"
#include "agent/runtime_operations.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

ClassType TypeOf(const ::runtime::v1::ClassResourceInfo& info) {
  ClassType type;
  for (const auto& each : info.classes()) type.capacities[each.name()] = each.capacity();
  type.default_class = info.default_class();
  type.immutable = info.immutable();
  return type;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Open(const std::string& address, bool classes,
                                                       Counters& counters) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto client, pod::Client::Open(CountedCalls(address, counters)));
  return std::unique_ptr<Runtime>(new Runtime(std::move(client), classes));
}

std::string Runtime::Name() {
  const absl::MutexLock lock(&mutex_);
  if (name_.empty()) {
    const auto version = client_->Version();
    if (version.ok()) name_ = version->runtime_name();
  }
  return name_;
}

absl::StatusOr<NodeClasses> Runtime::Classes() {
  NodeClasses classes;
  if (!classes_) return classes;
  const auto status = client_->RuntimeStatus(/*verbose=*/false);
  const absl::MutexLock lock(&mutex_);
  if (IsPassing(status.status()) && told_) return *told_;
  PLIMSOLL_RETURN_IF_ERROR(status.status());
  const auto& lists = status->status().resources();
  for (const auto& each : lists.pod_class_resources()) classes.pod[each.name()] = TypeOf(each);
  for (const auto& each : lists.container_class_resources()) {
    classes.container[each.name()] = TypeOf(each);
  }
  told_ = classes;
  return classes;
}

}  // namespace plimsoll::agent
