// Which keys of the configuration differ.
#ifndef PLIMSOLL_DAEMON_CHANGED_KEYS_H_
#define PLIMSOLL_DAEMON_CHANGED_KEYS_H_

#include <string>
#include <vector>

#include "daemon/config.h"

namespace plimsoll::daemon {

// As the file has them ("log.level"); sections without a flag ("classes") as a whole. Empty only
// for equal ones.
std::vector<std::string> ChangedKeys(const Config& before, const Config& after);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CHANGED_KEYS_H_
