// The command line of plimsoll-kube.
#ifndef PLIMSOLL_KUBE_FLAGS_H_
#define PLIMSOLL_KUBE_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/text/command_line.h"
#include "kube/config.h"
#include "kube/manifests/manifests.h"

namespace plimsoll::kube {

struct ManifestFlags {
  std::vector<std::string> classes, pod_classes;  // "rdt=gold"
  std::vector<std::string> parts;
  std::optional<std::string> name_space, image, socket_directory, node_label;
  bool closed = false;
};

struct KubeFlags {
  enum class Command { kRun, kManifests, kRemove };
  Command command = Command::kRun;
  ConfigFlags config;
  bool check_config = false;
  int ready_fd = -1;
  bool force = false;  // of "remove"
  ManifestFlags manifests;
};

// Fills `flags`, or returns an immediate exit: help, version, a wrong flag.
std::optional<EarlyExit> ParseFlags(int argc, const char* const* argv, const std::string& version,
                                    KubeFlags& flags);

// Reads the flags; classes come from flags alone too. INVALID_ARGUMENT.
absl::StatusOr<ManifestOptions> ManifestOptionsOf(const KubeFlags& flags);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_FLAGS_H_
