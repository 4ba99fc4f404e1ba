#include "cli/command/command.h"

#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command/connect.h"
#include "cli/command/standalone.h"

namespace plimsoll::cli {

OutputFormat CommandContext::format() const {
  return output == "json"   ? OutputFormat::kJson
         : output == "yaml" ? OutputFormat::kYaml
         : output == "wide" ? OutputFormat::kWide
                            : OutputFormat::kTable;
}

absl::StatusOr<std::unique_ptr<pod::Client>> CommandContext::Connect(bool may_start) const {
  struct stat info = {};
  if (may_start && !root.empty() && stat(root.c_str(), &info) != 0) {
    // A command that only reads makes no directory.
    const int error = errno;
    return WithHint(ErrnoStatus(error, absl::StrCat("--root ", root)),
                    error == ENOENT ? "Nothing is kept there. `plimsoll image import`, `plimsoll "
                                      "pull` and `plimsoll run` make the directory."
                                    : "");
  }
  return cli::Connect({.address = address, .root = root, .may_start = may_start});
}

void CommandContext::NoteHiddenPods() const {
  if (!address.empty() || !root.empty()) return;
  const std::string service = pod::SocketPathOf(pod::kDefaultAddress).value_or("");
  PrintNote(
      NoteOfHiddenPods(SocketFor({}), service.substr(0, service.rfind('/')), StandaloneDirs().run));
}

absl::StatusOr<std::unique_ptr<pod::Client>> CommandContext::ConnectToBringIn() const {
  return cli::Connect({.address = address, .root = root});
}

void CommandContext::Act(CLI::App* command, std::function<absl::StatusOr<int>()> run,
                         int exit_on_failure) {
  command->callback([this, command, run = std::move(run), exit_on_failure] {
    // CLI11 calls this after the callbacks of subcommands. A parsed subcommand is the one to run.
    if (!command->get_subcommands().empty()) return;
    action.Choose(run, exit_on_failure);
  });
}

void AddContainerOption(CLI::App& command, std::string* container) {
  command.add_option("-c,--container", *container, "The container of the pod, as in POD/CONTAINER")
      ->type_name("CONTAINER-NAME");
}

CLI::Validator ZeroOrMore() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        return absl::SimpleAtod(text, &value) && std::isfinite(value) && value >= 0
                   ? std::string()
                   : absl::StrCat("\"", text, "\" is no number of 0 or more");
      },
      "");
}

}  // namespace plimsoll::cli
