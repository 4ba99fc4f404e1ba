#include "daemon/check_node.h"

#include <memory>

#include "base/fs_root.h"
#include "base/programs/own_program.h"
#include "base/status.h"
#include "daemon/cgroup_driver.h"
#include "daemon/own_programs.h"
#include "daemon/preconditions.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::daemon {

absl::StatusOr<std::vector<preflight::Problem>> CheckThisNode(const Config& config,
                                                              const std::string& version) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<linux::CgroupManager> cgroups,
                            linux::CgroupManager::Detect(host));
  const linux::CgroupLayout layout = cgroups->layout();
  return preflight::CheckNode(
      {.host = host,
       .machine = preflight::ThisMachine(),
       .state_directory = config.state_dir,
       .run_directory = config.run_dir,
       .socket = SocketPath(config),
       .network_directory = config.network.config_dir,
       .plugins = config.network.plugin_dirs,
       .kubelet_root = config.kubelet.root,
       .systemd_driver = WantsSystemd(host, config, layout, /*standalone=*/false),
       .layout = layout,
       .controllers = cgroups->Controllers(),
       .package = CheckOwnPrograms(version),
       .hwloc_program = FindOwnProgram("plimsoll-hwloc").status(),
       .oci_runtime = CheckOciRuntime(config)});
}

}  // namespace plimsoll::daemon
