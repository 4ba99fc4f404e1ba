// Environment, arguments, hooks, rlimits, OOM score, annotations, CDI devices.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "cdi/names.h"
#include "nri/adjust/spec_parts.h"
#include "qos/class_devices.h"

namespace plimsoll::nri {
namespace {

// execve(2): MAX_ARG_STRLEN with the final NUL.
constexpr size_t kMaxArgument = 131071;

absl::Status ApplyAnnotations(const api::ContainerAdjustment& adjustment,
                              const SpecTarget& target) {
  for (const auto& [written, value] : adjustment.annotations()) {
    absl::string_view key = written;
    const bool is_removal = TakeRemovalMark(&key);
    if (key.empty()) return target.Wrong("annotations", "", "has an empty key");
    if (is_removal) {
      target.spec().annotations.erase(std::string(key));
    } else {
      target.spec().annotations[written] = value;
    }
  }
  return absl::OkStatus();
}

absl::Status ApplyVariable(const api::KeyValue& variable, const SpecTarget& target) {
  absl::string_view name = variable.key();
  const bool is_removal = TakeRemovalMark(&name);
  if (name.empty() || absl::StrContains(name, '=')) {
    return target.Wrong("env", name,
                        "is no name of a variable: it must not be empty or have \"=\"");
  }
  if (name.size() + 1 + variable.value().size() > kMaxArgument) {
    return target.Wrong(
        "env", name,
        absl::StrCat("is too long: name and value may have ", kMaxArgument - 1, " bytes together"));
  }
  auto& environment = target.spec().environment;
  const auto is_it = [&](const auto& present) { return present.first == name; };
  if (is_removal) {
    environment.erase(std::remove_if(environment.begin(), environment.end(), is_it),
                      environment.end());
    target.spec().extras.unset_environment.emplace_back(name);
    return absl::OkStatus();
  }
  const auto present = absl::c_find_if(environment, is_it);
  if (present != environment.end()) {
    present->second = variable.value();
  } else {
    environment.emplace_back(name, variable.value());
  }
  return absl::OkStatus();
}

// `args` of a plugin are the whole command line: the image's entrypoint is not put before them.
// Claim has seen that the program is not empty.
absl::Status ApplyArgs(const api::ContainerAdjustment& adjustment, const SpecTarget& target) {
  const auto& args = adjustment.args();
  if (args.empty()) return absl::OkStatus();
  for (const std::string& each : args) {
    if (each.size() <= kMaxArgument) continue;
    return target.Wrong("args", "",
                        absl::StrCat("have one of ", each.size(), " bytes; at most ", kMaxArgument,
                                     " are possible"));
  }
  target.spec().command.assign(args.begin(), args.end());
  target.spec().args.clear();
  return absl::OkStatus();
}

absl::Status AddHook(const char* stage, const std::string& path, const api::Hook& hook,
                     const SpecTarget& target) {
  if (!IsAbsolutePath(hook.path())) {
    return target.Wrong(path, hook.path(), "is no absolute path to a program");
  }
  for (const std::string& variable : hook.env()) {
    if (absl::StrContains(variable, '=') && !absl::StartsWith(variable, "=")) continue;
    return target.Wrong(path, hook.path(),
                        absl::StrCat("has ", Quoted(variable), " in env; NAME=value is right"));
  }
  cdi::Hook made{.name = stage,
                 .path = hook.path(),
                 .args = {hook.args().begin(), hook.args().end()},
                 .env = {hook.env().begin(), hook.env().end()}};
  if (hook.has_timeout()) {
    const int64_t seconds = hook.timeout().value();
    if (seconds < 1 || seconds > INT32_MAX) {
      return target.Wrong(
          path, hook.path(),
          absl::StrCat("has a timeout of ", seconds, "; 1 to 2147483647 seconds are possible"));
    }
    made.timeout_seconds = seconds;
  }
  target.spec().extras.edits.hooks.push_back(std::move(made));
  return absl::OkStatus();
}

absl::Status ApplyHooks(const api::Hooks& hooks, const SpecTarget& target) {
  const struct {
    const char* stage;
    const char* path;
    const google::protobuf::RepeatedPtrField<api::Hook>& list;
  } kStages[] = {{"prestart", "hooks.prestart", hooks.prestart()},
                 {"createRuntime", "hooks.create_runtime", hooks.create_runtime()},
                 {"createContainer", "hooks.create_container", hooks.create_container()},
                 {"startContainer", "hooks.start_container", hooks.start_container()},
                 {"poststart", "hooks.poststart", hooks.poststart()},
                 {"poststop", "hooks.poststop", hooks.poststop()}};
  for (const auto& [stage, path, list] : kStages) {
    for (const api::Hook& hook : list) {
      PLIMSOLL_RETURN_IF_ERROR(AddHook(stage, path, hook, target));
    }
  }
  return absl::OkStatus();
}

absl::Status ApplyRlimits(const api::ContainerAdjustment& adjustment, const SpecTarget& target) {
  // getrlimit(2).
  static constexpr const char* kTypes[] = {
      "RLIMIT_AS",     "RLIMIT_CORE",   "RLIMIT_CPU",        "RLIMIT_DATA",
      "RLIMIT_FSIZE",  "RLIMIT_LOCKS",  "RLIMIT_MEMLOCK",    "RLIMIT_MSGQUEUE",
      "RLIMIT_NICE",   "RLIMIT_NOFILE", "RLIMIT_NPROC",      "RLIMIT_RSS",
      "RLIMIT_RTPRIO", "RLIMIT_RTTIME", "RLIMIT_SIGPENDING", "RLIMIT_STACK"};
  for (const api::POSIXRlimit& limit : adjustment.rlimits()) {
    if (!absl::c_linear_search(kTypes, limit.type())) {
      return target.Wrong("rlimits", limit.type(),
                          absl::StrCat("is no limit; valid are ", absl::StrJoin(kTypes, ", ")));
    }
    if (limit.soft() > limit.hard()) {
      return target.Wrong("rlimits", limit.type(),
                          absl::StrCat("has a soft limit of ", limit.soft(),
                                       ", above its hard limit of ", limit.hard()));
    }
    target.spec().extras.rlimits.push_back({limit.type(), limit.soft(), limit.hard()});
  }
  return absl::OkStatus();
}

absl::Status ApplyCdiDevices(const api::ContainerAdjustment& adjustment, const SpecTarget& target) {
  std::vector<std::string>& devices = target.spec().cdi_devices;
  for (const api::CDIDevice& device : adjustment.cdi_devices()) {
    const auto name = cdi::ParseDeviceName(device.name());
    if (!name.ok()) {
      return target.Wrong("CDI_devices", device.name(),
                          absl::StrCat("is no device: ", name.status().message()));
    }
    if (qos::IsClassDevice(device.name())) {
      return target.Impossible("CDI_devices", device.name(),
                               "is a class of the scheduler's; a plugin sets classes in "
                               "linux.resources.rdt_class and linux.resources.blockio_class");
    }
    if (!absl::c_linear_search(devices, device.name())) devices.push_back(device.name());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyProcess(const api::ContainerAdjustment& adjustment, const SpecTarget& target) {
  PLIMSOLL_RETURN_IF_ERROR(ApplyAnnotations(adjustment, target));
  for (const api::KeyValue& variable : adjustment.env()) {
    PLIMSOLL_RETURN_IF_ERROR(ApplyVariable(variable, target));
  }
  PLIMSOLL_RETURN_IF_ERROR(ApplyArgs(adjustment, target));
  PLIMSOLL_RETURN_IF_ERROR(ApplyHooks(adjustment.hooks(), target));
  PLIMSOLL_RETURN_IF_ERROR(ApplyRlimits(adjustment, target));
  PLIMSOLL_RETURN_IF_ERROR(ApplyCdiDevices(adjustment, target));
  if (!adjustment.linux().has_oom_score_adj()) return absl::OkStatus();
  const int64_t score = adjustment.linux().oom_score_adj().value();
  if (score < -1000 || score > 1000) {
    return target.Wrong("linux.oom_score_adj", "",
                        absl::StrCat("is ", score, "; -1000 to 1000 are possible"));
  }
  target.spec().oom_score_adj = static_cast<int>(score);
  return absl::OkStatus();
}

}  // namespace plimsoll::nri
