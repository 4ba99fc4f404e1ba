#include "harness/stream_status.h"

#include <nlohmann/json.hpp>

namespace plimsoll::testing {

int ExitCodeOf(const std::string& status) {
  const auto json = nlohmann::json::parse(status, nullptr, false);
  if (!json.is_object()) return -1;
  if (json.value("status", "") == "Success") return 0;
  if (json.value("reason", "") != "NonZeroExitCode") return -1;
  return std::stoi(json["details"]["causes"][0]["message"].get<std::string>());
}

}  // namespace plimsoll::testing
