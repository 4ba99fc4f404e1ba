// Priority of I/O, scheduler and memory policy.
#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "nri/adjust/spec_parts.h"
#include "resources/cpu_set.h"

namespace plimsoll::nri {
namespace {

// "SCHED_FIFO" of LINUX_SCHED_FIFO. Values of the protocol's enums may be ones that it doesn't
// name; their text is empty.
std::string WithoutLinux(absl::string_view name) {
  return std::string(absl::StripPrefix(name, "LINUX_"));
}

absl::Status ApplyIoPriority(const api::LinuxIOPriority& asked, const SpecTarget& target) {
  constexpr absl::string_view kPath = "linux.io_priority";
  if (!api::IOPrioClass_IsValid(asked.class_())) {
    return target.Wrong(kPath, "",
                        absl::StrCat("has the class ", static_cast<int>(asked.class_()),
                                     "; 0 to 3 are the protocol's"));
  }
  if (asked.priority() < 0 || asked.priority() > 7) {
    return target.Wrong(
        kPath, "",
        absl::StrCat("has the priority ", asked.priority(), "; 0 (highest) to 7 are possible"));
  }
  // NONE: the container has none of its own.
  if (asked.class_() == api::IOPRIO_CLASS_NONE) return absl::OkStatus();
  target.spec().extras.io_priority =
      runtime::IoPriority{api::IOPrioClass_Name(asked.class_()), asked.priority()};
  return absl::OkStatus();
}

// sched(7): which settings belong to which policies.
absl::Status CheckScheduler(const api::LinuxScheduler& asked, const SpecTarget& target) {
  const auto wrong = [&](absl::string_view why) {
    return target.Wrong("linux.scheduler", "", why);
  };
  const std::string policy = WithoutLinux(api::LinuxSchedulerPolicy_Name(asked.policy()));
  const bool is_realtime =
      asked.policy() == api::LINUX_SCHED_FIFO || asked.policy() == api::LINUX_SCHED_RR;
  if (is_realtime && (asked.priority() < 1 || asked.priority() > 99)) {
    return wrong(absl::StrCat("has the priority ", asked.priority(), "; of ", policy,
                              ", 1 to 99 are possible"));
  }
  if (!is_realtime && asked.priority() != 0) {
    return wrong(absl::StrCat("has the priority ", asked.priority(),
                              "; only SCHED_FIFO and SCHED_RR have one"));
  }
  if (asked.nice() < -20 || asked.nice() > 19) {
    return wrong(absl::StrCat("has the nice value ", asked.nice(), "; -20 to 19 are possible"));
  }
  if (asked.policy() != api::LINUX_SCHED_DEADLINE) {
    if (asked.runtime() == 0 && asked.deadline() == 0 && asked.period() == 0) {
      return absl::OkStatus();
    }
    return wrong("has a runtime, deadline or period; only SCHED_DEADLINE has those");
  }
  // sched_setattr(2): a period of 0 is the deadline.
  const uint64_t period = asked.period() != 0 ? asked.period() : asked.deadline();
  if (asked.runtime() < 1024 || asked.runtime() > asked.deadline() || asked.deadline() > period ||
      period > INT64_MAX) {
    return wrong(absl::StrCat("has a runtime of ", asked.runtime(), ", a deadline of ",
                              asked.deadline(), " and a period of ", asked.period(),
                              " ns; 1024 <= runtime <= deadline <= period is right"));
  }
  return absl::OkStatus();
}

absl::Status ApplyScheduler(const api::LinuxScheduler& asked, const SpecTarget& target) {
  constexpr absl::string_view kPath = "linux.scheduler";
  if (!api::LinuxSchedulerPolicy_IsValid(asked.policy())) {
    return target.Wrong(kPath, "",
                        absl::StrCat("has the policy ", static_cast<int>(asked.policy()),
                                     "; 0 to 7 are the protocol's"));
  }
  if (asked.policy() == api::LINUX_SCHED_ISO) {
    return target.Unsupported(kPath, "", "has the policy SCHED_ISO, which Linux never got");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckScheduler(asked, target));
  runtime::Scheduler scheduler{.policy = WithoutLinux(LinuxSchedulerPolicy_Name(asked.policy())),
                               .nice = asked.nice(),
                               .priority = asked.priority(),
                               .runtime_ns = asked.runtime(),
                               .deadline_ns = asked.deadline(),
                               .period_ns = asked.period()};
  for (const int flag : asked.flags()) {
    if (!api::LinuxSchedulerFlag_IsValid(flag)) {
      return target.Wrong(kPath, "",
                          absl::StrCat("has the flag ", flag, "; 0 to 6 are the protocol's"));
    }
    std::string name =
        WithoutLinux(api::LinuxSchedulerFlag_Name(static_cast<api::LinuxSchedulerFlag>(flag)));
    if (!absl::c_linear_search(scheduler.flags, name)) scheduler.flags.push_back(std::move(name));
  }
  // NONE: the container has none of its own.
  if (asked.policy() == api::LINUX_SCHED_NONE) return absl::OkStatus();
  target.spec().extras.scheduler = std::move(scheduler);
  return absl::OkStatus();
}

// set_mempolicy(2): which modes have nodes.
absl::Status CheckNodes(const api::LinuxMemoryPolicy& asked, const std::string& mode,
                        const SpecTarget& target) {
  const auto wrong = [&](absl::string_view why) {
    return target.Wrong("linux.memory_policy", "", why);
  };
  const auto nodes = resources::CpuSet::Parse(asked.nodes());
  if (!nodes.ok()) {
    return wrong(absl::StrCat("has the nodes ", Quoted(asked.nodes()),
                              "; a list such as \"0-1,3\" is right"));
  }
  const bool has_none =
      asked.mode() == api::LINUX_MPOL_DEFAULT || asked.mode() == api::LINUX_MPOL_LOCAL;
  if (has_none && !nodes->Empty()) return wrong(absl::StrCat("has nodes; ", mode, " takes none"));
  if (!has_none && asked.mode() != api::LINUX_MPOL_PREFERRED && nodes->Empty()) {
    return wrong(absl::StrCat("has no nodes; ", mode, " needs some, as \"0-1,3\""));
  }
  return absl::OkStatus();
}

absl::Status CheckPolicyFlags(const api::LinuxMemoryPolicy& asked, const std::string& mode,
                              const SpecTarget& target) {
  const auto wrong = [&](absl::string_view why) {
    return target.Wrong("linux.memory_policy", "", why);
  };
  const auto has = [&](api::MpolFlag flag) { return absl::c_linear_search(asked.flags(), flag); };
  const bool is_static = has(api::LINUX_MPOL_F_STATIC_NODES);
  const bool is_relative = has(api::LINUX_MPOL_F_RELATIVE_NODES);
  if (is_static && is_relative) {
    return wrong("has MPOL_F_STATIC_NODES and MPOL_F_RELATIVE_NODES; only one may be set");
  }
  if ((is_static || is_relative) && asked.nodes().empty()) {
    return wrong("has a flag about nodes and no nodes");
  }
  const bool may_balance =
      asked.mode() == api::LINUX_MPOL_BIND || asked.mode() == api::LINUX_MPOL_PREFERRED_MANY;
  if (has(api::LINUX_MPOL_F_NUMA_BALANCING) && !may_balance) {
    return wrong(absl::StrCat("has MPOL_F_NUMA_BALANCING, which ", mode,
                              " doesn't take; MPOL_BIND and MPOL_PREFERRED_MANY do"));
  }
  return absl::OkStatus();
}

absl::Status ApplyMemoryPolicy(const api::LinuxMemoryPolicy& asked, const SpecTarget& target) {
  constexpr absl::string_view kPath = "linux.memory_policy";
  if (!api::MpolMode_IsValid(asked.mode())) {
    return target.Wrong(kPath, "",
                        absl::StrCat("has the mode ", static_cast<int>(asked.mode()),
                                     "; 0 to 6 are the protocol's"));
  }
  const std::string mode = WithoutLinux(api::MpolMode_Name(asked.mode()));
  PLIMSOLL_RETURN_IF_ERROR(CheckNodes(asked, mode, target));
  runtime::MemoryPolicy policy{.mode = mode, .nodes = asked.nodes()};
  for (const int flag : asked.flags()) {
    if (!api::MpolFlag_IsValid(flag)) {
      return target.Wrong(kPath, "",
                          absl::StrCat("has the flag ", flag, "; 0 to 2 are the protocol's"));
    }
    std::string name = WithoutLinux(api::MpolFlag_Name(static_cast<api::MpolFlag>(flag)));
    if (!absl::c_linear_search(policy.flags, name)) policy.flags.push_back(std::move(name));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckPolicyFlags(asked, mode, target));
  target.spec().extras.memory_policy = std::move(policy);
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyScheduling(const api::LinuxContainerAdjustment& linux, const SpecTarget& target) {
  if (linux.has_io_priority()) {
    PLIMSOLL_RETURN_IF_ERROR(ApplyIoPriority(linux.io_priority(), target));
  }
  if (linux.has_scheduler()) PLIMSOLL_RETURN_IF_ERROR(ApplyScheduler(linux.scheduler(), target));
  if (!linux.has_memory_policy()) return absl::OkStatus();
  return ApplyMemoryPolicy(linux.memory_policy(), target);
}

}  // namespace plimsoll::nri
