// The table of configuration keys. Used by config.cc only.
#ifndef PLIMSOLL_DAEMON_CONFIG_CONFIG_OPTIONS_H_
#define PLIMSOLL_DAEMON_CONFIG_CONFIG_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "daemon/config/config.h"

namespace plimsoll::daemon {

enum class OptionKind {
  kText,
  kInteger,
  kTextList,  // `set` is called once per element, after `clear`
  kGates,     // a map of name to true or false; `set` is called with "name=value"
};

struct Option {
  const char* key;  // "section.name" or "name"
  OptionKind kind;
  // Checks the value alone. The message does not name the key.
  absl::Status (*set)(Config& config, const std::string& value);
  const char* help;
  void (*clear)(Config& config) = nullptr;
};

absl::Span<const Option> Options();

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIG_CONFIG_OPTIONS_H_
