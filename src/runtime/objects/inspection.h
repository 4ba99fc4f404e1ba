// Recovery's first half: finds differences between the records and the machine. Changes nothing.
//
// The engine acts on them at its start (runtime/recovery.cc is the second half, one action for each
// difference); `plimsoll doctor` shows them.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_INSPECTION_H_
#define PLIMSOLL_RUNTIME_OBJECTS_INSPECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fs_root.h"
#include "image/catalog.h"
#include "linux/cgroup/cgroup.h"
#include "qos/class_type.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

enum class Difference {
  kContainerHalfMade,     // its creation was cut off: no client knows it
  kContainerHalfRemoved,  // its removal was cut off
  kContainerStarted,      // recorded as Created, but its process was started
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
  kStrayClassPlace,       // an ended or missing holder of a place in a QoS class
  kStrayWork,             // files that an import or pull left when it was cut off
  kNotInspected,          // couldn't be inspected: nothing is done about it
};
const char* DifferenceName(Difference difference);  // "ContainerEnded"

struct Finding {
  Difference difference = Difference::kNotInspected;
  std::string sandbox_id;          // either may be empty
  std::string container_id;        // of kStrayContainer: nothing else is known of it
  std::string group;               // of kStrayGroup
  std::string what;                // "recorded as Running; its monitor (process 123) is gone"
  std::string action;              // recovery's action: "records its exit"
  int64_t started_unix_nanos = 0;  // of a container that was recorded as Created and ran; else 0
  StrayExec stray;                 // of kStrayCommand
};

// A pod or container that counts as a member of a QoS class.
struct ClassHolder {
  qos::Level level = qos::Level::kContainer;
  std::string id;
  std::string what;  // "rdt gold"
};

struct InspectionInput {
  FsRoot host;
  FsRoot run;
  std::string boot_id;
  std::vector<SandboxRecord> sandboxes;
  std::vector<ContainerRecord> containers;
  std::vector<DamagedRow> damaged;
  std::vector<image::ImageRecord> images;  // their files are looked for in `state`
  // Ids of objects that are being made or removed right now: passed over.
  std::vector<std::string> under_way;
  // Ids of sandboxes for which network plugins hold something.
  std::vector<std::string> attached;
  // Read before `under_way` and the records.
  std::vector<ClassHolder> holders;
  const linux::CgroupManager* cgroups = nullptr;
  const ContainerRuntime* runtime = nullptr;
  // The state directory, with images/layers and containers/; nullopt: not inspected.
  std::optional<FsRoot> state;
  std::string default_cgroup_parent;  // where stray groups are looked for; empty: nowhere
};

// Sets the state kRemoving of records whose removal a full disk kept out of their row
// (update_mark.h). For records as loaded.
void AddUnrecordedRemovals(InspectionInput* input);

// Whether recovery acts on the difference, beyond telling it.
bool IsActedUpon(Difference difference);

// Finds all differences: stray commands first, then containers, sandboxes, other strays and images.
// At most one finding for each sandbox and container, besides the commands in it.
std::vector<Finding> Inspect(const InspectionInput& input);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_INSPECTION_H_
