// plimsoll delete
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/agent_commands/agent_commands.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/agent_pod_lookup.h"
#include "cli/command/command.h"
#include "cli/command/each_name.h"
#include "cli/command/paths.h"
#include "cli/command/seconds.h"
#include "cli/terminal/object_fields.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kNowSeconds = 1;

struct DeleteArguments {
  std::vector<std::string> names;
  std::vector<std::string> files;
  std::string pod_namespace;
  int64_t grace_s = -1;
  bool now = false;
  bool wait = false;

  std::optional<int64_t> grace() const {
    if (now) return kNowSeconds;
    if (grace_s < 0) return std::nullopt;
    return grace_s;
  }
};

struct Place {
  std::string pod_namespace;
  std::string name;
};

// The pods that are meant, by the names that are printed.
using PodsByLabel = std::vector<std::pair<std::string, Place>>;

absl::StatusOr<PodsByLabel> PlacesOf(const DeleteArguments& arguments) {
  PodsByLabel places;
  for (const std::string& name : arguments.names) {
    places.push_back({name, {arguments.pod_namespace, name}});
  }
  for (const std::string& file : arguments.files) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                              ReadUserFile(file, FileKinds::kAny, kMostManifestBytes));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pod::Manifest> pods,
                              pod::ParseManifests(text, file == "-" ? "standard input" : file));
    for (const pod::Manifest& pod : pods) {
      const std::string label = pod.pod_namespace == "default"
                                    ? pod.name
                                    : absl::StrCat(pod.pod_namespace, "/", pod.name);
      places.push_back({label, {pod.pod_namespace, pod.name}});
    }
  }
  if (!places.empty()) return places;
  return UsageError(WithHint(absl::InvalidArgumentError("plimsoll delete: which pod?"),
                             "`plimsoll delete pod NAME`, or `plimsoll delete -f MANIFEST`."));
}

// Until no pod of this uid is there.
absl::Status AwaitEnd(const agent::AgentClient& client, const Place& place,
                      const std::string& uid) {
  while (true) {
    const absl::StatusOr<KubeObject> pod = client.Get(place.pod_namespace, place.name);
    if (absl::IsNotFound(pod.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(pod.status());
    if (TextOf(*pod, {"metadata", "uid"}) != uid) return absl::OkStatus();
    absl::SleepFor(kLookInterval);
  }
}

absl::Status DeleteOne(const agent::AgentClient& client, const DeleteArguments& arguments,
                       const Place& place) {
  PLIMSOLL_ASSIGN_OR_RETURN(const KubeObject pod,
                            GetAgentPod(client, place.pod_namespace, place.name));
  PLIMSOLL_RETURN_IF_ERROR(client.Delete(place.pod_namespace, place.name, arguments.grace()));
  if (!arguments.wait) return absl::OkStatus();
  return AwaitEnd(client, place, TextOf(pod, {"metadata", "uid"}));
}

absl::StatusOr<int> Delete(const CommandContext& context, const DeleteArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  PLIMSOLL_ASSIGN_OR_RETURN(const PodsByLabel places, PlacesOf(arguments));
  std::vector<std::string> labels;
  std::map<std::string, Place> by_label;
  for (const auto& [label, place] : places) {
    labels.push_back(label);
    by_label[label] = place;
  }
  return ForEachName(context, labels, [&](const std::string& label) {
    return WithAgentHint(DeleteOne(*client, arguments, by_label[label]),
                         "`plimsoll rm --force POD` removes a pod of the runtime.");
  });
}

void AddEndOptions(CLI::App& command, DeleteArguments& arguments) {
  auto* grace = command
                    .add_option("--grace-period", arguments.grace_s,
                                "Time until it is killed, as 5 (seconds) or 1m30s; the pod's own "
                                "if not given, 0: at once")
                    ->type_name("TIME")
                    ->transform(Seconds());
  command.add_flag("--now", arguments.now, "A grace period of one second")->excludes(grace);
  command.add_flag("--wait", arguments.wait, "Return when the pods have gone");
}

}  // namespace

void AddDeleteCommand(CLI::App& app, CommandContext& context) {
  CLI::App* remove = app.add_subcommand(
      "delete",
      "Delete pods of the agent: stop them, gently, then by force, and forget them.\n\n"
      "Returns once the agent has begun; --wait: once they have gone.");
  remove->require_subcommand(0, 1);
  auto of_files = std::make_shared<DeleteArguments>();
  remove->add_option("-f,--filename", of_files->files, "Pods of this manifest; - is standard input")
      ->type_name("FILE");
  AddEndOptions(*remove, *of_files);
  context.Act(remove, [&context, of_files] { return Delete(context, *of_files); });

  CLI::App* pod = remove->add_subcommand("pod", "Delete pods by name.");
  pod->alias("pods")->alias("po");
  auto of_names = std::make_shared<DeleteArguments>();
  pod->add_option("name", of_names->names, "The pods")->type_name("POD-NAME")->required();
  AddNamespaceOption(*pod, &of_names->pod_namespace);
  AddEndOptions(*pod, *of_names);
  context.Act(pod, [&context, of_names] { return Delete(context, *of_names); });
}

}  // namespace plimsoll::cli
