// Kills plugins that an earlier daemon started.
#ifndef PLIMSOLL_NETWORK_STRAY_PLUGINS_H_
#define PLIMSOLL_NETWORK_STRAY_PLUGINS_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"

namespace plimsoll::network {

// Kills processes that work for these containers: their environment has CNI_CONTAINERID of one of
// them, which a plugin's children inherit. So none goes on with an ADD while a DEL undoes it.
// Returns when none is left; DEADLINE_EXCEEDED names one that survives.
absl::Status EndStrayPlugins(const FsRoot& host, const std::set<std::string>& ids,
                             absl::Time deadline);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_STRAY_PLUGINS_H_
