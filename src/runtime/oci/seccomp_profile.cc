// Localhost profiles: JSON to a filter.
#include <cerrno>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "runtime/oci/seccomp.h"
#include "runtime/oci/seccomp_filter.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

absl::Status Bad(absl::string_view key, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" ", why));
}

absl::StatusOr<std::string> String(const Json& object, const std::string& key,
                                   const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return Bad(path + key, "must be a string");
  return found->get<std::string>();
}

// An optional number.
absl::StatusOr<uint64_t> Number(const Json& object, const std::string& key, const std::string& path,
                                uint64_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  if (!found->is_number_unsigned()) return Bad(path + key, "must be a number of at least 0");
  return found->get<uint64_t>();
}

// An optional list.
absl::StatusOr<Json> List(const Json& object, const std::string& key, const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return Json::array();
  if (!found->is_array()) return Bad(path + key, "must be a list");
  return *found;
}

absl::StatusOr<uint32_t> Action(const std::string& name, uint64_t error, const std::string& key) {
  if (error > 4095) return Bad(key, absl::StrCat("has an errno of ", error, "; at most 4095"));
  const uint16_t value = static_cast<uint16_t>(error);
  if (name == "SCMP_ACT_ALLOW") return SCMP_ACT_ALLOW;
  if (name == "SCMP_ACT_ERRNO") return SCMP_ACT_ERRNO(value);
  if (name == "SCMP_ACT_TRACE") return SCMP_ACT_TRACE(value);
  if (name == "SCMP_ACT_TRAP") return SCMP_ACT_TRAP;
  if (name == "SCMP_ACT_LOG") return SCMP_ACT_LOG;
  if (name == "SCMP_ACT_KILL" || name == "SCMP_ACT_KILL_THREAD") return SCMP_ACT_KILL_THREAD;
  if (name == "SCMP_ACT_KILL_PROCESS") return SCMP_ACT_KILL_PROCESS;
  return Bad(key, absl::StrCat("is \"", name,
                               "\"; valid are SCMP_ACT_ALLOW, _ERRNO, _TRACE, _TRAP, _LOG, _KILL, "
                               "_KILL_THREAD and _KILL_PROCESS"));
}

absl::StatusOr<uint32_t> Architecture(const std::string& name, const std::string& key) {
  if (name == "SCMP_ARCH_NATIVE") return SCMP_ARCH_NATIVE;
  for (const auto& [token, known] : kArchitectures) {
    if (name == known) return token;
  }
  return Bad(key, absl::StrCat("is \"", name, "\"; that is no architecture"));
}

absl::StatusOr<scmp_arg_cmp> Argument(const Json& json, const std::string& path) {
  if (!json.is_object()) return Bad(path, "must be an object");
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t index, Number(json, "index", path + ".", 0));
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t value, Number(json, "value", path + ".", 0));
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t second, Number(json, "valueTwo", path + ".", 0));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string name, String(json, "op", path + "."));
  if (index > 5) return Bad(path + ".index", "must be 0 to 5");
  for (const auto& [op, known] : kOperators) {
    if (name == known) return scmp_arg_cmp{static_cast<unsigned>(index), op, value, second};
  }
  return Bad(path + ".op", absl::StrCat("is \"", name, "\"; that is no comparison"));
}

// Whether an argument is compared twice. Then each comparison becomes a rule (libseccomp takes one
// per argument): either may match, as in other runtimes.
bool AnyIndexTwice(const std::vector<scmp_arg_cmp>& arguments) {
  std::map<unsigned, int> count;
  for (const scmp_arg_cmp& argument : arguments) {
    if (++count[argument.arg] > 1) return true;
  }
  return false;
}

absl::Status AddRules(SeccompFilter* filter, const Json& rule, const std::string& path) {
  if (!rule.is_object()) return Bad(path, "must be an object");
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t error, Number(rule, "errnoRet", path + ".", EPERM));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string name, String(rule, "action", path + "."));
  PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t action, Action(name, error, path + ".action"));
  PLIMSOLL_ASSIGN_OR_RETURN(const Json calls, List(rule, "names", path + "."));
  PLIMSOLL_ASSIGN_OR_RETURN(const Json conditions, List(rule, "args", path + "."));
  std::vector<scmp_arg_cmp> arguments;
  for (size_t i = 0; i < conditions.size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(const scmp_arg_cmp argument,
                              Argument(conditions[i], absl::StrCat(path, ".args[", i, "]")));
    arguments.push_back(argument);
  }
  for (const Json& call : calls) {
    if (!call.is_string()) return Bad(path + ".names", "must be a list of strings");
    const std::string text = call.get<std::string>();
    if (!AnyIndexTwice(arguments)) {
      PLIMSOLL_RETURN_IF_ERROR(Annotate(filter->AddRule(action, text, arguments), path));
      continue;
    }
    for (const scmp_arg_cmp& argument : arguments) {
      PLIMSOLL_RETURN_IF_ERROR(Annotate(filter->AddRule(action, text, {argument}), path));
    }
  }
  return absl::OkStatus();
}

// Refuses members of the OCI form that a finished filter can't express: their effect would be lost.
absl::Status CheckRest(const Json& profile) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json flags, List(profile, "flags", ""));
  for (const Json& flag : flags) {
    if (!flag.is_string()) return Bad("flags", "must be a list of strings");
    // It has no effect: a process with one thread sets the filter.
    if (flag == "SECCOMP_FILTER_FLAG_TSYNC") continue;
    return Bad("flags", absl::StrCat("has \"", flag.get<std::string>(),
                                     "\"; only SECCOMP_FILTER_FLAG_TSYNC is supported"));
  }
  for (const char* key : {"listenerPath", "listenerMetadata"}) {
    const auto found = profile.find(key);
    if (found == profile.end() || found->is_null() || *found == "") continue;
    return Bad(key, "is not supported: no system call is handed to another program");
  }
  return absl::OkStatus();
}

absl::StatusOr<Seccomp> Compile(const Json& profile) {
  if (!profile.is_object()) return absl::InvalidArgumentError("the profile must be an object");
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t error, Number(profile, "defaultErrnoRet", "", EPERM));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string name, String(profile, "defaultAction", ""));
  PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t action, Action(name, error, "defaultAction"));
  PLIMSOLL_ASSIGN_OR_RETURN(SeccompFilter filter, SeccompFilter::Make(action));
  PLIMSOLL_ASSIGN_OR_RETURN(const Json architectures, List(profile, "architectures", ""));
  for (const Json& entry : architectures) {
    if (!entry.is_string()) return Bad("architectures", "must be a list of strings");
    PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t token,
                              Architecture(entry.get<std::string>(), "architectures"));
    PLIMSOLL_RETURN_IF_ERROR(Annotate(filter.AddArchitecture(token), "architectures"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckRest(profile));
  PLIMSOLL_ASSIGN_OR_RETURN(const Json rules, List(profile, "syscalls", ""));
  for (size_t i = 0; i < rules.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(AddRules(&filter, rules[i], absl::StrCat("syscalls[", i, "]")));
  }
  return filter.Export();
}

}  // namespace

absl::StatusOr<Seccomp> CompileSeccompProfile(absl::string_view json, absl::string_view name) {
  const Json profile = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (profile.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat("seccomp profile ", name, ": not valid JSON"));
  }
  absl::StatusOr<Seccomp> compiled = Compile(profile);
  if (!compiled.ok()) return Annotate(compiled.status(), absl::StrCat("seccomp profile ", name));
  return compiled;
}

}  // namespace plimsoll::runtime
