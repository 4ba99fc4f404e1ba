#include "linux/resource_limits.h"

#include <sys/resource.h>

#include <utility>

namespace plimsoll::linux {
namespace {

constexpr std::pair<const char*, int> kResources[] = {{"RLIMIT_AS", RLIMIT_AS},
                                                      {"RLIMIT_CORE", RLIMIT_CORE},
                                                      {"RLIMIT_CPU", RLIMIT_CPU},
                                                      {"RLIMIT_DATA", RLIMIT_DATA},
                                                      {"RLIMIT_FSIZE", RLIMIT_FSIZE},
                                                      {"RLIMIT_LOCKS", __RLIMIT_LOCKS},
                                                      {"RLIMIT_MEMLOCK", __RLIMIT_MEMLOCK},
                                                      {"RLIMIT_MSGQUEUE", __RLIMIT_MSGQUEUE},
                                                      {"RLIMIT_NICE", __RLIMIT_NICE},
                                                      {"RLIMIT_NOFILE", RLIMIT_NOFILE},
                                                      {"RLIMIT_NPROC", __RLIMIT_NPROC},
                                                      {"RLIMIT_RSS", __RLIMIT_RSS},
                                                      {"RLIMIT_RTPRIO", __RLIMIT_RTPRIO},
                                                      {"RLIMIT_RTTIME", __RLIMIT_RTTIME},
                                                      {"RLIMIT_SIGPENDING", __RLIMIT_SIGPENDING},
                                                      {"RLIMIT_STACK", RLIMIT_STACK}};

}  // namespace

std::optional<int> ParseResourceLimit(absl::string_view name) {
  for (const auto& [known, number] : kResources) {
    if (name == known) return number;
  }
  return std::nullopt;
}

std::vector<std::string> ResourceLimitNames() {
  std::vector<std::string> names;
  for (const auto& [name, number] : kResources) names.emplace_back(name);
  return names;
}

}  // namespace plimsoll::linux
