#include "runtime/oci/entry_template.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/utf8.h"
#include "linux/resource_limits.h"
#include "runtime/oci/capabilities.h"
#include "runtime/oci/crun/plan.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

// Members of a process that plimsoll-exec knows. The caller sets oom_score_adj.
const std::set<std::string>& KnownMembers() {
  static const auto* const members = new std::set<std::string>{
      "terminal",     "consoleSize",    "user",         "args",        "env",
      "cwd",          "rlimits",        "capabilities", "oomScoreAdj", "noNewPrivileges",
      "selinuxLabel", "apparmorProfile"};
  return *members;
}

bool HasOnly(const Json& object, const std::set<std::string>& members) {
  for (const auto& [name, value] : object.items()) {
    if (!members.contains(name)) return false;
  }
  return true;
}

// Bytes as a value of the plan, which a NUL ends; nullopt: they can't be one.
std::optional<std::string> Bytes(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  std::string bytes = value.get<std::string>();
  if (absl::StrContains(bytes, '\0')) return std::nullopt;
  return bytes;
}

// The same for text: the OCI runtime reads other text where bytes that aren't UTF-8 are replaced.
std::optional<std::string> Text(const Json& value) {
  std::optional<std::string> bytes = Bytes(value);
  return bytes.has_value() && IsUtf8(*bytes) ? bytes : std::nullopt;
}

bool AddUser(const Json& process, PlanWriter* plan) {
  const Json user = process.value("user", Json());
  if (!user.is_object() || !HasOnly(user, {"uid", "gid", "additionalGids"})) return false;
  plan->Add("uid", absl::StrCat(user.value("uid", uint32_t{0})));
  plan->Add("gid", absl::StrCat(user.value("gid", uint32_t{0})));
  plan->Add("groups", absl::StrJoin(user.value("additionalGids", std::vector<uint32_t>()), ","));
  return true;
}

bool AddCapabilities(const Json& process, PlanWriter* plan) {
  const Json sets = process.value("capabilities", Json());
  if (!sets.is_object()) return false;
  for (const char* name : {"bounding", "effective", "permitted", "inheritable", "ambient"}) {
    CapabilityMask mask = 0;
    for (const std::string& each : sets.value(name, std::vector<std::string>())) {
      const absl::StatusOr<CapabilityMask> bit = CapabilityBit(each);
      if (!bit.ok()) return false;
      mask |= *bit;
    }
    plan->Add(name, absl::StrCat(absl::Hex(mask)));
  }
  return true;
}

// A process has one label for its exec.
bool AddLabel(const Json& process, PlanWriter* plan) {
  const std::string selinux = process.value("selinuxLabel", "");
  const std::string apparmor = process.value("apparmorProfile", "");
  if (!selinux.empty() && !apparmor.empty()) return false;
  if (!selinux.empty()) plan->Add("label", selinux);
  if (!apparmor.empty()) plan->Add("label", absl::StrCat("exec ", apparmor));
  return true;
}

// Commands have the container's limits.
bool AddLimits(const Json& process, PlanWriter* plan) {
  for (const Json& limit : process.value("rlimits", Json::array())) {
    const std::optional<int> number = linux::ParseResourceLimit(limit.value("type", ""));
    if (!number.has_value()) return false;
    plan->Add("rlimit", absl::StrCat(*number, ":", limit.value("soft", uint64_t{0}), ":",
                                     limit.value("hard", uint64_t{0})));
  }
  return true;
}

// Without PATH or HOME the OCI runtime chooses a value itself.
bool AddEnvironment(const Json& process, PlanWriter* plan) {
  bool has_path = false;
  bool has_home = false;
  for (const Json& each : process.value("env", Json::array())) {
    const std::optional<std::string> variable = Bytes(each);
    if (!variable.has_value() || !absl::StrContains(*variable, '=')) return false;
    has_path = has_path || absl::StartsWith(*variable, "PATH=");
    has_home = has_home || absl::StartsWith(*variable, "HOME=");
    plan->Add("env", *variable);
  }
  return has_path && has_home;
}

// A filter comes as an annotation; one that the OCI runtime compiles may have flags.
bool AddFilter(const Json& config, PlanWriter* plan) {
  const Json linux_part = config.value("linux", Json::object());
  if (linux_part.contains("seccomp") || linux_part.contains("personality")) return false;
  const Json annotations = config.value("annotations", Json::object());
  for (const auto& [key, value] : annotations.items()) {
    if (key == "run.oci.seccomp_bpf_data") {
      plan->Add("seccomp", "yes");
    } else if (absl::StartsWith(key, "run.oci.")) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string EntryTemplate(const Json& config) {
  const Json process = config.value("process", Json());
  if (!process.is_object() || !HasOnly(process, KnownMembers())) return "";
  PlanWriter plan;
  const std::optional<std::string> directory = Text(process.value("cwd", Json("/")));
  if (!directory.has_value()) return "";
  plan.Add("cwd", *directory);
  if (!AddUser(process, &plan) || !AddCapabilities(process, &plan) || !AddLabel(process, &plan) ||
      !AddFilter(config, &plan) || !AddEnvironment(process, &plan) || !AddLimits(process, &plan)) {
    return "";
  }
  if (process.value("noNewPrivileges", false)) plan.Add("nnp", "yes");
  return plan.text();
}

}  // namespace plimsoll::runtime
