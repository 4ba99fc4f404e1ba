// The ends of a program's command line: help, version, mistakes.
#ifndef PLIMSOLL_BASE_TEXT_COMMAND_LINE_H_
#define PLIMSOLL_BASE_TEXT_COMMAND_LINE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
}  // namespace CLI

namespace plimsoll {

// The program's work doesn't begin.
struct EarlyExit {
  int code = 0;  // 0: help or version was asked for; 2: a mistake
  std::string text;
};

// Parses by `app`, which has the program's name; `argv` begins with a name too. nullopt: all of it
// is in the places that `app` knows. The text of a mistake says what is wrong, names the flag or
// command that was most likely meant, and the way to the help.
std::optional<EarlyExit> ParseCommandLine(CLI::App& app, int argc, const char* const* argv);

// Prints the text to standard output, or that of a mistake to standard error. Returns the code for
// main: 1 where standard output takes no text.
int Leave(const EarlyExit& exit);

// The flag of `command` or of a command above it, or the subcommand of `command`, that `word` most
// likely misspells. Hidden ones are not told. Empty: none is near.
std::string ClosestArgument(const CLI::App& command, absl::string_view word);

// The value that was most likely meant, by the message of an option that takes one of several
// (CLI::IsMember): "--output: josn not in {table,json}". Empty: none is near, or another message.
std::string ClosestValue(absl::string_view message);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_COMMAND_LINE_H_
