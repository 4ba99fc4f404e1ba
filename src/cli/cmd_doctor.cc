// plimsoll doctor
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/fs_root.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "cli/connect.h"
#include "cli/standalone.h"
#include "cli/table.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

// Asks plimsolld itself, which reads the directories without serving them. `dirs` null: the
// directories of the machine's configuration.
absl::StatusOr<node::InspectResponse> InspectStopped(const StandaloneDirs* dirs) {
  if (geteuid() != 0) {
    return WithHint(absl::PermissionDeniedError("only root may read a daemon's state directory"),
                    "Run this as root.");
  }
  Command command;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string daemon, FindDaemon());
  command.argv = {daemon, "--inspect"};
  if (dirs != nullptr) {
    const std::vector<std::string> more = {"--standalone", "--state-dir", dirs->state, "--run-dir",
                                           dirs->run};
    command.argv.insert(command.argv.end(), more.begin(), more.end());
  }
  RunLimits limits;
  limits.max_output_bytes = 64 << 20;
  PLIMSOLL_ASSIGN_OR_RETURN(const RunResult result, RunProgram(std::move(command), limits));
  if (!result.exit.success()) {
    absl::string_view said = absl::StripAsciiWhitespace(result.err);
    absl::ConsumePrefix(&said, "plimsolld: ");
    if (result.exit.code == kExitUsage) return UsageError(absl::InvalidArgumentError(said));
    return absl::InternalError(
        said.empty() ? absl::StrCat(daemon, " --inspect: ", result.exit.ToString()) : said);
  }
  node::InspectResponse response;
  if (!google::protobuf::util::JsonStringToMessage(result.out, &response).ok()) {
    return absl::InternalError(absl::StrCat(daemon, " --inspect gave an unknown answer"));
  }
  return response;
}

// Without a daemon at the address: the findings of its directories, if the address tells them.
absl::StatusOr<node::InspectResponse> LookBehind(absl::string_view address,
                                                 const absl::Status& unavailable) {
  absl::ConsumePrefix(&address, "unix:");
  absl::ConsumePrefix(&address, "//");
  const StandaloneDirs dirs;
  if (address == dirs.socket()) return InspectStopped(&dirs);
  const absl::StatusOr<node::InspectResponse> configured = InspectStopped(nullptr);
  if (configured.ok() && address == absl::StrCat(configured->run_directory(), "/plimsoll.sock")) {
    return configured;
  }
  // Replaces the hint of other commands.
  return WithHint(absl::Status(unavailable.code(), unavailable.message()),
                  "An address doesn't tell the daemon's state directory. To look without a "
                  "daemon: plimsolld --config FILE --inspect, or plimsoll --root DIRECTORY "
                  "doctor.");
}

struct Looked {
  node::InspectResponse response;
  std::vector<std::string> places;  // directories
};

absl::StatusOr<Looked> At(const absl::StatusOr<node::InspectResponse>& response) {
  PLIMSOLL_RETURN_IF_ERROR(response.status());
  return Looked{*response, {response->state_directory(), response->run_directory()}};
}

// The findings of the running daemon, else of its directories.
absl::StatusOr<Looked> Look(const CommandContext& context) {
  const auto client = context.Connect(/*may_start=*/false);
  if (client.ok()) return At((*client)->own().Inspect());
  if (!absl::IsUnavailable(client.status())) return client.status();
  if (!context.address.empty()) return At(LookBehind(context.address, client.status()));
  const StandaloneDirs dirs = StandaloneDirs::Below(context.root);
  if (!context.root.empty()) return At(InspectStopped(&dirs));
  PLIMSOLL_ASSIGN_OR_RETURN(Looked looked, At(InspectStopped(nullptr)));
  const absl::Status standalone = FsRoot::Open(dirs.state).status();
  if (absl::IsNotFound(standalone)) return looked;
  PLIMSOLL_RETURN_IF_ERROR(standalone);
  // Plimsoll has hosted pods without a service too, and may still do so.
  const auto host = Connect({.address = "unix://" + dirs.socket(), .may_start = false});
  PLIMSOLL_ASSIGN_OR_RETURN(const node::InspectResponse hosted,
                            host.ok() ? (*host)->own().Inspect() : InspectStopped(&dirs));
  node::InspectResponse& response = looked.response;
  response.mutable_findings()->MergeFrom(hosted.findings());
  response.mutable_troubles()->MergeFrom(hosted.troubles());
  response.set_daemon_running(response.daemon_running() || hosted.daemon_running());
  looked.places.push_back(hosted.state_directory());
  looked.places.push_back(hosted.run_directory());
  return looked;
}

std::string Object(const node::Finding& finding) {
  if (!finding.container_id().empty()) {
    return absl::StrCat("container ", ShortId(finding.container_id()));
  }
  if (!finding.pod_sandbox_id().empty()) {
    return absl::StrCat("pod ", ShortId(finding.pod_sandbox_id()));
  }
  return "-";
}

void PrintForPeople(const Looked& looked) {
  const node::InspectResponse& response = looked.response;
  const char* where = response.daemon_running() ? "" : "No daemon runs. ";
  if (response.findings().empty()) {
    Print(absl::StrCat(where, response.troubles().empty()
                                  ? "The daemon's records and the machine agree.\n"
                                  : "Nothing else differs now.\n"));
  } else {
    Table table({"OBJECT", "DIFFERENCE", "WHAT IS WRONG", "RECOVERY"});
    for (const node::Finding& finding : response.findings()) {
      table.AddRow({Object(finding), finding.difference(), finding.what(), finding.action()});
    }
    Print(table.ToString());
    Print(
        absl::StrCat("\n", where,
                     response.daemon_running()
                         ? "Recovery runs when the daemon is started; containers that run are not "
                           "disturbed by a restart.\n"
                         : "Its start takes the steps in the last column.\n"));
  }
  if (!response.troubles().empty()) Print("\nNot put in order at the last start:\n");
  for (const std::string& trouble : response.troubles()) {
    Print(absl::StrCat("  - ", Printable(trouble), "\n"));
  }
  Print(absl::StrCat("Looked at ", absl::StrJoin(looked.places, ", "), ".\n"));
}

absl::StatusOr<int> Doctor(const CommandContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Looked looked, Look(context));
  const node::InspectResponse& response = looked.response;
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
  } else {
    PrintForPeople(looked);
  }
  return response.findings().empty() && response.troubles().empty() ? kExitOk : kExitDiffers;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, CommandContext& context) {
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Show differences between the daemon's records and the machine, and how recovery would end "
      "each.\n\n"
      "Looks at processes, mounts, namespaces, control groups and files, and changes nothing. "
      "Asks the running daemon. Without one it reads the state directory itself, as root: that "
      "of the machine's configuration, or with --root the one there. The exit code is 0 without "
      "differences, 3 with differences, 2 if there is no state directory, and 1 if it can't be "
      "read.");
  context.Act(doctor, [&context] { return Doctor(context); });
}

}  // namespace plimsoll::cli
