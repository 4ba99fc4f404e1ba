// A seccomp policy as JSON of the OCI runtime specification.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "nri/adjust/spec_parts.h"

namespace plimsoll::nri {
namespace {

using Json = nlohmann::json;

constexpr absl::string_view kPath = "linux.seccomp_policy";

// SCMP_ACT_NOTIFY stands apart: it is valid in the specification.
constexpr absl::string_view kActions[] = {
    "SCMP_ACT_ALLOW",       "SCMP_ACT_ERRNO", "SCMP_ACT_KILL",  "SCMP_ACT_KILL_PROCESS",
    "SCMP_ACT_KILL_THREAD", "SCMP_ACT_LOG",   "SCMP_ACT_TRACE", "SCMP_ACT_TRAP"};
constexpr absl::string_view kArchitectures[] = {
    "SCMP_ARCH_AARCH64",   "SCMP_ARCH_ARM",    "SCMP_ARCH_MIPS",     "SCMP_ARCH_MIPS64",
    "SCMP_ARCH_MIPS64N32", "SCMP_ARCH_MIPSEL", "SCMP_ARCH_MIPSEL64", "SCMP_ARCH_MIPSEL64N32",
    "SCMP_ARCH_NATIVE",    "SCMP_ARCH_PPC",    "SCMP_ARCH_PPC64",    "SCMP_ARCH_PPC64LE",
    "SCMP_ARCH_RISCV64",   "SCMP_ARCH_S390",   "SCMP_ARCH_S390X",    "SCMP_ARCH_X32",
    "SCMP_ARCH_X86",       "SCMP_ARCH_X86_64"};
constexpr absl::string_view kOperators[] = {"SCMP_CMP_EQ", "SCMP_CMP_GE", "SCMP_CMP_GT",
                                            "SCMP_CMP_LE", "SCMP_CMP_LT", "SCMP_CMP_MASKED_EQ",
                                            "SCMP_CMP_NE"};

template <size_t kCount>
absl::Status CheckName(const std::string& member, const std::string& name,
                       const absl::string_view (&known)[kCount], const SpecTarget& target) {
  if (absl::c_linear_search(known, name)) return absl::OkStatus();
  return target.Wrong(kPath, "",
                      absl::StrCat("has ", Quoted(name), " as ", member, "; valid are ",
                                   absl::StrJoin(known, ", ")));
}

absl::Status CheckAction(const std::string& member, const std::string& action,
                         const SpecTarget& target) {
  if (action == "SCMP_ACT_NOTIFY") {
    return target.Unsupported(kPath, "",
                              absl::StrCat("has SCMP_ACT_NOTIFY as ", member,
                                           ": no system call is handed to another program"));
  }
  return CheckName(member, action, kActions, target);
}

absl::Status CheckErrno(const std::string& member, uint32_t number, const SpecTarget& target) {
  if (number <= 4095) return absl::OkStatus();
  return target.Wrong(kPath, "",
                      absl::StrCat("has ", number, " as ", member, "; 0 to 4095 are possible"));
}

absl::StatusOr<Json> RuleJson(const std::string& place, const api::LinuxSyscall& rule,
                              const SpecTarget& target) {
  PLIMSOLL_RETURN_IF_ERROR(CheckAction(absl::StrCat(place, ".action"), rule.action(), target));
  PLIMSOLL_RETURN_IF_ERROR(
      CheckErrno(absl::StrCat(place, ".errno_ret"), rule.errno_ret().value(), target));
  if (rule.names().empty()) {
    return target.Wrong(kPath, "", absl::StrCat("has no system call in ", place, ".names"));
  }
  Json json = {{"names", Json(std::vector<std::string>(rule.names().begin(), rule.names().end()))},
               {"action", rule.action()}};
  if (rule.has_errno_ret()) json["errnoRet"] = rule.errno_ret().value();
  for (const api::LinuxSeccompArg& argument : rule.args()) {
    if (argument.index() > 5) {
      return target.Wrong(kPath, "",
                          absl::StrCat("has ", argument.index(), " as ", place,
                                       ".args.index; 0 to 5 are possible"));
    }
    PLIMSOLL_RETURN_IF_ERROR(
        CheckName(absl::StrCat(place, ".args.op"), argument.op(), kOperators, target));
    json["args"].push_back({{"index", argument.index()},
                            {"value", argument.value()},
                            {"valueTwo", argument.value_two()},
                            {"op", argument.op()}});
  }
  return json;
}

// A filter that is compiled before the container is made can't express these.
absl::Status CheckFlags(const api::LinuxSeccomp& policy, const SpecTarget& target) {
  for (const std::string& flag : policy.flags()) {
    if (flag == "SECCOMP_FILTER_FLAG_TSYNC") continue;
    return target.Unsupported(kPath, "",
                              absl::StrCat("has the flag ", Quoted(flag),
                                           "; only SECCOMP_FILTER_FLAG_TSYNC is supported"));
  }
  if (policy.listener_path().empty() && policy.listener_metadata().empty()) {
    return absl::OkStatus();
  }
  return target.Unsupported(kPath, "",
                            "has a listener: no system call is handed to another program");
}

}  // namespace

absl::Status ApplySeccomp(const api::LinuxSeccomp& policy, const SpecTarget& target) {
  PLIMSOLL_RETURN_IF_ERROR(CheckAction("default_action", policy.default_action(), target));
  PLIMSOLL_RETURN_IF_ERROR(CheckErrno("default_errno", policy.default_errno().value(), target));
  PLIMSOLL_RETURN_IF_ERROR(CheckFlags(policy, target));
  Json json = {{"defaultAction", policy.default_action()}};
  if (policy.has_default_errno()) json["defaultErrnoRet"] = policy.default_errno().value();
  for (const std::string& architecture : policy.architectures()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckName("architecture", architecture, kArchitectures, target));
    json["architectures"].push_back(architecture);
  }
  for (const std::string& flag : policy.flags()) json["flags"].push_back(flag);
  for (int i = 0; i < policy.syscalls_size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        Json rule, RuleJson(absl::StrCat("syscalls[", i, "]"), policy.syscalls(i), target));
    json["syscalls"].push_back(std::move(rule));
  }
  // Names of calls are foreign text.
  target.spec().extras.seccomp_policy = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return absl::OkStatus();
}

}  // namespace plimsoll::nri
