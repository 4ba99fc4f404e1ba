#include "runtime/oci/process_settings.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/io_priority.h"
#include "linux/scheduling.h"

namespace plimsoll::runtime {
namespace {

constexpr char kIoPriorityField[] = "linux.io_priority";
constexpr char kSchedulerField[] = "linux.scheduler";

linux::Scheduling SchedulingOf(const Scheduler& scheduler) {
  return {.policy = scheduler.policy,
          .nice = scheduler.nice,
          .priority = scheduler.priority,
          .flags = scheduler.flags,
          .runtime_ns = scheduler.runtime_ns,
          .deadline_ns = scheduler.deadline_ns,
          .period_ns = scheduler.period_ns};
}

// The error for the client of what the kernel answers.
absl::Status Refused(absl::string_view field, const absl::Status& status,
                     absl::string_view permission) {
  if (!absl::IsPermissionDenied(status)) return Annotate(status, field);
  return absl::FailedPreconditionError(
      absl::StrCat(field, ": ", status.message(), "; ", permission));
}

}  // namespace

absl::Status CheckProcessSettings(const OciExtras& extras) {
  if (const auto& priority = extras.io_priority; priority.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(
        linux::ParseIoPriority(priority->io_class, priority->priority).status(), kIoPriorityField));
  }
  if (!extras.scheduler.has_value()) return absl::OkStatus();
  return Annotate(linux::CheckScheduling(SchedulingOf(*extras.scheduler)), kSchedulerField);
}

absl::Status ApplyProcessSettings(const FsRoot& host, const OciExtras& extras,
                                  const linux::ProcessId& init) {
  if (!extras.io_priority.has_value() && !extras.scheduler.has_value()) return absl::OkStatus();
  if (const auto& priority = extras.io_priority; priority.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const int value,
                              linux::ParseIoPriority(priority->io_class, priority->priority));
    PLIMSOLL_RETURN_IF_ERROR(
        Refused(kIoPriorityField, linux::SetIoPriority(init.pid, value),
                "the daemon needs CAP_SYS_NICE or CAP_SYS_ADMIN for the class IOPRIO_CLASS_RT"));
  }
  if (extras.scheduler.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(Refused(
        kSchedulerField, linux::SetScheduling(init.pid, SchedulingOf(*extras.scheduler)),
        "the daemon needs CAP_SYS_NICE; on control groups of version 1 a realtime policy also "
        "needs "
        "linux.resources.cpu.realtime_runtime, and SCHED_DEADLINE needs a container that may use "
        "all CPUs"));
  }
  // By pid alone these could have been another's, had init ended meanwhile.
  PLIMSOLL_ASSIGN_OR_RETURN(const bool runs, linux::IsRunning(host, init));
  if (runs) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(extras.scheduler.has_value() ? kSchedulerField : kIoPriorityField,
                   ": the container's init ended before its start"));
}

}  // namespace plimsoll::runtime
