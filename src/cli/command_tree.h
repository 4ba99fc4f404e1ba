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
  std::vector<CommandInfo> commands;  // hidden ones left out
  bool runs_alone = true;             // works without a subcommand too
  bool has_one_form = false;          // takes no -o json or yaml
};

CommandInfo DescribeCommands(const CLI::App& app);

// The page plimsoll(1) in roff, man(7).
std::string ManPage(const CommandInfo& tree, const std::string& version);

// A completion script for "bash", "zsh" or "fish"; empty for another shell. The script gets names
// of pods, containers and images from `plimsoll __complete KIND`.
std::string CompletionScript(const CommandInfo& tree, const std::string& shell);

// The output of `plimsoll __complete`: one name a line. Names that a shell would have to quote are
// left out. bash expands completions, "$(...)" included, and the user at the Tab key need not be
// the one that named the pod.
std::string CompletionNames(const std::set<std::string>& names);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_TREE_H_
