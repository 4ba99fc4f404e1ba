// plimsoll apply
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/agent_commands/agent_commands.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/command/command.h"
#include "cli/command/paths.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {
namespace {

constexpr char kWithoutAgent[] = "`plimsoll run MANIFEST` needs none.";

// By namespace and name.
using PodMap = std::map<std::pair<std::string, std::string>, KubeObject>;

std::pair<std::string, std::string> KeyOf(const KubeObject& pod) {
  return {TextOf(pod, {"metadata", "namespace"}), TextOf(pod, {"metadata", "name"})};
}

// "created", "configured", "unchanged"
std::string ResultFor(const KubeObject& pod, const PodMap& before) {
  const auto old = before.find(KeyOf(pod));
  if (old == before.end() ||
      TextOf(old->second, {"metadata", "uid"}) != TextOf(pod, {"metadata", "uid"})) {
    return "created";
  }
  const bool same =
      FieldOf(old->second, {"spec"}) == FieldOf(pod, {"spec"}) &&
      FieldOf(old->second, {"metadata", "labels"}) == FieldOf(pod, {"metadata", "labels"}) &&
      FieldOf(old->second, {"metadata", "annotations"}) ==
          FieldOf(pod, {"metadata", "annotations"});
  return same ? "unchanged" : "configured";
}

absl::StatusOr<std::vector<KubeObject>> ApplyFile(const agent::AgentClient& client,
                                                  const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            ReadUserFile(file, FileKinds::kAny, kMostManifestBytes));
  const std::string name = file == "-" ? "standard input" : file;
  absl::StatusOr<std::vector<KubeObject>> pods = client.Apply(text, name);
  // Errors of a place in the file name it already.
  if (!pods.ok() && !agent::IsNoAgent(pods.status()) &&
      !absl::StrContains(pods.status().message(), Printable(name))) {
    return Annotate(pods.status(), name);
  }
  return pods;
}

// Goes on after an error; the last one comes back.
absl::Status ApplyFiles(const agent::AgentClient& client, const std::vector<std::string>& files,
                        std::vector<KubeObject>* applied) {
  absl::Status last;
  for (const std::string& file : files) {
    absl::StatusOr<std::vector<KubeObject>> pods = ApplyFile(client, file);
    if (pods.ok()) {
      applied->insert(applied->end(), pods->begin(), pods->end());
      continue;
    }
    if (!last.ok()) PrintNote(FormatError(last));
    last = WithAgentHint(pods.status(), kWithoutAgent);
    if (agent::IsNoAgent(last)) break;
  }
  return last;
}

absl::StatusOr<int> Apply(const CommandContext& context, const std::vector<std::string>& files) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<std::vector<KubeObject>> there = client->List("");
  if (!there.ok()) return WithAgentHint(there.status(), kWithoutAgent);
  PodMap before;
  for (const KubeObject& pod : *there) before[KeyOf(pod)] = pod;
  std::vector<KubeObject> applied;
  const absl::Status status = ApplyFiles(*client, files, &applied);
  if (context.for_programs()) {
    const KubeObject list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", applied}};
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(
        list.dump(1, ' ', false, KubeObject::error_handler_t::replace), context.format()));
  } else {
    for (const KubeObject& pod : applied) {
      const auto [pod_namespace, name] = KeyOf(pod);
      Print(absl::StrCat(
          "pod/", Printable(name),
          pod_namespace == "default" ? "" : absl::StrCat(" in ", Printable(pod_namespace)), " ",
          ResultFor(pod, before), "\n"));
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(status);
  return kExitOk;
}

}  // namespace

void AddApplyCommand(CLI::App& app, CommandContext& context) {
  CLI::App* apply = app.add_subcommand(
      "apply",
      "Hand manifests of pods to the agent, which runs them from then on.\n\n"
      "All pods of a file, or none. A pod that is there with the same manifest stays as it is; one "
      "with another is changed where that can be done in place, and refused else.");
  auto files = std::make_shared<std::vector<std::string>>();
  apply->add_option("-f,--filename", *files, "A manifest; - is standard input")
      ->type_name("FILE")
      ->required();
  context.Act(apply, [&context, files] { return Apply(context, *files); });
}

}  // namespace plimsoll::cli
