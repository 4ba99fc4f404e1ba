// plimsoll run
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "base/text/problems.h"
#include "cli/agent_commands/agent_for_run.h"
#include "cli/agent_commands/agents_pods.h"
#include "cli/agent_commands/run_by_agent.h"
#include "cli/command/command.h"
#include "cli/command/paths.h"
#include "cli/node_commands/images.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/pod_commands/run_observer.h"
#include "cli/pod_commands/run_report.h"
#include "cli/terminal/interrupts.h"
#include "pod_runner/cri_requests/env.h"
#include "pod_runner/manifest/amount.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/manifest/objects.h"
#include "pod_runner/pod_files/check_objects.h"
#include "pod_runner/pod_files/dir.h"
#include "pod_runner/runner.h"
#include "pod_runner/runtime_client/event_watch.h"
#include "pod_runner/runtime_client/labels.h"
#include "pod_runner/sandbox_maker.h"

namespace plimsoll::cli {
namespace {

struct RunArguments {
  std::vector<std::string> files;
  std::string objects;    // a directory; empty: none
  std::string auth_file;  // empty: the user's own
  bool detach = false;
  bool keep = false;
  bool quiet = false;
  bool show_resources = false;
  bool no_agent = false;
  pod::SeccompRules seccomp;
  // The reason why nobody restarts a detached pod. Empty: an agent has it.
  std::string without_agent;
};

struct Manifests {
  std::string text;  // all documents
  std::vector<pod::Manifest> pods;
};

// Prints notes about limits above the machine's capacity.
void NoteVainLimits(const pod::Manifest& pod) {
  for (const pod::ContainerManifest& container : pod.containers) {
    for (const auto& [name, limit] : container.resources.limits) {
      const std::string vain = name == "cpu"      ? pod::ManyCpus(limit, pod::CpusHere())
                               : name == "memory" ? pod::MuchMemory(limit, pod::MemoryHere())
                                                  : "";
      if (vain.empty()) continue;
      PrintNote(absl::StrCat("note: ", pod.file, ": container ", container.name, ": ", vain, "\n"));
    }
  }
}

// "busybox" names a file, as "pod.yaml" does. Without such a file the user may have meant an image.
absl::Status OfManifest(const absl::Status& status, absl::string_view file) {
  if (!absl::IsNotFound(status) || absl::EndsWith(file, "yaml") || absl::EndsWith(file, "yml")) {
    return status;
  }
  return WithHint(status, "plimsoll run takes files with manifests of pods, not images.");
}

absl::StatusOr<Manifests> ReadManifests(const std::vector<std::string>& files) {
  Manifests all;
  absl::Status problems;
  for (const std::string& file : files) {
    const absl::StatusOr<std::string> text =
        ReadUserFile(file, FileKinds::kAny, kMostManifestBytes);
    if (!text.ok()) {
      problems = AlsoTell(problems, OfManifest(text.status(), file));
      continue;
    }
    const absl::StatusOr<std::vector<pod::Manifest>> pods =
        pod::ParseManifests(*text, file == "-" ? "standard input" : file);
    if (!pods.ok()) {
      problems = AlsoTell(problems, pods.status());
      continue;
    }
    absl::StrAppend(&all.text, all.text.empty() ? "" : "\n---\n", *text);
    all.pods.insert(all.pods.end(), pods->begin(), pods->end());
  }
  PLIMSOLL_RETURN_IF_ERROR(problems);
  return all;
}

void NoteFields(const std::vector<pod::Manifest>& pods, bool with_agent) {
  for (const pod::Manifest& pod : pods) {
    for (const std::string& note : pod.notes) PrintNote(absl::StrCat("note: ", note, "\n"));
    if (!with_agent) {
      for (const std::string& note : pod.left_to_agent) {
        PrintNote(absl::StrCat("note: ", note, " with `plimsoll run`\n"));
      }
    }
    NoteVainLimits(pod);
  }
}

// nullopt: none were asked for.
absl::StatusOr<std::optional<pod::ConfigObjects>> ReadObjects(const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, FromRoot(directory));
  absl::StatusOr<pod::ConfigObjects> objects = pod::ConfigObjects::ReadDirectory(root, path);
  if (!objects.ok()) return Annotate(objects.status(), "--objects");
  return *std::move(objects);
}

void NoteLeftOut(const pod::Manifest& pod, const pod::ConfigObjects* objects) {
  pod::PodContext context;
  context.objects = objects;
  for (const pod::ContainerManifest& container : pod.containers) {
    for (const std::string& told : pod::LeftOutVariables(pod, container, context)) {
      PrintNote(absl::StrCat("note: ", pod.file, ": container ", container.name, ": ", told, "\n"));
    }
  }
}

absl::Status CheckAllObjects(const std::vector<pod::Manifest>& pods,
                             const pod::ConfigObjects* objects) {
  absl::Status problems;
  for (const pod::Manifest& pod : pods) {
    NoteLeftOut(pod, objects);
    problems = AlsoTell(problems, pod::CheckObjects(pod, objects));
  }
  if (objects != nullptr || !absl::IsNotFound(problems)) return problems;
  return WithHint(problems, "--objects DIR names a directory with ConfigMaps and Secrets.");
}

void NoteDetached(const RunArguments& arguments, const pod::Manifest& pod,
                  const pod::Outcome& outcome) {
  Print(absl::StrCat(outcome.sandbox_id, "\n"));
  if (arguments.without_agent.empty()) return;
  if (pod.restart_policy != "Never") {
    PrintNote(absl::StrCat("note: pod ", pod.name,
                           ": the containers of a detached pod are not restarted (restartPolicy ",
                           pod.restart_policy, "): ", Printable(arguments.without_agent), "\n"));
  }
  if (pod.active_deadline_s) {
    PrintNote(absl::StrCat("note: pod ", pod.name,
                           ": nobody ends a detached pod at its activeDeadlineSeconds\n"));
  }
}

// `status` is the error of a pod whose name `namesake` has.
absl::Status WithRemedy(const absl::Status& status, const cri::PodSandbox& namesake) {
  return WithHint(status, absl::StrCat("Remove it first: ", RemovalCommand(namesake)));
}

absl::Status WithRemedy(const pod::Outcome& outcome) {
  return outcome.namesake ? WithRemedy(outcome.status, *outcome.namesake) : outcome.status;
}

void Report(const RunArguments& arguments, const pod::Manifest& pod, const pod::Outcome& outcome) {
  if (outcome.status.ok() && arguments.detach && outcome.started && !outcome.interrupted) {
    NoteDetached(arguments, pod, outcome);
  } else if (!arguments.quiet && !outcome.containers.empty()) {
    PrintNote(RunSummary(pod, outcome));
  }
  const auto print = arguments.detach ? PrintNote : Print;
  if (arguments.show_resources) print(ResourceTable(outcome));
  if (!outcome.status.ok()) PrintNote(FormatError(WithRemedy(outcome)));
}

absl::StatusOr<int> ReportAll(const CommandContext& context, const RunArguments& arguments,
                              const std::vector<pod::Manifest>& pods,
                              const std::vector<pod::Outcome>& outcomes) {
  int code = kExitOk;
  for (const pod::Outcome& outcome : outcomes) {
    // Exits in a pod that goes on don't count.
    const bool goes_on = arguments.detach && outcome.started && outcome.status.ok();
    if (code == kExitOk && (!goes_on || outcome.interrupted)) code = ExitCodeOf(outcome);
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(RunJson(pods, outcomes, code), context.format()));
    for (const pod::Outcome& outcome : outcomes) {
      if (!outcome.status.ok()) PrintNote(FormatError(WithRemedy(outcome)));
    }
    return code;
  }
  for (size_t i = 0; i < pods.size(); ++i) Report(arguments, pods[i], outcomes[i]);
  return code;
}

// The daemon's class types of pods; none with the feature gate off.
std::set<std::string> PodClassTypes(const cri::StatusResponse& status) {
  std::set<std::string> types;
  for (const auto& type : status.status().resources().pod_class_resources()) {
    types.insert(type.name());
  }
  return types;
}

// Counted from the third Ctrl-C.
constexpr absl::Duration kLeaveWithin = absl::Seconds(3);

// One Ctrl-C stops the pods, a second one kills them, a third one leaves them and ends the program.
// Before there is a pod, or while no daemon is there to stop it, one is enough.
void OnInterrupt(pod::Client& client, bool begun, int count) {
  if (begun && count < 3 && !client.stuck()) return;
  client.Abandon();
  if (count < 3) return;
  // Work that doesn't wait for the daemon doesn't notice Abandon.
  std::thread([] {
    absl::SleepFor(kLeaveWithin);
    std::_Exit(kExitInterrupted);
  }).detach();
}

pod::Patience WhileTheDaemonIsAway() {
  return {.wait = absl::Minutes(1),
          .lost =
              [] {
                PrintNote(
                    "plimsoll: the daemon has ended; the pods run on. Waiting for it to come "
                    "back...\n");
              },
          .back = [] { PrintNote("plimsoll: the daemon is back\n"); }};
}

bool MayEndAContainer(const node::Event& event) {
  return event.type() == "ContainerStopped" || event.type() == "ContainerRemoved" ||
         event.type() == "Recovered";
}

absl::StatusOr<int> RunPods(const CommandContext& context, const RunArguments& arguments,
                            const std::vector<pod::Manifest>& pods,
                            const pod::ConfigObjects* objects, Interrupts& interrupts,
                            pod::Client& client, std::atomic<bool>& begun) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto namesake, pod::FindNamesake(client, pods));
  if (namesake) return WithRemedy(pod::NameIsTaken(*namesake), *namesake);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto daemon, client.own().DaemonStatus());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto runtime, client.RuntimeStatus(/*verbose=*/false));
  std::vector<std::map<std::string, std::string>> image_ids;
  for (const pod::Manifest& pod : pods) {
    PLIMSOLL_ASSIGN_OR_RETURN(image_ids.emplace_back(),
                              EnsureImages(client, pod, objects, arguments.auth_file));
    if (interrupts.count() > 0) return kExitInterrupted;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  pod::RemoveOrphanedPodDirs(client, root, daemon.state_directory()).IgnoreError();  // not urgent
  PLIMSOLL_ASSIGN_OR_RETURN(auto own_client, context.Connect());
  const pod::EventWatch events(std::move(own_client), MayEndAContainer);
  begun = true;
  std::vector<pod::Outcome> outcomes(pods.size());
  {
    // A script reads standard output: the document, or the ids of detached pods. All else goes to
    // standard error.
    const bool all_aside = context.for_programs() || arguments.detach;
    LogMux logs(root, UseColour() && !all_aside,
                [all_aside](absl::string_view text, bool is_stderr) {
                  is_stderr || all_aside ? PrintNote(text) : Print(text);
                });
    std::vector<std::thread> threads;
    for (size_t i = 0; i < pods.size(); ++i) {
      pod::RunnerOptions options;
      options.detach = arguments.detach;
      options.keep = arguments.keep;
      options.state_directory = daemon.state_directory();
      options.pod_class_types = PodClassTypes(runtime);
      options.objects = objects;
      options.image_ids = image_ids[i];
      options.seccomp = arguments.seccomp;
      options.network_fault = pod::NetworkFault(runtime);
      options.interrupts = [&interrupts] { return interrupts.count(); };
      options.events = &events;
      threads.emplace_back([&, i, options = std::move(options)] {
        RunObserver observer(logs, {.pod = pods[i].name,
                                    .prefix = pods.size() > 1 ? pods[i].name + "/" : "",
                                    .show_logs = !arguments.quiet});
        outcomes[i] = pod::Runner(client, observer, root, pods[i], options).Run();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return ReportAll(context, arguments, pods, outcomes);
}

void NoteLoopbackAlone(pod::Client& client, const std::vector<pod::Manifest>& pods,
                       const std::vector<pod::Outcome>& outcomes) {
  const auto runtime = client.RuntimeStatus(/*verbose=*/false);
  const std::string fault = runtime.ok() ? pod::NetworkFault(*runtime) : "";
  if (fault.empty()) return;
  for (size_t i = 0; i < pods.size(); ++i) {
    const std::string& id = outcomes[i].sandbox_id;
    if (id.empty() || !pod::HasLoopbackAlone(client, pods[i], id)) continue;
    PrintNote(absl::StrCat("pod ", pods[i].name, ": ", LoopbackAlone(fault), "\n"));
  }
}

absl::StatusOr<int> GiveToAgent(const CommandContext& context, RunArguments arguments,
                                const Manifests& manifests, const agent::AgentClient& agent) {
  if (arguments.seccomp != pod::SeccompRules()) {
    return absl::FailedPreconditionError(
        "--seccomp-default and --seccomp-profile-root have no effect on an agent's pods: set "
        "seccompDefault and seccompProfileRoot in its configuration, or add --no-agent");
  }
  if (!arguments.auth_file.empty()) {
    return absl::FailedPreconditionError(
        "--authfile has no effect on an agent's pods: it pulls with the pod's imagePullSecrets and "
        "with the logins of its own user; log in as that user, or add --no-agent");
  }
  if (arguments.show_resources) {
    PrintNote("note: --show-resources has no effect: the agent starts the pods\n");
    arguments.show_resources = false;
  }
  Interrupts interrupts;  // before gRPC starts its threads
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<pod::Client> client, context.Connect());
  const absl::Cleanup deaf = [&interrupts] { interrupts.OnInterrupt(nullptr); };
  // The first one ends the wait for the pods, a second one also a call that hangs.
  interrupts.OnInterrupt([&](int count) {
    if (count < 2) return;
    client->Abandon();
    agent.Abandon();
  });
  const auto namesake = pod::FindNamesake(*client, manifests.pods);
  if (client->abandoned()) return kExitInterrupted;
  PLIMSOLL_RETURN_IF_ERROR(namesake.status());
  if (*namesake && !(*namesake)->labels().contains(pod::kAgentLabel)) {
    return WithRemedy(pod::NameIsTaken(**namesake), **namesake);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pod::Outcome> outcomes,
                            RunByAgent(agent, *client, manifests.text, manifests.pods, interrupts));
  NoteLoopbackAlone(*client, manifests.pods, outcomes);
  return ReportAll(context, arguments, manifests.pods, outcomes);
}

absl::StatusOr<int> Run(const CommandContext& context, RunArguments arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Manifests manifests, ReadManifests(arguments.files));
  const std::vector<pod::Manifest>& pods = manifests.pods;
  PLIMSOLL_ASSIGN_OR_RETURN(arguments.seccomp.profile_root,
                            FromRoot(arguments.seccomp.profile_root));
  if (arguments.seccomp.profile_root != pod::SeccompRules().profile_root) {
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(FsRoot::Open(arguments.seccomp.profile_root).status(), "--seccomp-profile-root"));
  }
  arguments.without_agent = "--no-agent was given";
  if (arguments.detach && !arguments.no_agent) {
    PLIMSOLL_ASSIGN_OR_RETURN(AgentChoice choice, ChooseAgent(context, arguments.objects));
    arguments.without_agent = choice.why_not;
    NoteFields(pods, choice.agent != nullptr);
    if (choice.agent != nullptr) return GiveToAgent(context, arguments, manifests, *choice.agent);
  } else {
    NoteFields(pods, /*with_agent=*/false);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<pod::ConfigObjects> read,
                            ReadObjects(arguments.objects));
  const pod::ConfigObjects* objects = read ? &*read : nullptr;
  PLIMSOLL_RETURN_IF_ERROR(CheckAllObjects(pods, objects));
  Interrupts interrupts;  // before gRPC starts its threads
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<pod::Client> client, context.ConnectToBringIn());
  std::atomic<bool> begun = false;
  interrupts.OnInterrupt([&client, &begun](int count) { OnInterrupt(*client, begun, count); });
  const absl::Cleanup deaf = [&interrupts] { interrupts.OnInterrupt(nullptr); };
  client->SetPatience(WhileTheDaemonIsAway());
  const absl::StatusOr<int> code =
      RunPods(context, arguments, pods, objects, interrupts, *client, begun);
  if (client->abandoned() && !code.ok()) return kExitInterrupted;
  return code;
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* run = app.add_subcommand(
      "run",
      "Run the pods of a Kubernetes manifest to their end.\n\n"
      "Prints the containers' output. The exit code is that of the first container that failed, "
      "130 after Ctrl-C, 125 when Plimsoll itself failed. Ctrl-C stops the pods, a second one "
      "kills them, a third one leaves them alone and ends at once.\n\n"
      "A container's log is rotated at 32 MiB, and one older log is kept.\n\n"
      "With --detach, standard output has only the pods' ids, one a line. The containers' output "
      "goes to standard error until all of them run. Where an agent uses the same runtime, it "
      "takes the pods before anything is made, and restarts them as their manifests say; without "
      "one nobody does.\n\n"
      "With -o json or yaml, standard output has one document about the pods and their "
      "containers, printed at their end or, with --detach, once they run. The containers' output "
      "goes to standard error.");
  run->add_option("manifest", arguments->files, "YAML files with v1 Pods; - is standard input")
      ->type_name("FILE")
      ->required();
  run->add_option("--objects", arguments->objects,
                  "Directory of YAML files with the ConfigMaps and Secrets of the pods")
      ->type_name("DIR");
  run->add_option("--authfile", arguments->auth_file,
                  "File with credentials for pulls, as docker login and skopeo login write it; "
                  "without the option their own files are read")
      ->type_name("FILE");
  run->add_flag("-d,--detach", arguments->detach, "Leave the pod running and print its id");
  run->add_flag("--no-agent", arguments->no_agent,
                "With --detach: run the pod without an agent, though there is one");
  run->add_flag("--keep", arguments->keep, "Stop the pod at its end, but do not remove it");
  run->add_flag("-q,--quiet", arguments->quiet,
                "Print neither the containers' output nor a summary");
  run->add_flag("--seccomp-default", arguments->seccomp.runtime_default,
                "Give containers without a seccomp profile RuntimeDefault");
  run->add_option(
         "--seccomp-profile-root", arguments->seccomp.profile_root,
         absl::StrCat("Directory that Localhost seccomp profiles are relative to (default ",
                      arguments->seccomp.profile_root, ")"))
      ->type_name("DIR");
  run->add_flag("--show-resources", arguments->show_resources,
                "Print the requested resources beside the kernel's values");
  context.Act(
      run, [&context, arguments] { return Run(context, *arguments); }, kExitOwnFailure);
}

}  // namespace plimsoll::cli
