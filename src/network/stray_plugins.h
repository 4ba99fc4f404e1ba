// Plugins that a daemon started which is gone.
#ifndef PLIMSOLL_NETWORK_STRAY_PLUGINS_H_
#define PLIMSOLL_NETWORK_STRAY_PLUGINS_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"

namespace plimsoll::network {

// Kills what runs for these containers: processes that have CNI_CONTAINERID of one of them in their
// environment, which a plugin hands on to what it starts. So none goes on with an ADD while a DEL
// undoes it. Returns when there is none left; DEADLINE_EXCEEDED names one that survives.
absl::Status EndStrayPlugins(const FsRoot& host, const std::set<std::string>& ids,
                             absl::Time deadline);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_STRAY_PLUGINS_H_
