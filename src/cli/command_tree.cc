#include "cli/command_tree.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/program.h"

namespace plimsoll::cli {
namespace {

OptionInfo DescribeOption(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  info.label = option.get_name(/*positional=*/true);
  info.description = option.get_description();
  info.required = option.get_required();
  info.repeated = option.get_expected_max() > 1;
  if (option.get_items_expected_max() > 0) info.value = option.get_type_name();
  // CLI11 appends the choices to the type: "TEXT:{a,b}".
  const size_t open = info.value.find('{');
  const size_t close = info.value.rfind('}');
  if (open != std::string::npos && close != std::string::npos && close > open) {
    info.choices = absl::StrSplit(info.value.substr(open + 1, close - open - 1), ',');
    info.value = "WORD";
  }
  // and checks likewise: "LINES:NONNEGATIVE".
  info.value = info.value.substr(0, info.value.find(':'));
  return info;
}

}  // namespace

CommandInfo DescribeCommands(const CLI::App& app) {
  CommandInfo info;
  info.name = app.get_name();
  info.aliases = app.get_aliases();
  info.description = app.get_description();
  info.has_one_form = HasOneForm(info.name);
  info.runs_alone = app.get_require_subcommand_min() == 0;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionInfo described = DescribeOption(*option);
    (described.names.empty() ? info.positionals : info.options).push_back(std::move(described));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) info.commands.push_back(DescribeCommands(*sub));
  }
  return info;
}

}  // namespace plimsoll::cli
