// Refused updates in the words of whoever asked for them.
#ifndef PLIMSOLL_CLI_AS_BEFORE_H_
#define PLIMSOLL_CLI_AS_BEFORE_H_

#include <string>

#include "absl/status/status.h"

namespace plimsoll::cli {

// What an update of one object was about: the daemon tells of it by its id, the user by a name.
struct Updated {
  std::string kind;  // "container", "pod"
  std::string id;
  std::string name;
};

// "update container 0123...: container a (0123...): why" becomes "container web/a is as before:
// why", with a hint. As it is when the daemon has not answered: then nobody knows.
absl::Status AsBefore(const absl::Status& status, const Updated& updated);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AS_BEFORE_H_
