// A provider's topology kept in a file, so that it stays valid across a restart of the daemon.
#ifndef PLIMSOLL_TOPOLOGY_KEPT_TOPOLOGY_H_
#define PLIMSOLL_TOPOLOGY_KEPT_TOPOLOGY_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

struct KeptTopology {
  std::string author;
  std::optional<absl::Time> gone;  // when the author went; none: it never went
  Topology topology;
};

// The file "provider-topology" of a directory. One user at a time.
class TopologyKeeper {
 public:
  // A topology kept under another boot id is out of date. `boot_id` has no line break.
  TopologyKeeper(FsRoot directory, std::string boot_id)
      : directory_(std::move(directory)), boot_id_(std::move(boot_id)) {}

  // None if there is no usable one.
  std::optional<KeptTopology> Load() const;
  // The author's name must not have a line break.
  absl::Status Store(const KeptTopology& kept) const;
  absl::Status Forget() const;

 private:
  FsRoot directory_;
  std::string boot_id_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_KEPT_TOPOLOGY_H_
