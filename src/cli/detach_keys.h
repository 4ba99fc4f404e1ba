// The keys that leave a terminal one is attached to, and the container alone.
#ifndef PLIMSOLL_CLI_DETACH_KEYS_H_
#define PLIMSOLL_CLI_DETACH_KEYS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

inline constexpr char kDefaultDetachKeys[] = "ctrl-p,ctrl-q";

// The bytes of keys that are separated by commas, each a character or ctrl- and a letter or one of
// @[\]^_; none for "". INVALID_ARGUMENT.
absl::StatusOr<std::string> ParseDetachKeys(const std::string& text);

// Looks for them in what is typed. Keys that may be the first of them are held back until it is
// known. Not thread-safe.
class DetachKeys {
 public:
  // `keys`: of ParseDetachKeys; empty: nothing is looked for.
  explicit DetachKeys(std::string keys) : keys_(std::move(keys)) {}
  // What of the typed bytes is to be sent; what comes after the keys is left out.
  std::string Pass(absl::string_view typed);
  // What is held back, when nothing more is typed.
  std::string TakeHeld() { return std::exchange(held_, ""); }
  // Whether all of them were typed.
  bool found() const { return found_; }

 private:
  const std::string keys_;
  std::string held_;  // always a beginning of `keys_`
  bool found_ = false;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_DETACH_KEYS_H_
