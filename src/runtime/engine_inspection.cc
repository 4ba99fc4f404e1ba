#include "runtime/engine_inspection.h"

#include <algorithm>
#include <memory>

#include "absl/time/clock.h"
#include "runtime/objects/pod_objects.h"

namespace plimsoll::runtime {
namespace {

// A difference that lasts this long is no operation under way.
constexpr absl::Duration kSecondLook = absl::Milliseconds(300);

// True if a stop or removal is under way and has not failed. Network plugins may take long.
bool IsEnding(Sandbox& sandbox) {
  {
    absl::MutexLock lock(&sandbox.mutex);
    if (!sandbox.stopping && sandbox.record.state != SandboxState::kRemoving) return false;
  }
  if (!sandbox.operation.TryLock()) return true;
  sandbox.operation.Unlock();
  return false;
}

}  // namespace

InspectionInput EngineInspection::Places() const {
  InspectionInput input{.host = options_.host, .run = options_.run, .boot_id = boot_id_};
  input.cgroups = options_.cgroups;
  input.runtime = options_.runtime;
  input.state = options_.state;
  input.default_cgroup_parent = options_.default_cgroup_parent;
  input.attached = networks_->Attached();
  return input;
}

std::vector<Finding> EngineInspection::LookOnce() const {
  InspectionInput input = Places();
  input.holders = classes_->Holders();
  input.under_way = objects_->IdsInTheMaking();
  for (const std::shared_ptr<Sandbox>& sandbox : objects_->Sandboxes()) {
    if (IsEnding(*sandbox)) input.under_way.push_back(sandbox->id);
  }
  input.sandboxes = objects_->ListSandboxes();
  input.containers = objects_->ListContainers();
  input.damaged = options_.store->Damaged();
  for (image::Image& image : options_.images->List()) {
    input.images.push_back(std::move(image.record));
  }
  return runtime::Inspect(input);
}

std::vector<Finding> EngineInspection::Inspect() const {
  const std::vector<Finding> first = LookOnce();
  std::vector<Finding> second;
  if (!first.empty()) {
    absl::SleepFor(kSecondLook);
    second = LookOnce();
  }
  std::erase_if(second, [&first](const Finding& finding) {
    return std::none_of(first.begin(), first.end(), [&](const Finding& other) {
      return other.difference == finding.difference && other.what == finding.what &&
             other.sandbox_id == finding.sandbox_id && other.container_id == finding.container_id;
    });
  });
  networks_->Check(&second);
  return second;
}

}  // namespace plimsoll::runtime
