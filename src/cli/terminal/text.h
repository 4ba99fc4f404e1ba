// Small pieces of text for people: sizes, ages, ids.
#ifndef PLIMSOLL_CLI_TERMINAL_TEXT_H_
#define PLIMSOLL_CLI_TERMINAL_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::cli {

// "512 B", "1.5 MiB": three significant digits at most, binary units.
std::string HumanBytes(uint64_t bytes);

// "12s", "5m10s", "3h", "2d": the largest one or two units. "0s" for the future.
std::string HumanAge(absl::Duration age);

// The first 12 digits of an id, without "sha256:": the form that tables show and every command
// accepts.
std::string ShortId(absl::string_view id);

// `text` as one word of a shell command line, quoted only if necessary.
std::string ShellQuote(absl::string_view text);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_TEXT_H_
