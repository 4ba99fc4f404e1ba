// The program's commands and options as data, for man page and shell completion.
#ifndef PLIMSOLL_CLI_COMMAND_TREE_H_
#define PLIMSOLL_CLI_COMMAND_TREE_H_

#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct OptionInfo {
  std::vector<std::string> names;    // "-o", "--output"; empty for a positional
  std::string label;                 // of a positional: "name"
  std::string value;                 // "FILE"; empty for a flag
  std::vector<std::string> choices;  // {"json", "yaml"} where only these are valid
  std::string description;
  bool required = false;
  bool repeated = false;
};

struct CommandInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string description;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> positionals;
  std::vector<CommandInfo> commands;  // without hidden ones
  bool runs_alone = true;             // also without one of them
};

CommandInfo DescribeCommands(const CLI::App& app);

// The page plimsoll(1) in roff, man(7).
std::string ManPage(const CommandInfo& tree, const std::string& version);

// A completion script for "bash", "zsh" or "fish"; empty for another shell. Names of pods,
// containers and images are asked of `plimsoll __complete KIND` when completing.
std::string CompletionScript(const CommandInfo& tree, const std::string& shell);

// What `plimsoll __complete` prints: one name a line. Left out are names that a shell would have to
// be given in quotes: bash expands what it completes from, "$(...)" included, and who names a pod
// is not who presses Tab.
std::string CompletionNames(const std::set<std::string>& names);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_TREE_H_
