// Recovery's first half: what differs between what is recorded and what is there. Only looks.
//
// The engine goes by it when it starts (recovery.cc is the second half, one action for each
// difference); `plimsoll doctor` shows it.
#ifndef PLIMSOLL_RUNTIME_INSPECTION_H_
#define PLIMSOLL_RUNTIME_INSPECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fs_root.h"
#include "image/catalog.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

enum class Difference {
  kContainerHalfMade,     // its creation was cut off: nobody was told of it
  kContainerHalfRemoved,  // its removal was cut off
  kContainerStarted,      // recorded as Created, but its process was let run
  kContainerEnded,        // recorded as Created or Running, its monitor is gone
  kContainerRebooted,     // recorded as Created or Running, in another boot
  kContainerGroupLeft,    // has exited, its control group is still there
  kContainerGroupGone,    // Created or Running, and its control group isn't there
  kContainerFilesGone,    // Created or Running, and files it needs aren't there
  kSandboxHalfMade,
  kSandboxHalfRemoved,
  kSandboxRebooted,   // recorded as Ready, in another boot
  kSandboxBroken,     // recorded as Ready, a namespace is not pinned any more or has lost its init,
                      // or was stopped, which its row doesn't say
  kSandboxStillHeld,  // is NotReady, a namespace is still pinned or its init runs
  kSandboxGroupGone,  // recorded as Ready, and a control group made for it isn't there
  kSandboxNetworkLeft,    // is not Ready, and network plugins hold something for it
  kSandboxNetworkBroken,  // is Ready, and a network plugin says that its network is not as made
  kDamagedRow,            // a row of the database can't be read
  kDamagedImage,          // an image's row can't be read, or files of it are missing
  kStrayCommand,          // ExecSync started it, for a daemon that is gone
  kStrayContainer,        // files or processes of a container that is not recorded
  kStraySandbox,          // files or mounts of a sandbox that is not recorded
  kStrayGroup,            // a control group with the name of a sandbox that is not recorded
  kStrayNetwork,          // network plugins hold something for a sandbox that is not recorded
  kStrayWork,             // what an import or pull that was cut off has left
  kNotInspected,          // could not be looked at: nothing is done about it
};
const char* DifferenceName(Difference difference);  // "ContainerEnded"

struct Finding {
  Difference difference = Difference::kNotInspected;
  std::string sandbox_id;          // either may be empty
  std::string container_id;        // of kStrayContainer: of which nothing but the id is known
  std::string group;               // of kStrayGroup
  std::string what;                // "recorded as Running; its monitor (process 123) is gone"
  std::string action;              // what recovery does about it: "records its exit"
  int64_t started_unix_nanos = 0;  // of a container that was recorded as Created and ran; else 0
  StrayExec stray;                 // of kStrayCommand
};

struct InspectionInput {
  FsRoot host;
  FsRoot run;
  std::string boot_id;
  std::vector<SandboxRecord> sandboxes;
  std::vector<ContainerRecord> containers;
  std::vector<DamagedRow> damaged;
  std::vector<image::ImageRecord> images;  // whose files are looked for in `state`
  // Ids whose objects are being made or removed right now: passed over.
  std::vector<std::string> under_way;
  // Ids of sandboxes for which network plugins hold something.
  std::vector<std::string> attached;
  const linux::CgroupManager* cgroups = nullptr;
  const ContainerRuntime* runtime = nullptr;
  // The state directory, where images/layers and containers/ are; nullopt: not looked at.
  std::optional<FsRoot> state;
  std::string default_cgroup_parent;  // where groups of ours are looked for; empty: nowhere
};

// Whether recovery does something about it, beyond telling.
bool IsActedUpon(Difference difference);

// Stray commands first, then containers, sandboxes, other strays and images. At most one finding
// for each sandbox and container, besides the commands in it.
std::vector<Finding> Inspect(const InspectionInput& input);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_INSPECTION_H_
