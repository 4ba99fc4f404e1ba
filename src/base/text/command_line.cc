#include "base/text/command_line.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/text/closest_word.h"
#include "base/text/printable.h"

namespace plimsoll {
namespace {

constexpr size_t kMostShown = 200;  // bytes of a word

bool IsFlag(absl::string_view word) {
  return absl::StartsWith(word, "-");
}

// The command that the words have reached.
const CLI::App& ReachedCommand(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : ReachedCommand(*parsed.back());
}

std::vector<std::string> FlagsOf(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::App* level = &command; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      if (option->get_group().empty()) continue;
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
  }
  return flags;
}

std::vector<std::string> SubcommandsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  return names;
}

std::string MeantText(const std::string& closest) {
  return closest.empty() ? "" : absl::StrCat("; did you mean ", closest, "?");
}

std::string MessageOf(const CLI::App& app, const CLI::ParseError& error) {
  // A bad value leaves further words unparsed, which are not to blame.
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    return absl::StrCat(error.what(), MeantText(ClosestValue(error.what())));
  }
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (word == "--") continue;
    const std::string closest = ClosestArgument(ReachedCommand(app), word);
    return absl::StrCat(IsFlag(word) ? "unknown flag " : "unexpected argument ",
                        Printable(absl::string_view(word).substr(0, kMostShown)),
                        MeantText(closest));
  }
  return error.what();
}

}  // namespace

std::string ClosestArgument(const CLI::App& command, absl::string_view word) {
  if (!IsFlag(word)) return ClosestWord(word, SubcommandsOf(command));
  return ClosestWord(word.substr(0, word.find('=')), FlagsOf(command));
}

std::string ClosestValue(absl::string_view message) {
  constexpr absl::string_view kBefore = " not in {";
  const size_t at = message.rfind(kBefore);
  if (at == absl::string_view::npos || !absl::ConsumeSuffix(&message, "}")) return "";
  const absl::string_view name_and_word = message.substr(0, at);
  const size_t colon = name_and_word.find(": ");
  if (colon == absl::string_view::npos) return "";
  return ClosestWord(name_and_word.substr(colon + 2),
                     absl::StrSplit(message.substr(at + kBefore.size()), ','));
}

std::optional<EarlyExit> ParseCommandLine(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0) return EarlyExit{0, out.str()};
    return EarlyExit{2, absl::StrCat(app.get_name(), ": ", MessageOf(app, error), "\nTry ",
                                     app.get_name(), " --help\n")};
  }
  return std::nullopt;
}

int Leave(const EarlyExit& exit) {
  std::FILE* const stream = exit.code == 0 ? stdout : stderr;
  const bool is_whole = std::fputs(exit.text.c_str(), stream) >= 0 && std::fflush(stream) == 0;
  if (is_whole || exit.code != 0) return exit.code;
  std::fprintf(stderr, "can't write to standard output: %s\n", std::strerror(errno));
  return 1;
}

}  // namespace plimsoll
