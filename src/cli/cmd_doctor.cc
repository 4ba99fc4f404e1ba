// plimsoll doctor
#include <google/protobuf/util/json_util.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "cli/standalone.h"
#include "cli/table.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

// Asks plimsolld itself, which reads the directories without serving them. No `dirs`: those of the
// machine's configuration.
absl::StatusOr<node::InspectResponse> InspectStopped(const StandaloneDirs* dirs) {
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
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string json, RunChecked(std::move(command), limits));
  node::InspectResponse response;
  if (!google::protobuf::util::JsonStringToMessage(json, &response).ok()) {
    return absl::InternalError(absl::StrCat(daemon, " --inspect gave no answer that I understand"));
  }
  return response;
}

// No daemon runs at an address: what its directories tell, if they can be known from it.
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
  // A hint of its own, in place of the one that other commands give.
  return WithHint(absl::Status(unavailable.code(), unavailable.message()),
                  "Where its daemon kept its state can't be told from an address. To look without "
                  "a daemon: plimsolld --config FILE --inspect, or plimsoll --root DIRECTORY "
                  "doctor.");
}

// Those of the daemon that runs; else what its directories tell.
absl::StatusOr<node::InspectResponse> Look(const CommandContext& context) {
  const auto client = context.Connect(/*may_start=*/false);
  if (client.ok()) return (*client)->Inspect();
  if (!absl::IsUnavailable(client.status())) return client.status();
  if (!context.address.empty()) return LookBehind(context.address, client.status());
  const StandaloneDirs dirs = StandaloneDirs::Below(context.root);
  if (!context.root.empty()) return InspectStopped(&dirs);
  PLIMSOLL_ASSIGN_OR_RETURN(node::InspectResponse response, InspectStopped(nullptr));
  if (!FsRoot::Open(dirs.state).ok()) return response;
  // Plimsoll has hosted pods without a service too, and may be at it.
  const auto host = Client::Connect({.address = "unix://" + dirs.socket(), .may_start = false});
  PLIMSOLL_ASSIGN_OR_RETURN(const node::InspectResponse hosted,
                            host.ok() ? (*host)->Inspect() : InspectStopped(&dirs));
  response.mutable_findings()->MergeFrom(hosted.findings());
  response.mutable_troubles()->MergeFrom(hosted.troubles());
  response.set_daemon_running(response.daemon_running() || hosted.daemon_running());
  return response;
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

void PrintForPeople(const node::InspectResponse& response) {
  const char* where = response.daemon_running() ? "" : "No daemon runs. ";
  if (response.findings().empty()) {
    Print(absl::StrCat(where, response.troubles().empty()
                                  ? "What is recorded and what is there agree.\n"
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
                         : "Starting it does what the last column says.\n"));
  }
  if (!response.troubles().empty()) Print("\nWhat could not be put in order at the last start:\n");
  for (const std::string& trouble : response.troubles()) {
    Print(absl::StrCat("  - ", Printable(trouble), "\n"));
  }
}

absl::StatusOr<int> Doctor(const CommandContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const node::InspectResponse response, Look(context));
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
  } else {
    PrintForPeople(response);
  }
  return response.findings().empty() && response.troubles().empty() ? kExitOk : kExitDiffers;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, CommandContext& context) {
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Show what differs between what is recorded and what is there, and what recovery would "
      "do.\n\n"
      "Looks at processes, mounts, namespaces, control groups and files, and changes nothing. Asks "
      "the daemon that runs; without one it looks into the state directory itself, as root: that "
      "of the "
      "machine's configuration, or with --root the one there. The "
      "exit code is 0 when all agrees and 3 when something differs.");
  context.Act(doctor, [&context] { return Doctor(context); });
}

}  // namespace plimsoll::cli
