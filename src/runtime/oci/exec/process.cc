#include "runtime/oci/exec/process.h"

#include <sys/resource.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "linux/resource_limits.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

void SetTerm(Json* process) {
  Json& environment = (*process)["env"];
  if (!environment.is_array()) environment = Json::array();
  for (const Json& variable : environment) {
    if (variable.is_string() && absl::StartsWith(variable.get_ref<const std::string&>(), "TERM=")) {
      return;
    }
  }
  environment.push_back("TERM=xterm");
}

}  // namespace

absl::StatusOr<std::string> ExecProcess(absl::string_view config,
                                        const std::vector<std::string>& argv, bool terminal) {
  const Json whole = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  const auto found = whole.is_object() ? whole.find("process") : whole.end();
  if (found == whole.end() || !found->is_object()) {
    return absl::DataLossError("a container's config.json has no process");
  }
  Json process = *found;
  process["args"] = argv;
  process["terminal"] = terminal;
  for (const char* member : {"consoleSize", "rlimits", "oomScoreAdj"}) process.erase(member);
  if (terminal) SetTerm(&process);
  // The command may have any bytes; JSON is UTF-8.
  return process.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> ExecLimits(absl::string_view config) {
  std::vector<std::string> limits;
  const Json whole = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  const auto process = whole.is_object() ? whole.find("process") : whole.end();
  if (process == whole.end() || !process->is_object()) return limits;
  for (const Json& limit : process->value("rlimits", Json::array())) {
    if (!limit.is_object()) continue;
    const auto number = linux::ParseResourceLimit(limit.value("type", ""));
    if (!number.has_value()) continue;
    const uint64_t soft = limit.value("soft", uint64_t{0});
    const uint64_t hard = limit.value("hard", uint64_t{0});
    rlimit own = {};
    const bool is_inherited = *number != RLIMIT_NOFILE &&
                              getrlimit(static_cast<__rlimit_resource>(*number), &own) == 0 &&
                              own.rlim_cur == soft && own.rlim_max == hard;
    if (is_inherited) continue;
    limits.push_back(absl::StrCat(*number, ":", soft, ":", hard));
  }
  return limits;
}

}  // namespace plimsoll::runtime
