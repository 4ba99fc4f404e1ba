#include "runtime/oci/exec_process.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"

namespace plimsoll::runtime {

absl::StatusOr<std::string> ExecProcess(absl::string_view config,
                                        const std::vector<std::string>& argv) {
  using Json = nlohmann::json;
  const Json whole = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  const auto found = whole.is_object() ? whole.find("process") : whole.end();
  if (found == whole.end() || !found->is_object()) {
    return absl::DataLossError("a container's config.json has no process");
  }
  Json process = *found;
  process["args"] = argv;
  process["terminal"] = false;
  for (const char* member : {"consoleSize", "rlimits", "oomScoreAdj"}) process.erase(member);
  // The command may be anything; JSON is UTF-8.
  return process.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::runtime
