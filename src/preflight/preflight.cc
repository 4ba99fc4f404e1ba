#include "preflight/preflight.h"

#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "preflight/report.h"

namespace plimsoll::preflight {
namespace {

struct Check {
  const char* name;
  void (*run)(const Subject& subject, Report report);
};
constexpr Check kChecks[] = {
    {"Package", CheckPackage},
    {"Init", CheckInit},
    {"Unit", CheckUnit},
    {"Tools", CheckTools},
    {"Swap", CheckSwap},
    {"Modules", CheckModules},
    {"Sysctls", CheckSysctls},
    {"Cgroups", CheckCgroups},
    {"CgroupDriver", CheckCgroupDriver},
    {"Kubelet", CheckKubelet},
    {"OtherRuntimes", CheckOtherRuntimes},
    {"Network", CheckNetwork},
    {"HostName", CheckHostName},
    {"Ports", CheckPorts},
    {"Clock", CheckClock},
    {"Disks", CheckDisks},
};

}  // namespace

std::string Content(const FsRoot& host, const std::string& path) {
  return std::string(absl::StripAsciiWhitespace(host.Read(path).value_or("")));
}

std::vector<std::string> CheckNames() {
  std::vector<std::string> names;
  for (const Check& check : kChecks) names.emplace_back(check.name);
  return names;
}

std::vector<Problem> CheckNode(const Input& input) {
  const KubeletFiles kubelet = ReadKubeletFiles(input.host, input.kubelet_root);
  const Subject subject{input, kubelet};
  std::vector<Problem> problems;
  for (const Check& check : kChecks) check.run(subject, Report(check.name, &problems));
  return problems;
}

bool IsReady(const std::vector<Problem>& problems) {
  return absl::c_none_of(problems, [](const Problem& problem) { return problem.is_error; });
}

std::string ToJson(const std::vector<Problem>& problems) {
  using Json = nlohmann::ordered_json;
  Json listed = Json::array();
  for (const Problem& problem : problems) {
    listed.push_back({{"check", problem.check},
                      {"level", problem.is_error ? "error" : "warning"},
                      {"what", problem.what},
                      {"remedy", problem.remedy}});
  }
  Json passed = Json::array();
  for (const std::string& name : CheckNames()) {
    const auto concerns = [&name](const Problem& problem) { return problem.check == name; };
    if (absl::c_none_of(problems, concerns)) passed.push_back(name);
  }
  const Json document = {
      {"ready", IsReady(problems)}, {"problems", std::move(listed)}, {"passed", std::move(passed)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::preflight
