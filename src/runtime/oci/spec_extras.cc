#include "runtime/oci/spec_extras.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <cerrno>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/memory_policy.h"
#include "linux/namespaces/namespaced_sysctls.h"
#include "linux/net_devices.h"
#include "linux/resource_limits.h"
#include "runtime/oci/process_settings.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

std::string LimitInWords(uint64_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit);
}

// The highest hard limit that the container can have.
absl::StatusOr<uint64_t> HighestLimit(const SpecInput& input, int resource) {
  rlimit own = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &own) != 0)
    return ErrnoStatus(errno, "read a resource limit");
  // In a user namespace the OCI runtime has no capability that the kernel counts here.
  const bool raises =
      (input.machine->capabilities & (CapabilityMask{1} << CAP_SYS_RESOURCE)) != 0 &&
      input.request->sandbox.user_namespace.empty();
  if (!raises) return own.rlim_max;
  if (resource != RLIMIT_NOFILE) return RLIM_INFINITY;
  const absl::StatusOr<std::string> text = input.host->Read("proc/sys/fs/nr_open");
  uint64_t most = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &most)) return own.rlim_max;
  return most;
}

absl::Status CheckRlimit(const SpecInput& input, const Rlimit& limit) {
  const std::optional<int> resource = linux::ParseResourceLimit(limit.type);
  if (!resource.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rlimits: type \"", limit.type, "\" is none of ",
                     absl::StrJoin(linux::ResourceLimitNames(), ", ")));
  }
  const std::string what = absl::StrCat("rlimits: ", limit.type, " of ", LimitInWords(limit.soft),
                                        " (soft) and ", LimitInWords(limit.hard), " (hard)");
  if (limit.soft > limit.hard) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": soft must be at most hard"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t highest, HighestLimit(input, *resource));
  if (limit.hard <= highest) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(what,
                                                    ": the highest that a container can get "
                                                    "here is ",
                                                    LimitInWords(highest)));
}

// --- namespaces

absl::Status CheckNamespace(const NamespaceChange& change) {
  const auto refuse = [&](absl::string_view why) {
    return absl::UnimplementedError(
        absl::StrCat("linux.namespaces: type \"", change.type, "\": ", why));
  };
  if (!change.path.empty() && !absl::StartsWith(change.path, "/")) {
    return absl::InvalidArgumentError(absl::StrCat("linux.namespaces: the path \"", change.path,
                                                   "\" of type \"", change.type,
                                                   "\" must be absolute"));
  }
  if (change.type == "user") {
    return refuse("the pod decides about user namespaces, since theirs owns all others of it");
  }
  if (change.type == "mount" && (change.of_host || !change.path.empty())) {
    return refuse(
        "a container needs a mount namespace of its own, in which its root filesystem is");
  }
  if (change.type == "time") return refuse("time namespaces are not supported");
  for (const char* known : {"mount", "network", "ipc", "uts", "pid", "cgroup"}) {
    if (change.type == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("linux.namespaces: type \"", change.type,
                   "\" is none of network, ipc, uts, pid, cgroup and mount"));
}

// --- resources

// A setting that only control groups of version 1 have, and its file there.
struct V1Setting {
  const char* field;
  const char* controller;
  const char* file;
};

absl::Status CheckV1(const SpecInput& input, const V1Setting& setting) {
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("linux.resources.", setting.controller, ".", setting.field, ": ", why));
  };
  if (input.machine->layout == linux::CgroupLayout::kV2) {
    return refuse("control groups of version 2, which this machine has, have no such setting");
  }
  if (!input.machine->HasController(setting.controller)) {
    return refuse(
        absl::StrCat("this machine has no controller ", setting.controller, " of version 1"));
  }
  const std::string path = absl::StrCat("sys/fs/cgroup/", setting.controller, "/", setting.file);
  if (input.host->Exists(path)) return absl::OkStatus();
  return refuse(absl::StrCat("this kernel has no ", setting.file));
}

absl::Status AddReservation(const SpecInput& input, int64_t bytes, Json* memory) {
  constexpr V1Setting kReservation = {"reservation", "memory", "memory.soft_limit_in_bytes"};
  if (bytes < -1) {
    return absl::InvalidArgumentError(absl::StrCat("linux.resources.memory.reservation is ", bytes,
                                                   "; it must be a number of bytes, or -1"));
  }
  if (input.machine->layout != linux::CgroupLayout::kV2) {
    PLIMSOLL_RETURN_IF_ERROR(CheckV1(input, kReservation));
  } else if (!input.machine->HasController("memory")) {
    return absl::FailedPreconditionError(
        "linux.resources.memory.reservation: this machine has no controller memory");
  }
  (*memory)["reservation"] = bytes;  // memory.low of version 2
  return absl::OkStatus();
}

absl::Status AddMemory(const SpecInput& input, const MoreMemory& asked, Json* memory) {
  if (asked.kernel_bytes.has_value()) {
    return absl::UnimplementedError(
        "linux.resources.memory.kernel: Linux has dropped limits of kernel memory (5.16), and the "
        "OCI runtime doesn't set them; memory.limit counts kernel memory too");
  }
  if (asked.reservation_bytes.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(AddReservation(input, *asked.reservation_bytes, memory));
  }
  if (asked.kernel_tcp_bytes.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckV1(input, {"kernel_tcp", "memory", "memory.kmem.tcp.limit_in_bytes"}));
    (*memory)["kernelTCP"] = *asked.kernel_tcp_bytes;
  }
  if (asked.swappiness.has_value()) {
    constexpr uint64_t kMostSwappiness = 200;
    if (*asked.swappiness > kMostSwappiness) {
      return absl::InvalidArgumentError(absl::StrCat("linux.resources.memory.swappiness is ",
                                                     *asked.swappiness, "; it must be 0 to ",
                                                     kMostSwappiness));
    }
    PLIMSOLL_RETURN_IF_ERROR(CheckV1(input, {"swappiness", "memory", "memory.swappiness"}));
    (*memory)["swappiness"] = *asked.swappiness;
  }
  // Off everywhere by default.
  if (asked.disable_oom_killer.value_or(false)) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckV1(input, {"disable_oom_killer", "memory", "memory.oom_control"}));
    (*memory)["disableOOMKiller"] = true;
  }
  // On everywhere since Linux 5.11, and on v2 ever since.
  if (!asked.use_hierarchy.value_or(true)) {
    return absl::FailedPreconditionError(
        "linux.resources.memory.use_hierarchy is false: in Linux a group's memory always counts "
        "that of the groups below");
  }
  return absl::OkStatus();
}

absl::Status AddRealtime(const SpecInput& input, const RealtimeCpu& asked, Json* cpu) {
  if (asked.period_us.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckV1(input, {"realtime_period", "cpu", "cpu.rt_period_us"}));
    (*cpu)["realtimePeriod"] = *asked.period_us;
  }
  if (asked.runtime_us.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckV1(input, {"realtime_runtime", "cpu", "cpu.rt_runtime_us"}));
    (*cpu)["realtimeRuntime"] = *asked.runtime_us;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Json> BuildRlimits(const SpecInput& input) {
  Json limits = Json::array();
  const auto add = [&limits](absl::string_view type, uint64_t soft, uint64_t hard) {
    limits.push_back({{"type", std::string(type)}, {"soft", soft}, {"hard", hard}});
  };
  std::set<std::string> types;
  for (const Rlimit& limit : input.request->spec->extras.rlimits) {
    PLIMSOLL_RETURN_IF_ERROR(CheckRlimit(input, limit));
    if (!types.insert(limit.type).second) {
      return absl::InvalidArgumentError(absl::StrCat("rlimits: ", limit.type, " is there twice"));
    }
    add(limit.type, limit.soft, limit.hard);
  }
  const auto& descriptors = input.descriptor_limit;
  if (descriptors.has_value() && !types.contains("RLIMIT_NOFILE")) {
    add("RLIMIT_NOFILE", descriptors->soft, descriptors->hard);
  }
  return limits;
}

absl::Status ChangeNamespaces(const OciExtras& extras, Json* namespaces) {
  std::set<std::string> types;
  for (const NamespaceChange& change : extras.namespaces) {
    PLIMSOLL_RETURN_IF_ERROR(CheckNamespace(change));
    if (!types.insert(change.type).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("linux.namespaces: type \"", change.type, "\" is there twice"));
    }
    const auto present =
        absl::c_find_if(*namespaces, [&](const Json& each) { return each["type"] == change.type; });
    if (change.of_host) {
      // Without an entry the OCI runtime stays where it is. /proc/1/ns would need CAP_SYS_PTRACE.
      if (present != namespaces->end()) namespaces->erase(present);
      continue;
    }
    Json changed = {{"type", change.type}};
    if (!change.path.empty()) changed["path"] = change.path;
    if (present == namespaces->end()) {
      namespaces->push_back(std::move(changed));
    } else {
      *present = std::move(changed);
    }
  }
  return absl::OkStatus();
}

absl::Status AddMoreResources(const SpecInput& input, Json* resources) {
  const OciExtras& extras = input.request->spec->extras;
  Json memory = resources->value("memory", Json::object());
  PLIMSOLL_RETURN_IF_ERROR(AddMemory(input, extras.memory, &memory));
  if (!memory.empty()) (*resources)["memory"] = std::move(memory);
  Json cpu = resources->value("cpu", Json::object());
  PLIMSOLL_RETURN_IF_ERROR(AddRealtime(input, extras.realtime, &cpu));
  if (!cpu.empty()) (*resources)["cpu"] = std::move(cpu);
  return absl::OkStatus();
}

absl::Status CheckExtras(const SpecInput& input) {
  const OciExtras& extras = input.request->spec->extras;
  PLIMSOLL_RETURN_IF_ERROR(CheckProcessSettings(extras));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(linux::ParseSysctls(extras.sysctls).status(), "linux.sysctl"));
  for (const auto& [name, renamed] : extras.net_devices) {
    const absl::Status good =
        FirstError(linux::CheckNetDeviceName(name),
                   renamed.empty() ? absl::OkStatus() : linux::CheckNetDeviceName(renamed));
    PLIMSOLL_RETURN_IF_ERROR(Annotate(good, "linux.net_devices"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryPolicyOf(const SpecInput& input) {
  const std::optional<MemoryPolicy>& policy = input.request->spec->extras.memory_policy;
  if (!policy.has_value()) return std::string();
  absl::StatusOr<std::string> encoded =
      linux::EncodeMemoryPolicy(*input.host, policy->mode, policy->nodes, policy->flags);
  if (!encoded.ok()) return Annotate(encoded.status(), "linux.memory_policy");
  return encoded;
}

}  // namespace plimsoll::runtime
