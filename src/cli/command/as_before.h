// Errors of refused updates, in terms of what the user typed.
#ifndef PLIMSOLL_CLI_COMMAND_AS_BEFORE_H_
#define PLIMSOLL_CLI_COMMAND_AS_BEFORE_H_

#include <string>

#include "absl/status/status.h"

namespace plimsoll::cli {

// The object of an update. The daemon names it by its id, the user by a name.
struct Updated {
  std::string kind;  // "container", "pod"
  std::string id;
  std::string name;
};

// Turns "update container 0123...: container a (0123...): why" into "container web/a is as before:
// why", with a hint. An error without the daemon's answer stays as it is: nothing is known of the
// object then.
absl::Status AsBefore(const absl::Status& status, const Updated& updated);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_AS_BEFORE_H_
