// A provider's topology in a file, so that a restart of the daemon doesn't end its time.
#ifndef PLIMSOLL_TOPOLOGY_KEPT_TOPOLOGY_H_
#define PLIMSOLL_TOPOLOGY_KEPT_TOPOLOGY_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "topology/zone.h"

namespace plimsoll::topology {

struct KeptTopology {
  std::string author;
  std::optional<absl::Time> gone;  // when the author went; none: it was there to the end
  Topology topology;
};

// File "provider-topology" of a directory. One user at a time.
class TopologyKeeper {
 public:
  // What was kept under another boot id is of another machine's time. `boot_id` has no line break.
  TopologyKeeper(FsRoot directory, std::string boot_id)
      : directory_(std::move(directory)), boot_id_(std::move(boot_id)) {}

  // None: nothing is there that can be used.
  std::optional<KeptTopology> Load() const;
  // The author's name has no line break.
  absl::Status Store(const KeptTopology& kept) const;
  absl::Status Forget() const;

 private:
  FsRoot directory_;
  std::string boot_id_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_KEPT_TOPOLOGY_H_
