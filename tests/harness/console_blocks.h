// Blocks of a document whose commands are run and whose output is compared:
//
//   ```console run
//   # plimsoll stop ticker
//   ticker
//   # plimsoll logs ticker
//   ...
//   stopped after ... seconds
//   ```
//
// A line that begins with "# " or "$ " is a command for bash; a backslash at its end continues it.
// The lines up to the next command are its output, standard error included. If any are shown, they
// are all of it:
//
// - "..." in a line stands for any text, and for none, with the blanks behind it. Alone in a
//   line it stands for any lines.
// - An id (12 hexadecimal digits or more, or a UUID), a time (2026-01-31 07:02:11.5 +00:00, or
//   RFC 3339) and a duration (3s, 1h2m, 152 ms; not 500m, which are CPUs) stand for any of their
//   kind.
// - Any blanks are equal to any others; empty lines don't count.
//
// A command exits with 0, but with another code if its output shows its error: a line that begins
// with "plimsoll: ".
#ifndef PLIMSOLL_TESTS_HARNESS_CONSOLE_BLOCKS_H_
#define PLIMSOLL_TESTS_HARNESS_CONSOLE_BLOCKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::testing {

struct ShownCommand {
  int line = 0;                     // of the page; the first is 1
  std::string command;              // without "# "; several lines if continued
  std::vector<std::string> output;  // shown lines
};

// Commands of all marked blocks in the page's order. INVALID_ARGUMENT, with the line: a block
// without an end or without a command, output before the first command, a command that never ends.
absl::StatusOr<std::vector<ShownCommand>> MarkedCommands(absl::string_view page);

// Whether a command whose block shows these lines may have printed `printed`.
bool IsOutput(const std::vector<std::string>& shown, absl::string_view printed);

// Whether a command whose block shows these lines fails.
bool ShowsError(const std::vector<std::string>& shown);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_CONSOLE_BLOCKS_H_
