#include "cli/program.h"

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/text/command_line.h"
#include "cli/agent_commands/agent_commands.h"
#include "cli/known_elsewhere.h"
#include "cli/node_commands/node_commands.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/stream_commands/stream_commands.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "cli/terminal/wrap.h"

#ifndef PLIMSOLL_BUILD
#define PLIMSOLL_BUILD "unknown"
#endif

namespace plimsoll::cli {
namespace {

std::vector<std::string> SubcommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  return names;
}

// The command whose parsing failed.
const CLI::App& Innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : Innermost(*parsed.back());
}

std::string FullName(const CLI::App& app) {
  return app.get_parent() == nullptr
             ? "plimsoll"
             : absl::StrCat(FullName(*app.get_parent()), " ", app.get_name());
}

// A list of commands has the first sentence of each.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* sub) const override {
    std::stringstream out;
    const std::string description = sub->get_description();
    CLI::detail::format_help(out, sub->get_display_name(true),
                             description.substr(0, description.find('\n')), column_width_);
    return out.str();
  }

  // The top level's options belong to every command.
  std::string make_footer(const CLI::App* app) const override {
    const CLI::App* top = app;
    while (top->get_parent() != nullptr) top = top->get_parent();
    if (top == app) return CLI::Formatter::make_footer(app);
    std::string text = "Global options:\n";
    for (const CLI::Option* option : top->get_options()) {
      if (option == top->get_help_ptr() || option == top->get_version_ptr()) continue;
      if (option->check_lname("output") && HasOneForm(app->get_name())) continue;
      text += make_option(option, /*is_positional=*/false);
    }
    return text;
  }
};

// The message for a missing argument.
std::string WhatIsMissing(const CLI::App& at, absl::string_view told) {
  if (at.get_require_subcommand_min() > 0) {
    return at.get_parent() == nullptr ? "which command?"
                                      : absl::StrCat(FullName(at), ": which command?");
  }
  const CLI::Option* name = at.get_option_no_throw("name");
  if (told == "name is required" && absl::StrContains(name->get_type_name(), "CONTAINER")) {
    return FullName(at) + ": which pod or container?";
  }
  return absl::StrCat(FullName(at), ": ", told);
}

// Options of other tools that run images, as in `plimsoll run -it busybox`.
bool IsOptionForImages(absl::string_view word) {
  for (const char* one : {"-i", "-t", "-it", "-ti", "--rm", "-f", "--name", "-v", "-p", "-e"}) {
    if (word == one) return true;
  }
  return false;
}

// kubectl's option for a container of a pod, as in `kubectl logs web -c app`.
bool IsOptionForContainers(absl::string_view word) {
  return word == "-c" || absl::StartsWith(word, "--container");
}

bool NamesContainers(const CLI::App& command) {
  const CLI::Option* name = command.get_option_no_throw("name");
  return name != nullptr && absl::StrContains(name->get_type_name(), "CONTAINER");
}

int ReportUsage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = Innermost(app);
  std::string message = error.what();
  std::string hint = absl::StrCat("See `", FullName(at), " --help`.");
  if (error.get_name() == "RequiredError") {
    message = WhatIsMissing(at, error.what());
    if (at.get_require_subcommand_min() > 0) {
      hint = absl::StrCat("There are: ", absl::StrJoin(SubcommandNames(at), ", "), ". ", hint);
    }
  }
  // A bad value of an option leaves further words unparsed, which are not to blame.
  const bool bad_value =
      error.get_name() == "ConversionError" || error.get_name() == "ValidationError";
  if (const std::string value = ClosestValue(message); !value.empty()) {
    hint = absl::StrCat("Did you mean `", value, "`? ", hint);
  }
  std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  std::erase(extra, "--");  // `exec NAME --` without a command
  if (!bad_value && !extra.empty()) {
    const std::string& word = extra.front();
    message = absl::StrCat(FullName(at), word[0] == '-' ? " has no option " : " does not know ",
                           ShellQuote(word));
    const std::string closest = ClosestArgument(at, word);
    const std::string instead = at.get_parent() == nullptr ? InsteadOf(word) : "";
    if (!instead.empty()) {
      hint = instead;
    } else if (!closest.empty()) {
      hint = absl::StrCat("Did you mean `", closest, "`? ", hint);
    }
    if (word == "--json" || word == "--yaml") {
      hint = absl::StrCat("Did you mean `-o ", word.substr(2), "`? ", hint);
    }
    if (at.get_name() == "run" && IsOptionForImages(word)) {
      hint = absl::StrCat("It takes files with manifests of pods: plimsoll run pod.yaml. ", hint);
    }
    if (at.get_name() == "classes" && word == "assign") {
      hint = absl::StrCat("Did you mean `plimsoll assign`? ", hint);
    }
    if (IsOptionForContainers(word) && NamesContainers(at)) {
      hint = absl::StrCat("Name a container of a pod as POD/CONTAINER. ", hint);
    }
    if (word[0] == '-' && at.get_name() == "exec") {
      hint = absl::StrCat(
          "Options of the command that is to run come after --, as in `plimsoll exec NAME -- ls "
          "-l`. ",
          hint);
    }
  }
  PrintNote(FormatError(WithHint(absl::InvalidArgumentError(message), hint)));
  return kExitUsage;
}

// True: help was asked for a subcommand that doesn't exist.
bool IsHelpOfNothing(const CLI::App& app) {
  const CLI::App& at = Innermost(app);
  const std::vector<std::string> extra = at.remaining();
  return at.get_require_subcommand_min() > 0 && !extra.empty() && extra.front()[0] != '-';
}

// A usage error for -o json of a command without such a form.
absl::Status CheckOutput(const CLI::App& app, const CommandContext& context) {
  const std::string command = app.get_subcommands().front()->get_name();
  if (!context.for_programs() || !HasOneForm(command)) return absl::OkStatus();
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat("plimsoll ", command, " has no -o ", context.output)));
}

}  // namespace

bool HasOneForm(const std::string& command) {
  for (const char* one : {"logs", "exec", "attach", "port-forward", "completion", "help"}) {
    if (command == one) return true;
  }
  return false;
}

std::string HelpOf(const CLI::App& app) {
  // App::help() describes the parsed command, which may be `help` itself.
  const std::string help =
      app.get_parent() != nullptr
          ? app.help(FullName(*app.get_parent()))
          : app.get_formatter()->make_help(&app, "plimsoll", CLI::AppFormatMode::Normal);
  return Wrap(help, OutputWidth(), app.get_formatter()->get_column_width());
}

void BuildApp(CLI::App& app, CommandContext& context) {
  app.description(
      "Runs pods whose resources are first-class.\n\n"
      "Talks to the daemon at --address. Without --address, and if no daemon listens at the "
      "usual place, it starts a daemon of its own for as long as a command or a pod needs it.");
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(
      "PLIMSOLL_ADDRESS and PLIMSOLL_ROOT in the environment stand for --address and --root where "
      "neither is given, PLIMSOLL_AGENT for --agent.");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("-v,--version", absl::StrCat("plimsoll ", PLIMSOLL_BUILD),
                       "Print the version and exit");
  app.add_option("--address", context.address, "Unix socket of the daemon to use, unix:///PATH")
      ->type_name("ADDRESS");
  app.add_option("--root", context.root,
                 "Use a private daemon, with all its files below this directory")
      ->type_name("DIRECTORY");
  app.add_option("--agent", context.agent,
                 "Unix socket of the agent, for apply, get, describe, delete, resize and "
                 "allocations")
      ->type_name("SOCKET");
  app.add_option("-o,--output", context.output,
                 "Table and wide are for people, the others for programs")
      ->transform([](const std::string& word) { return word[0] == '=' ? word.substr(1) : word; })
      ->check(CLI::IsMember({"table", "wide", "json", "yaml"}));
  AddRunCommand(app, context);
  AddPsCommand(app, context);
  AddPodsCommand(app, context);
  AddInspectCommand(app, context);
  AddLogsCommand(app, context);
  AddExecCommand(app, context);
  AddCpCommand(app, context);
  AddAttachCommand(app, context);
  AddPortForwardCommand(app, context);
  AddStopCommand(app, context);
  AddRmCommand(app, context);
  AddWaitCommand(app, context);
  AddPruneCommand(app, context);
  AddTopCommand(app, context);
  AddUpdateCommand(app, context);
  AddClassesCommand(app, context);
  AddNriCommand(app, context);
  AddTopologyCommand(app, context);
  AddKubeletConfigCommand(app, context);
  AddAssignCommand(app, context);
  AddImageCommand(app, context);
  AddApplyCommand(app, context);
  AddGetCommand(app, context);
  AddDescribeCommand(app, context);
  AddDeleteCommand(app, context);
  AddResizeCommand(app, context);
  AddAllocationsCommand(app, context);
  AddDaemonCommand(app, context);
  AddDoctorCommand(app, context);
  AddEventsCommand(app, context);
  AddVersionCommand(app, context);
  AddCompletionCommand(app, context);
  AddHelpCommand(app, context);
}

int RunProgramMain(int argc, char** argv) {
  CommandContext context;
  CLI::App app("", "plimsoll");
  BuildApp(app, context);
  if (argc <= 1) {
    // Help, but no success: in a script the variable with the command may have been empty.
    PrintNote(HelpOf(app));
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    if (IsHelpOfNothing(app)) return ReportUsage(app, help);
    Print(HelpOf(Innermost(app)));
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    Print(absl::StrCat(version.what(), "\n"));
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return ReportUsage(app, error);
  }
  if (context.address.empty() && context.root.empty()) {
    // The command line wins over both variables.
    for (const auto& [name, value] :
         {std::pair("PLIMSOLL_ADDRESS", &context.address), {"PLIMSOLL_ROOT", &context.root}}) {
      if (const char* given = getenv(name); given != nullptr) *value = given;
    }
  }
  if (!context.address.empty() && !context.root.empty()) {
    PrintNote(FormatError(WithHint(
        absl::InvalidArgumentError("--address and --root contradict each other"),
        "--address uses a running daemon, --root a private one. Look at PLIMSOLL_ADDRESS and "
        "PLIMSOLL_ROOT too.")));
    return kExitUsage;
  }
  const absl::Status fits = CheckOutput(app, context);
  absl::StatusOr<int> code = fits.ok() ? context.action.Run() : fits;
  const absl::Status printed = PrintStatus();
  if (!printed.ok() && code.ok() && *code == kExitOk) code = printed;
  if (code.ok()) return *code;
  PrintNote(FormatError(code.status()));
  return IsUsageError(code.status()) ? kExitUsage : context.action.failure_exit();
}

}  // namespace plimsoll::cli
