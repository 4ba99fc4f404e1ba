#include "linux/scheduling.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

// sched_setattr(2), version 0; <linux/sched/types.h> and <sched.h> can't be included together.
struct SchedAttributes {
  uint32_t size = sizeof(SchedAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;
  uint64_t deadline = 0;
  uint64_t period = 0;
};

constexpr uint32_t kDeadline = 6;  // SCHED_DEADLINE

std::optional<uint32_t> PolicyOf(absl::string_view name) {
  if (name == "SCHED_OTHER" || name == "SCHED_NORMAL") return SCHED_OTHER;
  if (name == "SCHED_BATCH") return SCHED_BATCH;
  if (name == "SCHED_IDLE") return SCHED_IDLE;
  if (name == "SCHED_FIFO") return SCHED_FIFO;
  if (name == "SCHED_RR") return SCHED_RR;
  if (name == "SCHED_DEADLINE") return kDeadline;
  return std::nullopt;
}

std::optional<uint64_t> FlagOf(absl::string_view name) {
  if (name == "SCHED_FLAG_RESET_ON_FORK") return 0x01;
  if (name == "SCHED_FLAG_RECLAIM") return 0x02;
  if (name == "SCHED_FLAG_DL_OVERRUN") return 0x04;
  if (name == "SCHED_FLAG_KEEP_POLICY") return 0x08;
  if (name == "SCHED_FLAG_KEEP_PARAMS") return 0x10;
  return std::nullopt;
}

bool IsRealtime(uint32_t policy) {
  return policy == SCHED_FIFO || policy == SCHED_RR;
}

absl::Status CheckNumbers(const Scheduling& scheduling, uint32_t policy) {
  const auto wrong = [&](absl::string_view member, int64_t value, absl::string_view range) {
    return absl::InvalidArgumentError(
        absl::StrCat(member, " is ", value, "; of ", scheduling.policy, " it must be ", range));
  };
  const bool has_nice = policy == SCHED_OTHER || policy == SCHED_BATCH;
  if (has_nice && (scheduling.nice < -20 || scheduling.nice > 19)) {
    return wrong("nice", scheduling.nice, "-20 to 19");
  }
  if (!has_nice && scheduling.nice != 0) return wrong("nice", scheduling.nice, "0");
  if (IsRealtime(policy) && (scheduling.priority < 1 || scheduling.priority > 99)) {
    return wrong("priority", scheduling.priority, "1 to 99");
  }
  if (!IsRealtime(policy) && scheduling.priority != 0) {
    return wrong("priority", scheduling.priority, "0");
  }
  if (policy != kDeadline) {
    if (scheduling.runtime_ns == 0 && scheduling.deadline_ns == 0 && scheduling.period_ns == 0) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "runtime, deadline and period belong to SCHED_DEADLINE, not to ", scheduling.policy));
  }
  const uint64_t period = scheduling.period_ns == 0 ? scheduling.deadline_ns : scheduling.period_ns;
  if (scheduling.runtime_ns > 0 && scheduling.runtime_ns <= scheduling.deadline_ns &&
      scheduling.deadline_ns <= period) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("runtime ", scheduling.runtime_ns, ", deadline ", scheduling.deadline_ns,
                   " and period ", scheduling.period_ns,
                   " (ns) of SCHED_DEADLINE must be above 0 and none larger than the next"));
}

absl::StatusOr<SchedAttributes> AttributesOf(const Scheduling& scheduling) {
  if (scheduling.policy == "SCHED_ISO") {
    return absl::UnimplementedError("policy SCHED_ISO: Linux has reserved it and never made it");
  }
  const std::optional<uint32_t> policy = PolicyOf(scheduling.policy);
  if (!policy.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy \"", scheduling.policy,
                     "\" is none of SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR and "
                     "SCHED_DEADLINE"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckNumbers(scheduling, *policy));
  SchedAttributes attributes;
  attributes.policy = *policy;
  for (const std::string& name : scheduling.flags) {
    if (name == "SCHED_FLAG_UTIL_CLAMP_MIN" || name == "SCHED_FLAG_UTIL_CLAMP_MAX") {
      return absl::UnimplementedError(
          absl::StrCat("flag ", name, ": there is no member for the value that it needs"));
    }
    const std::optional<uint64_t> flag = FlagOf(name);
    if (!flag.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "flag \"", name,
          "\" is none of SCHED_FLAG_RESET_ON_FORK, SCHED_FLAG_RECLAIM, SCHED_FLAG_DL_OVERRUN, "
          "SCHED_FLAG_KEEP_POLICY and SCHED_FLAG_KEEP_PARAMS"));
    }
    attributes.flags |= *flag;
  }
  attributes.nice = scheduling.nice;
  attributes.priority = static_cast<uint32_t>(scheduling.priority);
  attributes.runtime = scheduling.runtime_ns;
  attributes.deadline = scheduling.deadline_ns;
  attributes.period = scheduling.period_ns;
  return attributes;
}

}  // namespace

absl::Status CheckScheduling(const Scheduling& scheduling) {
  return AttributesOf(scheduling).status();
}

absl::Status SetScheduling(pid_t process, const Scheduling& scheduling) {
  PLIMSOLL_ASSIGN_OR_RETURN(SchedAttributes attributes, AttributesOf(scheduling));
  if (syscall(SYS_sched_setattr, process, &attributes, 0) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("set ", scheduling.policy, " for process ", process));
}

}  // namespace plimsoll::linux
