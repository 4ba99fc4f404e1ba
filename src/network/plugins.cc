#include "network/plugins.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "network/json.h"
#include "network/result.h"

namespace plimsoll::network {
namespace {

std::vector<std::string> EnvironmentOf(const PluginCall& call,
                                       const std::vector<std::string>& directories) {
  std::vector<std::string> environment = Command().environment;  // PATH: plugins run iptables
  const auto add = [&environment](const char* name, const std::string& value) {
    if (!value.empty()) environment.push_back(absl::StrCat(name, "=", value));
  };
  add("CNI_COMMAND", call.command);
  add("CNI_CONTAINERID", call.container_id);
  add("CNI_NETNS", call.netns);
  add("CNI_IFNAME", call.ifname);
  add("CNI_ARGS", call.args);
  add("CNI_PATH", absl::StrJoin(directories, ":"));
  if (call.command == "DEL" && call.netns.empty()) environment.push_back("CNI_NETNS=");
  return environment;
}

absl::Status FailureOf(const RunResult& result) {
  absl::Status said = ParseError(result.out);
  if (!absl::IsInvalidArgument(said)) return said;
  const std::string words = OneLine(result.err.empty() ? result.out : result.err);
  return absl::InternalError(
      absl::StrCat(result.exit.ToString(), words.empty() ? ", and it said nothing" : ": ", words));
}

}  // namespace

Plugins::Plugins(FsRoot host, std::vector<std::string> directories, absl::Duration timeout,
                 std::function<void(const std::string& text)> tell)
    : host_(std::move(host)),
      directories_(std::move(directories)),
      timeout_(timeout),
      tell_(std::move(tell)) {}

absl::StatusOr<std::string> Plugins::Find(const std::string& type) const {
  for (const std::string& directory : directories_) {
    std::string path = absl::StrCat(directory, "/", type);
    const absl::StatusOr<struct stat> info = host_.Stat(path);
    if (absl::IsNotFound(info.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(Annotate(info.status(), absl::StrCat("plugin ", type)));
    const char* fault = nullptr;
    if (!S_ISREG(info->st_mode)) {
      fault = "is no regular file";
    } else if ((info->st_mode & 0111) == 0) {
      fault = "can't be executed; give it mode 0755";
    } else if ((info->st_mode & S_IWOTH) != 0) {
      fault = "may be written by everybody, and would be run as root; give it mode 0755";
    }
    if (fault == nullptr) return path;
    return absl::FailedPreconditionError(absl::StrCat("plugin ", type, ": ", path, " ", fault));
  }
  return absl::NotFoundError(
      absl::StrCat("plugin ", type, ": no such program in ", absl::StrJoin(directories_, ", "),
                   " (install containernetworking-plugins, or cni-plugins on openSUSE; or set "
                   "network.plugin_dirs)"));
}

absl::StatusOr<std::string> Plugins::Run(const std::string& type, const PluginCall& call) const {
  return Run(type, call, timeout_);
}

absl::StatusOr<std::string> Plugins::Run(const std::string& type, const PluginCall& call,
                                         absl::Duration timeout) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, Find(type));
  const std::string what = absl::StrCat("plugin ", type, " ", call.command);
  Command command;
  command.argv = {path};
  command.environment = EnvironmentOf(call, directories_);
  command.working_directory = "/";
  RunLimits limits;
  limits.timeout = std::min(timeout, timeout_);
  // More than a result may have, so that a longer one is noticed.
  limits.max_output_bytes = kMaxResultBytes + 1;
  limits.input = call.input;
  const absl::StatusOr<RunResult> result = RunProgram(std::move(command), limits);
  if (!result.ok()) return Annotate(result.status(), what);
  if (tell_ && !result->err.empty()) tell_(absl::StrCat(what, ": ", OneLine(result->err)));
  if (!result->exit.success()) return Annotate(FailureOf(*result), what);
  if (result->out.size() > kMaxResultBytes) {
    return absl::InternalError(
        absl::StrCat(what, ": printed more than ", kMaxResultBytes, " bytes"));
  }
  return result->out;
}

}  // namespace plimsoll::network
