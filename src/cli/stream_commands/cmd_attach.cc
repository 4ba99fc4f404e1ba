// plimsoll attach
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/stream_commands/detach_keys.h"
#include "cli/stream_commands/running_container.h"
#include "cli/stream_commands/stream_client.h"
#include "cli/stream_commands/stream_commands.h"

namespace plimsoll::cli {
namespace {

struct AttachArguments {
  std::string name;
  bool no_stdin = false;
  std::string detach_keys = kDefaultDetachKeys;
};

// The container's tty as the daemon recorded it.
bool HasTerminal(const cri::ContainerStatusResponse& status) {
  const auto info = status.info().find("info");
  if (info == status.info().end()) return false;
  const auto json = nlohmann::json::parse(info->second, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("spec") || !json["spec"].is_object()) return false;
  return json["spec"].value("tty", false);
}

absl::StatusOr<int> Attach(const CommandContext& context, const AttachArguments& arguments) {
  absl::StatusOr<std::string> keys = ParseDetachKeys(arguments.detach_keys);
  if (!keys.ok()) return UsageError(Annotate(keys.status(), "--detach-keys"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::Container container,
                            RunningContainer(*client, arguments.name));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status,
                            client->ContainerStatus(container.id(), /*verbose=*/true));
  const bool terminal = HasTerminal(status);
  const bool input = !arguments.no_stdin;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string url,
                            client->AttachUrl(container.id(), input, terminal));
  return CarryCommand(url, {.input = input, .terminal = terminal, .detach_keys = *std::move(keys)});
}

}  // namespace

void AddAttachCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<AttachArguments>();
  CLI::App* attach = app.add_subcommand(
      "attach",
      "Attach to the standard streams of a running container.\n\n"
      "Shows the container's output from now on, and passes standard input to it if it was made "
      "with stdin. Ends with the container, or on Ctrl-C, which leaves the container alone. A "
      "container with a terminal gets Ctrl-C itself; Ctrl-P Ctrl-Q leaves it alone. Output that "
      "isn't read in time is left out here, with a note; the log has it.");
  attach
      ->add_option("name", arguments->name,
                   "Name or id of a container, POD/CONTAINER, or a pod: its first container")
      ->type_name("CONTAINER")
      ->required();
  attach->add_flag("--no-stdin", arguments->no_stdin, "Only show the container's output");
  attach
      ->add_option("--detach-keys", arguments->detach_keys,
                   absl::StrCat("Keys that end attach and leave the container alone, separated "
                                "by commas; empty: none. Default: ",
                                kDefaultDetachKeys))
      ->type_name("KEYS");
  context.Act(attach, [&context, arguments] { return Attach(context, *arguments); });
}

}  // namespace plimsoll::cli
