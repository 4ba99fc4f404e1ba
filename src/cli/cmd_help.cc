// plimsoll help
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/closest_word.h"
#include "cli/command/command.h"
#include "cli/known_elsewhere.h"
#include "cli/program.h"

namespace plimsoll::cli {
namespace {

absl::Status NoSuchCommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  const std::string instead = InsteadOf(word);
  const std::string closest = ClosestWord(word, names);
  return UsageError(
      WithHint(absl::InvalidArgumentError(absl::StrCat("there is no command \"", word, "\"")),
               !instead.empty()   ? instead
               : !closest.empty() ? absl::StrCat("Did you mean `", closest, "`?")
                                  : absl::StrCat("There are: ", absl::StrJoin(names, ", "))));
}

absl::StatusOr<int> ShowHelp(const CLI::App& top, const std::vector<std::string>& words) {
  const CLI::App* app = &top;
  for (const std::string& word : words) {
    const auto subs = app->get_subcommands([&word](const CLI::App* sub) {
      return !sub->get_group().empty() && sub->check_name(word);
    });
    if (subs.empty()) return NoSuchCommand(*app, word);
    app = subs.front();
  }
  Print(HelpOf(*app));
  return kExitOk;
}

}  // namespace

void AddHelpCommand(CLI::App& app, CommandContext& context) {
  CLI::App* help = app.add_subcommand("help", "Show the help of a command, or all commands.");
  auto words = std::make_shared<std::vector<std::string>>();
  help->add_option("command", *words, "A command, like run or image pull")->type_name("COMMAND");
  context.Act(help, [&app, words] { return ShowHelp(app, *words); });
}

}  // namespace plimsoll::cli
