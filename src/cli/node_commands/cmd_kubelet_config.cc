// plimsoll kubelet-config
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/programs/own_program.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/command/connect.h"
#include "cli/command/paths.h"
#include "cli/node_commands/node_commands.h"
#include "cri/calls/observer.h"
#include "kubelet/config/check.h"
#include "kubelet/config/configuration.h"
#include "kubelet/config/cpu_state.h"
#include "kubelet/config/node_share.h"
#include "kubelet/config/reservation.h"
#include "topology/machine/discover.h"
#include "topology/machine/kernel_files.h"
#include "topology/topology_file.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kMostConfigBytes = 1024 * 1024;
constexpr size_t kMostStateBytes = 16 * 1024 * 1024;
constexpr int kDeepestDropIn = 8;
constexpr char kKubeletRoot[] = "/var/lib/kubelet";

struct KubeletConfigArguments {
  std::string topology;  // a file; empty: ask the daemon
  std::string machine;   // a captured machine's directory; empty: this machine
  std::string beside;
  std::string check;
  std::string config_dir;
  std::string configz;
  std::string kubelet_root;  // empty: /var/lib/kubelet
  std::string cpu_policy = "none";
  std::string memory_policy = "None";
};

absl::StatusOr<topology::Topology> ToldTopology(const CommandContext& context,
                                                const std::string& file) {
  if (!file.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                              ReadUserFile(file, FileKinds::kRegularOrPipe, kMostStateBytes));
    return topology::ParseTopology(text, file);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect(/*may_start=*/false));
  std::optional<cri::ResourceTopology> told;
  const absl::Status status = client->WatchTopology(
      plimsoll::cri::kObserverMetadata, [&told](const cri::DynamicRuntimeConfigResponse& response) {
        told = response.resource_topology();
        return false;
      });
  if (told.has_value()) return plimsoll::topology::TopologyFrom(*told);
  PLIMSOLL_RETURN_IF_ERROR(status);
  return absl::UnavailableError("the daemon has told no topology");
}

absl::StatusOr<kubelet::KubeletShare> ShareHere(const CommandContext& context,
                                                const KubeletConfigArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Topology told,
                            ToldTopology(context, arguments.topology));
  std::string program;
  std::string path = "/";
  if (!arguments.machine.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(path, FromRoot(arguments.machine));
    PLIMSOLL_ASSIGN_OR_RETURN(program, FindOwnProgram("plimsoll-hwloc"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(root, program));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto online,
                            topology::ReadList(root, absl::StrCat(topology::kCpuFiles, "/online")));
  PLIMSOLL_ASSIGN_OR_RETURN(kubelet::KubeletShare share,
                            kubelet::ShareOf(told, machine, online.value_or(machine.cpus)));
  for (auto& [id, node] : share.nodes) {
    const std::string file = absl::StrCat(topology::kNodeFiles, "/node", id, "/meminfo");
    PLIMSOLL_ASSIGN_OR_RETURN(const auto bytes, topology::ReadMemInfo(root, file, "MemTotal:"));
    node.file_memory = bytes.value_or(0);
  }
  return share;
}

std::string EndpointOf(const CommandContext& context) {
  return absl::StrCat("unix://", SocketFor({.address = context.address, .root = context.root}));
}

// The shell empties a file before this program prints into it: a drop-in's place among those read.
enum class EmptyFiles { kRefused, kPassedOver };

absl::Status OverlayFile(const std::string& path, EmptyFiles empty_files,
                         kubelet::Configuration* configuration) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            ReadUserFile(path, FileKinds::kRegularOrPipe, kMostConfigBytes));
  if (text.empty() && empty_files == EmptyFiles::kPassedOver) return absl::OkStatus();
  return kubelet::Overlay(text, path, configuration);
}

// In kubelet's order: by name, a directory's files in its place.
absl::Status OverlayDropIns(const std::string& directory, int depth, EmptyFiles empty_files,
                            kubelet::Configuration* configuration) {
  if (depth > kDeepestDropIn) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": more than ", kDeepestDropIn, " directories deep"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string absolute, FromRoot(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open(absolute));
  PLIMSOLL_ASSIGN_OR_RETURN(auto names, root.List("."));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(directory, "/", name);
    if (absl::EndsWith(name, ".conf")) {
      PLIMSOLL_RETURN_IF_ERROR(OverlayFile(path, empty_files, configuration));
    } else if (FsRoot::Open(absl::StrCat(absolute, "/", name)).ok()) {
      PLIMSOLL_RETURN_IF_ERROR(OverlayDropIns(path, depth + 1, empty_files, configuration));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<kubelet::Configuration> ReadConfiguration(const std::string& file,
                                                         const std::string& drop_ins,
                                                         EmptyFiles empty_drop_ins) {
  kubelet::Configuration configuration;
  if (!file.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(OverlayFile(file, EmptyFiles::kRefused, &configuration));
  }
  if (!drop_ins.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(OverlayDropIns(drop_ins, 1, empty_drop_ins, &configuration));
  }
  return configuration;
}

absl::StatusOr<int> PrintDropIn(const CommandContext& context,
                                const KubeletConfigArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const kubelet::KubeletShare share, ShareHere(context, arguments));
  PLIMSOLL_ASSIGN_OR_RETURN(
      const kubelet::Configuration present,
      ReadConfiguration(arguments.beside, arguments.config_dir, EmptyFiles::kPassedOver));
  kubelet::ReservationOptions options{.endpoint = EndpointOf(context),
                                      .static_cpus = arguments.cpu_policy == "static",
                                      .static_memory = arguments.memory_policy == "Static"};
  uint64_t machine_bytes = 0;
  for (const auto& [id, node] : share.nodes) machine_bytes += node.memory;
  PLIMSOLL_ASSIGN_OR_RETURN(options.eviction_bytes, kubelet::EvictionBytes(present, machine_bytes));
  PLIMSOLL_ASSIGN_OR_RETURN(options.kube_bytes, kubelet::MemoryIn(present.kube_reserved));
  PLIMSOLL_ASSIGN_OR_RETURN(const kubelet::Reservation made, kubelet::Reserve(share, options));
  if (!context.for_programs()) {
    Print(kubelet::ToDropIn(made));
    return kExitOk;
  }
  PLIMSOLL_RETURN_IF_ERROR(PrintJson(kubelet::ToJson(made), context.format()));
  for (const std::string& note : made.notes) PrintNote(absl::StrCat("note: ", note, "\n"));
  return kExitOk;
}

// A finding and the file that it is in.
struct FoundIn {
  std::string file;
  kubelet::KubeletFinding finding;
};

void AddFound(const std::string& file, const std::vector<kubelet::KubeletFinding>& findings,
              std::vector<FoundIn>* found) {
  for (const kubelet::KubeletFinding& finding : findings) found->push_back({file, finding});
}

absl::Status CheckStateFile(const KubeletConfigArguments& arguments,
                            const kubelet::Configuration& configuration,
                            const kubelet::KubeletShare& share, std::vector<FoundIn>* found) {
  const std::string& root = arguments.kubelet_root;
  const std::string path = absl::StrCat(root.empty() ? kKubeletRoot : root, "/cpu_manager_state");
  const auto text = ReadUserFile(path, FileKinds::kRegularOrPipe, kMostStateBytes);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();  // no kubelet has run
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const auto state = kubelet::ReadCpuState(*text);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(state.status(), path));
  AddFound(path, kubelet::CheckState(*state, configuration, share), found);
  return absl::OkStatus();
}

std::string FoundJson(const std::vector<FoundIn>& found) {
  nlohmann::ordered_json document = {{"conflicts", nlohmann::ordered_json::array()},
                                     {"warnings", nlohmann::ordered_json::array()}};
  for (const auto& [file, finding] : found) {
    document[finding.is_conflict ? "conflicts" : "warnings"].push_back(
        {{"file", file}, {"field", finding.field}, {"message", finding.message}});
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void PrintFound(const std::vector<FoundIn>& found) {
  for (const auto& [file, finding] : found) {
    Print(Printable(absl::StrCat(finding.is_conflict ? "conflict: " : "warning: ", file, ": ",
                                 finding.field, ": ", finding.message)) +
          "\n");
  }
}

// The running kubelet's configuration, which then is that of its state.
absl::Status CheckConfigz(const std::string& file, const kubelet::KubeletShare& share,
                          const std::string& endpoint, kubelet::Configuration* configuration,
                          std::vector<FoundIn>* found) {
  if (file.empty()) return absl::OkStatus();
  *configuration = kubelet::Configuration();
  PLIMSOLL_RETURN_IF_ERROR(OverlayFile(file, EmptyFiles::kRefused, configuration));
  AddFound(file, kubelet::CheckConfiguration(*configuration, share, endpoint), found);
  return absl::OkStatus();
}

// An error of one file leaves the findings of those before it.
absl::StatusOr<int> CheckKubelet(const CommandContext& context,
                                 const KubeletConfigArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const kubelet::KubeletShare share, ShareHere(context, arguments));
  PLIMSOLL_ASSIGN_OR_RETURN(
      kubelet::Configuration configuration,
      ReadConfiguration(arguments.check, arguments.config_dir, EmptyFiles::kRefused));
  const std::string endpoint = EndpointOf(context);
  std::vector<FoundIn> found;
  AddFound(arguments.check, kubelet::CheckConfiguration(configuration, share, endpoint), &found);
  absl::Status checked = CheckConfigz(arguments.configz, share, endpoint, &configuration, &found);
  if (checked.ok()) checked = CheckStateFile(arguments, configuration, share, &found);
  const bool any_conflict = std::any_of(
      found.begin(), found.end(), [](const FoundIn& each) { return each.finding.is_conflict; });
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(FoundJson(found), context.format()));
  } else {
    PrintFound(found);
    if (checked.ok() && !any_conflict) {
      Print("kubelet's configuration and state fit the pods' part of this node.\n");
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(checked);
  return any_conflict ? kExitError : kExitOk;
}

void AddPrintOptions(CLI::App* command, const std::shared_ptr<KubeletConfigArguments>& arguments) {
  command
      ->add_option("--cpu-manager-policy", arguments->cpu_policy,
                   "Of kubelet: static gives containers CPUs of their own")
      ->check(CLI::IsMember({"none", "static"}));
  command
      ->add_option("--memory-manager-policy", arguments->memory_policy,
                   "Of kubelet: Static gives containers memory of certain NUMA nodes")
      ->check(CLI::IsMember({"None", "Static"}));
  command
      ->add_option("--beside", arguments->beside,
                   "kubelet's present configuration: its evictionHard and kubeReserved count")
      ->type_name("FILE");
}

void AddCheckOptions(CLI::App* command, const std::shared_ptr<KubeletConfigArguments>& arguments) {
  command
      ->add_option("--check", arguments->check,
                   "Print nothing of that, but check this KubeletConfiguration")
      ->type_name("FILE");
  command
      ->add_option("--config-dir", arguments->config_dir,
                   "kubelet's drop-ins *.conf, laid over the file of --check or --beside")
      ->type_name("DIRECTORY");
  command
      ->add_option("--configz", arguments->configz,
                   "With --check: the running kubelet's own configuration, from its /configz")
      ->type_name("FILE");
  command
      ->add_option("--kubelet-root", arguments->kubelet_root,
                   "With --check: kubelet's root, for its cpu_manager_state")
      ->type_name("DIRECTORY");
}

}  // namespace

void AddKubeletConfigCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "kubelet-config",
      "Print a drop-in configuration by which a stock kubelet gives to pods exactly the CPUs and "
      "memory that the daemon reports as theirs, or check a kubelet's own configuration.\n\n"
      "The file goes into kubelet's --config-dir, with a name that ends in .conf. With --check the "
      "exit code is 1 if kubelet gives pods what isn't theirs, or wouldn't start, and 2 if that "
      "can't "
      "be told.");
  auto arguments = std::make_shared<KubeletConfigArguments>();
  AddPrintOptions(command, arguments);
  AddCheckOptions(command, arguments);
  command
      ->add_option("--topology", arguments->topology,
                   "Take this topology, as `topology -o yaml` prints it, and ask no daemon")
      ->type_name("FILE");
  command
      ->add_option("--machine", arguments->machine,
                   "Take the machine of this directory, made by `topology capture`")
      ->type_name("DIRECTORY");
  context.Act(command, [&context, arguments]() -> absl::StatusOr<int> {
    if (arguments->check.empty()) {
      if (!arguments->configz.empty()) {
        return UsageError(absl::InvalidArgumentError("--configz is compared by --check FILE"));
      }
      if (!arguments->kubelet_root.empty()) {
        return UsageError(
            absl::InvalidArgumentError("--kubelet-root is looked at by --check FILE"));
      }
      return PrintDropIn(context, *arguments);
    }
    if (!arguments->beside.empty()) {
      return UsageError(absl::InvalidArgumentError("--check and --beside name the same file"));
    }
    absl::StatusOr<int> code = CheckKubelet(context, *arguments);
    // 1 is a conflict: a script must not take a file that can't be read for one.
    if (!code.ok()) return UsageError(code.status());
    return code;
  });
}

}  // namespace plimsoll::cli
