#include "agent/pods/life/pod_resizer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/pods/life/living_context.h"
#include "agent/pods/life/passing.h"
#include "base/status.h"
#include "pod_runner/cri_requests/to_cri.h"

namespace plimsoll::agent {
namespace {

namespace cri = ::runtime::v1;

// The larger of two limits; 0 is none.
int64_t Larger(int64_t one, int64_t other) {
  return one == 0 || other == 0 ? 0 : std::max(one, other);
}

// Both pods' amounts fit into it.
cri::LinuxContainerResources Cover(cri::LinuxContainerResources one,
                                   const cri::LinuxContainerResources& other) {
  one.set_cpu_shares(std::max(one.cpu_shares(), other.cpu_shares()));
  one.set_cpu_quota(Larger(one.cpu_quota(), other.cpu_quota()));
  if (one.cpu_quota() == 0) one.set_cpu_period(0);
  one.set_memory_limit_in_bytes(Larger(one.memory_limit_in_bytes(), other.memory_limit_in_bytes()));
  return one;
}

void RaiseTo(const resources::ResourceList& least, resources::ResourceList* amounts) {
  for (const auto& [name, amount] : least) {
    const auto [had, is_new] = amounts->emplace(name, amount);
    if (!is_new && had->second < amount) had->second = amount;
  }
}

bool IsOfContainer(const ResizeStep& step) {
  return step.kind == ResizeStep::Kind::kUpdate || step.kind == ResizeStep::Kind::kRestart;
}

}  // namespace

ResizeView PodResizer::ViewOf(const ObservedPod& observed) const {
  return {.before = before_,
          .after = after_,
          .observed = observed,
          .generation = record_.allocated_generation,
          .writes = host_.passes_resources_down,
          .grant = record_.grant,
          .keeps_shares = host_.keeps_shares,
          .page_bytes = host_.page_bytes};
}

absl::StatusOr<cri::LinuxContainerResources> PodResizer::WholeOf(const pod::Manifest& pod) const {
  pod::PodContext context;
  PLIMSOLL_RETURN_IF_ERROR(AddLiving(host_, record_, pod, context));
  context.sandbox_limits = SandboxLimitsOf(host_);
  return pod::GroupToCri(pod, context);
}

absl::Status PodResizer::Go(const ObservedPod& observed, KeepRestart keep) {
  const std::vector<ResizeStep> steps = PlanResize(ViewOf(observed));
  for (absl::Span<const ResizeStep> left = steps; !left.empty(); left.remove_prefix(1)) {
    const absl::Status done = Do(left.front(), observed, keep);
    if (!done.ok()) return AnnounceBack(observed.ReadySandbox()->id, left, done);
  }
  return absl::OkStatus();
}

pod::Manifest PodResizer::InForce(absl::Span<const ResizeStep> left) const {
  pod::Manifest pod = after_;
  for (const ResizeStep& step : left) {
    if (!IsOfContainer(step)) continue;
    pod.containers[step.index].resources = before_.containers[step.index].resources;
  }
  // Containers of both pods fit into the whole.
  if (pod.resources && before_.resources) {
    RaiseTo(before_.resources->requests, &pod.resources->requests);
    RaiseTo(before_.resources->limits, &pod.resources->limits);
  }
  return pod;
}

absl::Status PodResizer::AnnounceBack(const std::string& sandbox, absl::Span<const ResizeStep> left,
                                      const absl::Status& failure) {
  const bool is_told = left.front().kind != ResizeStep::Kind::kAnnounce;
  // The next try, which comes soon, announces to a runtime that is away.
  if (!is_told || std::none_of(left.begin(), left.end(), IsOfContainer) || IsPassing(failure)) {
    return failure;
  }
  const absl::Status back = Announce(sandbox, GroupStep::kRaise, InForce(left));
  return back.ok() ? failure
                   : AlsoSay(failure, absl::StrCat("and the earlier amounts can't be announced: ",
                                                   back.message()));
}

absl::Status PodResizer::Verify(const ObservedPod& observed) const {
  const std::vector<std::string> names = NotInForce(ViewOf(observed));
  if (names.empty()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the runtime took the new resources and reports others of container ",
                   absl::StrJoin(names, ", ")));
}

absl::Status PodResizer::Do(const ResizeStep& step, const ObservedPod& observed, KeepRestart keep) {
  const std::string& sandbox = observed.ReadySandbox()->id;
  switch (step.kind) {
    case ResizeStep::Kind::kAnnounce:
      return Announce(sandbox, GroupStep::kRaise);
    case ResizeStep::Kind::kRaisePod:
      return ChangeGroup(sandbox, GroupStep::kRaise);
    case ResizeStep::Kind::kUpdate:
      return Update(step);
    case ResizeStep::Kind::kRestart:
      return Restart(step, observed, keep);
    case ResizeStep::Kind::kSettlePod:
      return ChangeGroup(sandbox, GroupStep::kSettle);
  }
  return absl::OkStatus();
}

absl::Status PodResizer::Announce(const std::string& sandbox, GroupStep step,
                                  const pod::Manifest& written) {
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(sandbox);
  PLIMSOLL_ASSIGN_OR_RETURN(*request.mutable_resources(), WholeOf(written));
  // A group of the runtime's own is raised and settled by the request itself.
  if (!host_.resize_group && step == GroupStep::kRaise) {
    PLIMSOLL_ASSIGN_OR_RETURN(const cri::LinuxContainerResources before, WholeOf(before_));
    *request.mutable_resources() = Cover(request.resources(), before);
  }
  if (host_.passes_resources_down) *request.mutable_pod_resources() = pod::AllWrittenToCri(written);
  const absl::Status status = host_.client.updates().Pod(request);
  if (!absl::IsUnimplemented(status)) return status;
  if (!host_.noted_no_pod_updates->exchange(true)) {
    host_.events.Add(
        {.kind = "Node", .key = {"", host_.node.name}, .uid = host_.node.name, .container = ""},
        "Normal", "NoPodUpdates",
        "the runtime has no UpdatePodSandboxResources: it isn't told of resizes of pods");
  }
  return absl::OkStatus();
}

absl::Status PodResizer::ChangeGroup(const std::string& sandbox, GroupStep step) {
  if (host_.resize_group) {
    return host_.resize_group(record_, after_, step, [&] {
      // The first announcement has just been made.
      return step == GroupStep::kRaise ? absl::OkStatus() : Announce(sandbox, step);
    });
  }
  // It has raised the runtime's own group, too.
  if (step == GroupStep::kRaise) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::LinuxContainerResources whole, WholeOf(after_));
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::LinuxContainerResources before, WholeOf(before_));
  if (Cover(whole, before).SerializeAsString() == whole.SerializeAsString()) {
    return absl::OkStatus();
  }
  return Announce(sandbox, step);
}

absl::Status PodResizer::Update(const ResizeStep& step) {
  pod::PodContext context;
  PLIMSOLL_RETURN_IF_ERROR(AddLiving(host_, record_, after_, context));
  PLIMSOLL_ASSIGN_OR_RETURN(cri::LinuxContainerResources limits,
                            pod::LimitsToCri(after_, step.index, context));
  // None of these is part of a resize; "" and none leave them as they are.
  limits.clear_cpuset_cpus();
  limits.clear_cpuset_mems();
  limits.clear_hugepage_limits();
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(step.id);
  *request.mutable_linux() = limits;
  // KEP-2273 "Proposal": both alike, for runtimes that know only one of them.
  *request.mutable_resources()->mutable_linux() = limits;
  if (host_.passes_resources_down) {
    *request.mutable_kubernetes_resources() = pod::WrittenToCri(after_, step.index);
  }
  return host_.client.updates().Container(request);
}

absl::Status PodResizer::Restart(const ResizeStep& step, const ObservedPod& observed,
                                 KeepRestart keep) {
  const std::string& name = after_.containers[step.index].name;
  const auto run = std::find_if(observed.containers.begin(), observed.containers.end(),
                                [&](const auto& each) { return each.id == step.id; });
  PLIMSOLL_RETURN_IF_ERROR(keep(name, step.id));
  return stopper_.StopOne(record_, *run, after_.grace_period_s,
                          absl::StrCat("Container ", name, " resize requires restart"));
}

}  // namespace plimsoll::agent
