// The keys that end an attached terminal's connection and leave the container running.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_DETACH_KEYS_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_DETACH_KEYS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

inline constexpr char kDefaultDetachKeys[] = "ctrl-p,ctrl-q";

// The bytes of keys that are separated by commas. A key is a character, or ctrl- and a letter or
// one of @[\]^_. No bytes for "". INVALID_ARGUMENT: the text is no such list.
absl::StatusOr<std::string> ParseDetachKeys(const std::string& text);

// Searches typed bytes for the keys. Bytes that may begin the keys are held back until the next
// ones decide. Not thread-safe.
class DetachKeys {
 public:
  // `keys` is a result of ParseDetachKeys; empty: nothing is searched for.
  explicit DetachKeys(std::string keys) : keys_(std::move(keys)) {}
  // The bytes to send now. Bytes behind the keys are dropped.
  std::string Pass(absl::string_view typed);
  // The held bytes, for the end of the input.
  std::string TakeHeld() { return std::exchange(held_, ""); }
  // True once all keys were typed.
  bool found() const { return found_; }

 private:
  const std::string keys_;
  std::string held_;  // always a prefix of `keys_`
  bool found_ = false;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_DETACH_KEYS_H_
