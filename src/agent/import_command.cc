#include "agent/import_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/import_plan.h"
#include "agent/managers/kubelet_state.h"
#include "agent/pods/records/pod_store.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pod_runner/runtime_client/client.h"
#include "service/directory_lock.h"

namespace plimsoll::agent {
namespace {

constexpr int64_t kRuntimeSeconds = 10;

// Empty: there is no such file.
absl::StatusOr<std::string> ReadState(const FsRoot& root, const std::string& file) {
  absl::StatusOr<std::string> text = ReadRegularFile(root, file, kMostKubeletState);
  if (absl::IsNotFound(text.status())) return std::string();
  return text;
}

absl::StatusOr<KubeletState> ReadStates(const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string cpus, ReadState(root, "cpu_manager_state"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string memory, ReadState(root, "memory_manager_state"));
  if (cpus.empty() && memory.empty()) {
    return absl::NotFoundError(absl::StrCat(
        directory,
        " has neither cpu_manager_state nor memory_manager_state; --kubelet-root names "
        "kubelet's directory (its flag --root-dir)"));
  }
  absl::StatusOr<KubeletState> state = ReadKubeletState(cpus, memory);
  if (!state.ok()) return Annotate(state.status(), directory);
  return state;
}

absl::Status AskRuntime(const std::string& endpoint, KubeletNames& names) {
  pod::ClientOptions options;
  options.address = endpoint;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<pod::Client> client,
                            pod::Client::Open(std::move(options)));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandboxes, client->ListPodSandboxes("", kRuntimeSeconds));
  names.Add(sandboxes);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client->ListContainers());
  names.Add(containers);
  return absl::OkStatus();
}

bool IsNamed(const KubeletState& state, const KubeletNames& names) {
  for (const auto& [uid, grant] : state.pods) {
    if (!names.pods.contains(uid)) return false;
  }
  return state.cpus_by_id.empty();
}

// A uid with a slip of the pen would leave its pod without what it had. Checkpoints of the first
// form have no uids.
absl::Status CheckGivenNames(const KubeletState& state, const KubeletNames& given) {
  if (!state.cpus_by_id.empty()) return absl::OkStatus();
  for (const auto& [uid, key] : given.pods) {
    if (state.pods.contains(uid)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--pod ", uid, "=", key.pod_namespace, "/", key.name,
                     ": kubelet's checkpoints have nothing of a pod with this uid"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PodKey>> KeysOf(PodStore& store) {
  PLIMSOLL_ASSIGN_OR_RETURN(const PodStore::Loaded loaded, store.Load());
  std::vector<PodKey> keys;
  for (const PodRecord& pod : loaded.pods) keys.push_back(pod.key);
  for (const UnreadablePod& pod : loaded.unreadable) keys.push_back(pod.record.key);
  return keys;
}

}  // namespace

std::optional<EarlyExit> ParseImportFlags(int argc, const char* const* argv, ImportFlags& flags) {
  CLI::App app(
      "Keeps the CPUs and memory that pods had under a kubelet, for when they come to the agent.",
      absl::StrCat("plimsoll-agent ", kImportCommand));
  app.add_option("--config", flags.agent.config,
                 absl::StrCat("The agent's configuration file (default ", kDefaultConfigPath,
                              ", if it exists)"));
  app.add_option("--state-directory", flags.agent.state_directory,
                 "Directory of the agent's state");
  app.add_option("--runtime-endpoint", flags.agent.runtime_endpoint,
                 "The socket of the runtime that knows kubelet's pods, unix:///PATH");
  app.add_option("--kubelet-root", flags.kubelet_root, "kubelet's directory")
      ->capture_default_str();
  app.add_option("--pod", flags.pods,
                 "UID=NAMESPACE/NAME: a pod that the runtime knows no more; may be repeated");
  app.add_flag(
      "--dry-run", flags.dry_run,
      "Print what would be imported, without a look at the agent's pods, and write nothing");
  return ParseCommandLine(app, argc, argv);
}

absl::StatusOr<ImportOutcome> ImportKubeletState(const ImportFlags& flags) {
  KubeletNames names;
  for (const std::string& text : flags.pods) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto name, ParsePodName(text));
    names.pods.insert(std::move(name));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const AgentConfig config, LoadConfig(flags.agent));
  PLIMSOLL_ASSIGN_OR_RETURN(KubeletState state, ReadStates(flags.kubelet_root));
  PLIMSOLL_RETURN_IF_ERROR(CheckGivenNames(state, names));
  if (!IsNamed(state, names)) {
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(AskRuntime(config.runtime_endpoint, names),
                 "can't ask the runtime for the names of kubelet's pods (--pod gives them)"));
  }
  if (flags.dry_run) {
    const ImportPlan plan = PlanImport(std::move(state), names, /*taken=*/{});
    return ImportOutcome{absl::StrCat(ImportTable(plan), "nothing was written\n"),
                         plan.IsComplete()};
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory,
                            FsRoot::OpenOrCreate(config.state_directory, 0700));
  PLIMSOLL_ASSIGN_OR_RETURN(const DirectoryLock lock,
                            DirectoryLock::Take(directory, "state directory"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<PodStore> store, PodStore::Open(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<PodKey> taken, KeysOf(*store));
  const ImportPlan plan = PlanImport(std::move(state), names, taken);
  PLIMSOLL_RETURN_IF_ERROR(store->PutImportedGrants(plan.grants));
  return ImportOutcome{ImportTable(plan), plan.IsComplete()};
}

int RunImportCommand(int argc, const char* const* argv) {
  ImportFlags flags;
  if (const auto exit = ParseImportFlags(argc, argv, flags); exit.has_value()) {
    return Leave(*exit);
  }
  const absl::StatusOr<ImportOutcome> outcome = ImportKubeletState(flags);
  if (!outcome.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", std::string(outcome.status().message()).c_str());
    return 1;
  }
  std::fputs(outcome->text.c_str(), stdout);
  return outcome->is_complete ? 0 : 1;
}

}  // namespace plimsoll::agent
