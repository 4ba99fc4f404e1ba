// Plimsoll's helper programs: a start finds a half-installed package before it makes anything.
#ifndef PLIMSOLL_DAEMON_OWN_PROGRAMS_H_
#define PLIMSOLL_DAEMON_OWN_PROGRAMS_H_

#include <string>

#include "absl/status/status.h"

namespace plimsoll::daemon {

// Asks each helper for its version. NOT_FOUND: one is missing or can't be executed.
// FAILED_PRECONDITION: one is of another architecture, is damaged, or has another version than
// `version`, this program's. `directory`: where they are; empty: looked for as a start does.
absl::Status CheckOwnPrograms(const std::string& version, const std::string& directory = "");

// The same, for a start: an error has the advice to install the package again.
absl::Status CheckInstalledWhole(const std::string& version);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_OWN_PROGRAMS_H_
