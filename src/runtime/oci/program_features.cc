#include "runtime/oci/program_features.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/subprocess.h"

namespace plimsoll::runtime {
namespace {

// All programs are asked before the daemon serves.
constexpr absl::Duration kFeaturesPatience = absl::Seconds(3);

// The program's standard output; empty when its exit code isn't 0.
absl::StatusOr<std::string> OutputOf(const std::string& program, const std::string& argument) {
  PLIMSOLL_ASSIGN_OR_RETURN(const RunResult result, RunProgram({.argv = {program, argument}},
                                                               {.timeout = kFeaturesPatience}));
  return result.exit.success() ? result.out : "";
}

}  // namespace

bool FeaturesHaveMountOption(absl::string_view json, absl::string_view option) {
  const auto features = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!features.is_object()) return false;
  const auto options = features.find("mountOptions");
  if (options == features.end() || !options->is_array()) return false;
  return absl::c_any_of(*options, [&](const nlohmann::json& known) {
    return known.is_string() && known.get_ref<const std::string&>() == option;
  });
}

bool KnowsRecursiveReadOnly(const std::string& program) {
  const absl::StatusOr<std::string> features = OutputOf(program, "features");
  if (!features.ok()) return false;
  if (!features->empty()) return FeaturesHaveMountOption(*features, "rro");
  int major = 0;
  int minor = 0;
  const absl::StatusOr<std::string> version = OutputOf(program, "--version");
  if (!version.ok()) return false;
  if (sscanf(version->c_str(), "crun version %d.%d", &major, &minor) != 2) return false;
  return major > 1 || (major == 1 && minor >= 4);
}

}  // namespace plimsoll::runtime
