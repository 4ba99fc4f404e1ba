// The difference of two configurations, as keys.
#ifndef PLIMSOLL_DAEMON_CONFIG_CHANGED_KEYS_H_
#define PLIMSOLL_DAEMON_CONFIG_CHANGED_KEYS_H_

#include <string>
#include <vector>

#include "daemon/config/config.h"

namespace plimsoll::daemon {

// Keys as in the file ("log.level"); a section without flags ("classes") counts as one. Empty only
// if both are equal.
std::vector<std::string> ChangedKeys(const Config& before, const Config& after);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIG_CHANGED_KEYS_H_
