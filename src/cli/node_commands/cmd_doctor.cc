// plimsoll doctor
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/socket_probe.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/command/connect.h"
#include "cli/command/standalone.h"
#include "cli/node_commands/node_commands.h"
#include "cli/terminal/message_json.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "cli/terminal/wrap.h"

namespace plimsoll::cli {
namespace {

// Runs plimsolld with a question and returns its answer. `subject`: for the error of others than
// root.
absl::StatusOr<std::string> AskProgram(const std::vector<std::string>& arguments,
                                       absl::string_view subject) {
  if (geteuid() != 0) {
    return WithHint(absl::PermissionDeniedError(absl::StrCat("only root may read ", subject)),
                    "Run this as root.");
  }
  Command command;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string daemon, FindDaemon());
  command.argv = {daemon};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  RunLimits limits;
  limits.max_output_bytes = 64 << 20;
  PLIMSOLL_ASSIGN_OR_RETURN(RunResult result, RunProgram(std::move(command), limits));
  if (result.exit.success()) return std::move(result.out);
  absl::string_view said = absl::StripAsciiWhitespace(result.err);
  absl::ConsumePrefix(&said, "plimsolld: ");
  if (result.exit.code == kExitUsage) return UsageError(absl::InvalidArgumentError(said));
  return absl::InternalError(
      said.empty() ? absl::StrCat(daemon, " ", arguments[0], ": ", result.exit.ToString()) : said);
}

// Asks plimsolld itself, which reads the directories without serving them. `dirs` null: the
// directories of the machine's configuration.
absl::StatusOr<node::InspectResponse> InspectStopped(const StandaloneDirs* dirs) {
  std::vector<std::string> arguments = {"--inspect"};
  if (dirs != nullptr) {
    const std::vector<std::string> more = {"--standalone", "--state-dir", dirs->state, "--run-dir",
                                           dirs->run};
    arguments.insert(arguments.end(), more.begin(), more.end());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string json,
                            AskProgram(arguments, "a daemon's state directory"));
  node::InspectResponse response;
  if (!google::protobuf::util::JsonStringToMessage(json, &response).ok()) {
    return absl::InternalError("plimsolld --inspect gave an unknown answer");
  }
  return response;
}

// Without a daemon at the address: the findings of its directories, if the address shows them.
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
  // Reasons why a command would start no daemon of its own, where it would need one.
  std::vector<absl::Status> hindrances;
};

absl::StatusOr<Looked> At(const absl::StatusOr<node::InspectResponse>& response) {
  PLIMSOLL_RETURN_IF_ERROR(response.status());
  return Looked{*response, {response->state_directory(), response->run_directory()}, {}};
}

// Asks plimsolld what its start in these directories would refuse, an error for each.
std::vector<absl::Status> RefusalsOfStart(const StandaloneDirs& dirs) {
  const absl::Status refused =
      AskProgram({"--standalone", "--check-config", "--address", "unix://" + dirs.socket(),
                  "--state-dir", dirs.state, "--run-dir", dirs.run},
                 "all of this machine")
          .status();
  std::vector<absl::Status> refusals;
  for (const absl::string_view line : absl::StrSplit(refused.message(), '\n', absl::SkipEmpty())) {
    refusals.push_back(
        WithHint(absl::Status(refused.code(), line), pod::AttachedHint(refused).value_or("")));
  }
  return refusals;
}

// For root. None while a daemon answers in these directories.
std::vector<absl::Status> Hindrances(const CommandContext& context, const StandaloneDirs& dirs) {
  if (geteuid() != 0 || ProbeSocket(dirs.socket()).ok()) return {};
  if (!context.root.empty() && access(context.root.c_str(), F_OK) != 0) return {};
  std::vector<absl::Status> all = StartHindrances(dirs);
  const absl::StatusOr<std::string> service = pod::SocketPathOf(pod::kDefaultAddress);
  if (context.root.empty() && service.ok()) {
    const absl::Status killed = CheckNoService(*service);
    if (!killed.ok()) all.insert(all.begin(), killed);
  }
  const std::vector<absl::Status> refusals = RefusalsOfStart(dirs);
  all.insert(all.end(), refusals.begin(), refusals.end());
  return all;
}

// `inspected`, with the hindrances, which are all where no daemon has left a state directory.
// Beside another error they are notes.
absl::StatusOr<Looked> WithHindrances(absl::StatusOr<Looked> inspected, const StandaloneDirs& dirs,
                                      std::vector<absl::Status> hindrances) {
  // A wrong configuration is in both.
  const auto says_so = [said =
                            std::string(inspected.status().message())](const absl::Status& each) {
    return absl::StrContains(said, each.message());
  };
  if (IsUsageError(inspected.status()) && !hindrances.empty() &&
      absl::c_none_of(hindrances, says_so)) {
    inspected = Looked{{}, {dirs.state, dirs.run}, {}};
  }
  if (inspected.ok()) {
    inspected->hindrances = std::move(hindrances);
    return inspected;
  }
  for (const absl::Status& hindrance : hindrances) {
    if (!says_so(hindrance)) PrintNote(FormatError(hindrance));
  }
  return inspected;
}

void AddTo(const node::InspectResponse& hosted, Looked* looked) {
  node::InspectResponse& response = looked->response;
  response.mutable_findings()->MergeFrom(hosted.findings());
  response.mutable_troubles()->MergeFrom(hosted.troubles());
  response.set_daemon_running(response.daemon_running() || hosted.daemon_running());
  looked->places.push_back(hosted.state_directory());
  looked->places.push_back(hosted.run_directory());
}

// The machine's plimsolld doesn't run. Plimsoll may have hosted pods without it too, and may still
// do so.
absl::StatusOr<Looked> LookWithoutService(const StandaloneDirs& dirs) {
  absl::StatusOr<Looked> looked = At(InspectStopped(nullptr));
  bool is_there = false;
  for (const std::string& path : {dirs.state, dirs.run}) {
    const absl::Status opened = FsRoot::Open(path).status();
    if (opened.ok()) is_there = true;
    if (!opened.ok() && !absl::IsNotFound(opened)) return opened;
  }
  // A machine without a configured daemon may have pods of commands alone.
  if (!is_there || (!looked.ok() && !IsUsageError(looked.status()))) return looked;
  const auto host = Connect({.address = "unix://" + dirs.socket(), .may_start = false});
  const absl::StatusOr<node::InspectResponse> hosted =
      host.ok() ? (*host)->own().Inspect() : InspectStopped(&dirs);
  if (IsUsageError(hosted.status())) {  // there is the run directory alone
    if (looked.ok()) looked->places.push_back(dirs.run);
    return looked;
  }
  PLIMSOLL_RETURN_IF_ERROR(hosted.status());
  if (!looked.ok()) return At(hosted);
  AddTo(*hosted, &*looked);
  return looked;
}

// The findings of the running daemon, else of its directories.
absl::StatusOr<Looked> Look(const CommandContext& context) {
  const auto client = context.Connect(/*may_start=*/false);
  if (client.ok()) return At((*client)->own().Inspect());
  if (!absl::IsUnavailable(client.status())) return client.status();
  if (!context.address.empty()) return At(LookBehind(context.address, client.status()));
  const StandaloneDirs dirs = StandaloneDirs::Below(context.root);
  std::vector<absl::Status> hindrances = Hindrances(context, dirs);
  return WithHindrances(context.root.empty() ? LookWithoutService(dirs) : At(InspectStopped(&dirs)),
                        dirs, std::move(hindrances));
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
  if (response.state_directory().empty()) {
    Print("No daemon has run here.\n");
  } else if (response.findings().empty()) {
    Print(absl::StrCat(where, response.troubles().empty()
                                  ? "The daemon's records and the machine agree.\n"
                                  : "Nothing else differs now.\n"));
  } else {
    Table table({"OBJECT", "DIFFERENCE", "WHAT IS WRONG", "RECOVERY"});
    for (const node::Finding& finding : response.findings()) {
      table.AddRow({Object(finding), finding.difference(), finding.what(), finding.action()});
    }
    Print(table.ToString(OutputWidth()));
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
  if (!looked.hindrances.empty()) Print("\nCommands can't start a daemon of their own:\n");
  for (const absl::Status& hindrance : looked.hindrances) {
    Print(absl::StrCat("  - ", Printable(hindrance.message()), "\n"));
    const std::string remedy = pod::AttachedHint(hindrance).value_or("");
    if (!remedy.empty()) Print(absl::StrCat("    ", Printable(remedy), "\n"));
  }
  Print(absl::StrCat("Looked at ", absl::StrJoin(looked.places, ", "), ".\n"));
}

// The daemon's answer, with "hindrances": [{"what", "remedy"}].
absl::Status PrintForPrograms(const Looked& looked, OutputFormat format) {
  PLIMSOLL_ASSIGN_OR_RETURN(nlohmann::ordered_json document, MessageJson(looked.response));
  nlohmann::ordered_json& hindrances = document["hindrances"] = nlohmann::ordered_json::array();
  for (const absl::Status& hindrance : looked.hindrances) {
    hindrances.push_back({{"what", std::string(hindrance.message())},
                          {"remedy", pod::AttachedHint(hindrance).value_or("")}});
  }
  return PrintJson(document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                   format);
}

absl::StatusOr<int> Doctor(const CommandContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Looked looked, Look(context));
  const node::InspectResponse& response = looked.response;
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintForPrograms(looked, context.format()));
  } else {
    PrintForPeople(looked);
  }
  return response.findings().empty() && response.troubles().empty() && looked.hindrances.empty()
             ? kExitOk
             : kExitDiffers;
}

// --- doctor --node

std::string Member(const nlohmann::json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

// `answer` is that of `plimsolld --check-node`.
void PrintNode(const nlohmann::json& answer, bool is_ready) {
  Table table({"CHECK", "LEVEL", "WHAT IS WRONG", "REMEDY"});
  for (const nlohmann::json& problem : answer["problems"]) {
    table.AddRow({Member(problem, "check"), Member(problem, "level"), Member(problem, "what"),
                  Member(problem, "remedy")});
  }
  const size_t width = OutputWidth();
  if (!table.empty()) Print(absl::StrCat(table.ToString(width), "\n"));
  std::vector<std::string> passed;
  for (const nlohmann::json& name : answer["passed"]) {
    if (name.is_string()) passed.push_back(name.get<std::string>());
  }
  const std::string outcome = absl::StrCat(
      is_ready ? "Nothing keeps this machine from being a Ready node.\n"
               : "The errors keep this machine from being a Ready node, or from running pods.\n",
      "In order: ", Printable(absl::StrJoin(passed, ", ")), ".\n");
  Print(Wrap(outcome, width, 0));
}

absl::StatusOr<int> DoctorOfNode(const CommandContext& context) {
  if (!context.root.empty() || !context.address.empty()) {
    return UsageError(absl::InvalidArgumentError(
        "--node looks at this machine, with the configuration of its own plimsolld: it takes "
        "neither --root nor --address"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::string text, AskProgram({"--check-node"}, "all of this machine"));
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object() || !answer.contains("problems") || !answer.contains("passed") ||
      !answer.contains("ready") || !answer["ready"].is_boolean()) {
    return absl::InternalError("plimsolld --check-node gave an unknown answer");
  }
  const bool is_ready = answer["ready"].get<bool>();
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(std::move(text), context.format()));
  } else {
    PrintNode(answer, is_ready);
  }
  return is_ready ? kExitOk : kExitDiffers;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, CommandContext& context) {
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Show differences between the daemon's records and the machine, and how recovery would end "
      "each.\n\n"
      "Looks at processes, mounts, namespaces, control groups and files, and changes nothing. "
      "Asks the running daemon. Without one it reads the directories itself, as root: those of "
      "the machine's configuration and those of commands without a daemon, or with --root the "
      "ones there. It then also says what keeps such commands from starting a daemon of their "
      "own: a plimsolld that was killed, locks, a full disk, missing programs. The exit code is 0 "
      "if nothing is found, 3 if something is, 2 if there is no state directory, and 1 if it "
      "can't be read.\n\n"
      "With --node, shows what keeps this machine from being a Ready node under kubelet, with the "
      "remedy of each, and changes nothing: swap, kernel modules, sysctls, control groups and "
      "their driver, kubelet's configuration, network, host name, ports, clock, programs, disks. "
      "Needs root and no daemon. The exit code is 0 without errors, whatever the warnings, and 3 "
      "with errors.");
  auto of_node = std::make_shared<bool>(false);
  doctor->add_flag("--node", *of_node,
                   "Show what keeps this machine from being a Ready node under kubelet");
  context.Act(doctor,
              [&context, of_node] { return *of_node ? DoctorOfNode(context) : Doctor(context); });
}

}  // namespace plimsoll::cli
