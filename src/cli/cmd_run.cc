// plimsoll run
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/images.h"
#include "cli/interrupts.h"
#include "cli/lookup.h"
#include "cli/pod_runner.h"
#include "cli/resource_report.h"
#include "cli/table.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

struct RunArguments {
  std::vector<std::string> files;
  bool detach = false;
  bool keep = false;
  bool quiet = false;
  bool show_resources = false;
};

std::string Milliseconds(absl::Duration duration) {
  const double ms = absl::ToDoubleMilliseconds(duration);
  return ms < 10000 ? absl::StrFormat("%.0f ms", ms) : HumanAge(duration);
}

const char* RoleText(resources::ContainerRequirements::Role role) {
  using Role = resources::ContainerRequirements::Role;
  return role == Role::kInit ? "init" : role == Role::kSidecar ? "sidecar" : "container";
}

std::string StateText(const ContainerOutcome& container) {
  if (!container.created) return "not created";
  switch (container.status.state()) {
    case cri::CONTAINER_RUNNING:
      return "Running";
    case cri::CONTAINER_CREATED:
      return "Created";
    default:
      return container.status.reason().empty() ? "Exited" : container.status.reason();
  }
}

std::string RanFor(const cri::ContainerStatus& status) {
  if (status.started_at() == 0 || status.finished_at() == 0) return "-";
  return Milliseconds(absl::Nanoseconds(status.finished_at() - status.started_at()));
}

std::string Summary(const PodManifest& pod, const PodOutcome& outcome) {
  Table table({"CONTAINER", "ROLE", "STATE", "EXIT CODE", "RESTARTS", "RAN FOR"});
  for (const ContainerOutcome& container : outcome.containers) {
    const bool exited = container.status.state() == cri::CONTAINER_EXITED;
    table.AddRow({container.name, RoleText(container.role), StateText(container),
                  exited ? absl::StrCat(container.status.exit_code()) : "-",
                  absl::StrCat(container.restarts), RanFor(container.status)});
  }
  std::string text = absl::StrCat("\npod ", pod.pod_namespace, "/", pod.name, ": ",
                                  outcome.started ? "started in " : "did not start, gave up after ",
                                  Milliseconds(outcome.start_time));
  if (outcome.init_time > absl::ZeroDuration()) {
    absl::StrAppend(&text, ", ", Milliseconds(outcome.init_time), " of it in init containers");
  }
  return absl::StrCat(text, "\n", table.ToString());
}

std::string ResourceTable(const PodOutcome& outcome) {
  Table table({"CONTAINER", "RESOURCE", "ASKED FOR", "AS LINUX SAYS IT", "KERNEL HOLDS", ""});
  for (const ContainerOutcome& container : outcome.containers) {
    if (!container.created) continue;
    for (const ResourceLine& line : CompareResources(container.config, container.held)) {
      table.AddRow({container.name, line.resource, line.wanted.empty() ? "-" : line.wanted,
                    line.sent, line.held, line.differs ? "differs" : ""});
    }
  }
  return absl::StrCat("\n", table.ToString());
}

absl::Status CheckNamesAreFree(Client& client, const std::vector<PodManifest>& pods) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto existing, client.ListPodSandboxes());
  for (const PodManifest& pod : pods) {
    for (const cri::PodSandbox& other : existing) {
      if (other.metadata().name() != pod.name ||
          other.metadata().namespace_() != pod.pod_namespace) {
        continue;
      }
      return WithHint(
          absl::AlreadyExistsError(absl::StrCat(
              "pod ", pod.pod_namespace, "/", pod.name, " is ",
              other.state() == cri::SANDBOX_READY ? "running already" : "there already, stopped")),
          absl::StrCat("Remove it first: plimsoll rm ",
                       other.state() == cri::SANDBOX_READY ? "--force " : "", ShortId(other.id())));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PodManifest>> ReadAllManifests(const std::vector<std::string>& files) {
  std::vector<PodManifest> pods;
  for (const std::string& file : files) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto more, ReadManifests(file));
    pods.insert(pods.end(), more.begin(), more.end());
  }
  for (const PodManifest& pod : pods) {
    for (const std::string& note : pod.notes) PrintNote(absl::StrCat("note: ", note, "\n"));
  }
  return pods;
}

bool UseColour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

void NoteDetached(const PodManifest& pod, const PodOutcome& outcome) {
  Print(absl::StrCat(outcome.sandbox_id, "\n"));
  if (pod.restart_policy != "Never") {
    PrintNote(absl::StrCat("note: pod ", pod.name,
                           ": nobody restarts the containers of a detached "
                           "pod (restartPolicy ",
                           pod.restart_policy, ")\n"));
  }
}

int Report(const RunArguments& arguments, const PodManifest& pod, const PodOutcome& outcome) {
  if (outcome.status.ok() && arguments.detach && !outcome.interrupted) {
    NoteDetached(pod, outcome);
  } else if (!arguments.quiet && !outcome.containers.empty()) {
    PrintNote(Summary(pod, outcome));
  }
  if (arguments.show_resources) Print(ResourceTable(outcome));
  if (!outcome.status.ok()) PrintNote(FormatError(outcome.status));
  return outcome.ExitCode();
}

absl::StatusOr<int> Run(const CommandContext& context, const RunArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<PodManifest> pods, ReadAllManifests(arguments.files));
  Interrupts interrupts;  // before gRPC starts its threads
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, context.Connect());
  PLIMSOLL_RETURN_IF_ERROR(CheckNamesAreFree(*client, pods));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto daemon, client->DaemonStatus());
  for (const PodManifest& pod : pods) {
    PLIMSOLL_RETURN_IF_ERROR(EnsureImages(*client, pod));
    if (interrupts.count() > 0) return kExitInterrupted;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  std::vector<PodOutcome> outcomes(pods.size());
  {
    LogMux logs(root, UseColour(), [](absl::string_view text, bool is_stderr) {
      is_stderr ? PrintNote(text) : Print(text);
    });
    std::vector<std::thread> threads;
    for (size_t i = 0; i < pods.size(); ++i) {
      RunnerOptions options;
      options.detach = arguments.detach;
      options.keep = arguments.keep;
      options.show_logs = !arguments.quiet;
      if (pods.size() > 1) options.prefix = pods[i].name + "/";
      options.state_directory = daemon.state_directory();
      options.interrupts = [&interrupts] { return interrupts.count(); };
      threads.emplace_back([&, i, options = std::move(options)] {
        outcomes[i] = PodRunner(*client, logs, root, pods[i], options).Run();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  int code = kExitOk;
  for (size_t i = 0; i < pods.size(); ++i) {
    const int own = Report(arguments, pods[i], outcomes[i]);
    if (code == kExitOk) code = own;
  }
  return code;
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* run = app.add_subcommand(
      "run",
      "Run the pods of a Kubernetes manifest to their end.\n\n"
      "Prints what the containers print. The exit code is that of the first container that failed, "
      "130 after Ctrl-C, 125 when Plimsoll itself failed.");
  run->add_option("manifest", arguments->files, "YAML files with v1 Pods; - is standard input")
      ->type_name("FILE")
      ->required();
  run->add_flag("-d,--detach", arguments->detach, "Leave the pod running and print its id");
  run->add_flag("--keep", arguments->keep, "Stop the pod at its end, but do not remove it");
  run->add_flag("-q,--quiet", arguments->quiet,
                "Print neither the containers' output nor a summary");
  run->add_flag("--show-resources", arguments->show_resources,
                "Print what was asked for beside what the kernel holds");
  context.Act(
      run, [&context, arguments] { return Run(context, *arguments); }, kExitOwnFailure);
}

}  // namespace plimsoll::cli
