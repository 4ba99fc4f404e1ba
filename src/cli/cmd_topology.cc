// plimsoll topology
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/paths.h"
#include "cli/text.h"
#include "cri/translate_topology.h"
#include "topology/discover.h"
#include "topology/draw.h"
#include "topology/topology_file.h"
#include "topology/zone_tree.h"

namespace plimsoll::cli {
namespace {

absl::Status PrintTopology(const CommandContext& context,
                           const cri::DynamicRuntimeConfigResponse& response) {
  if (context.for_programs()) {
    return PrintMessage(response.resource_topology(), context.format());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Topology topology,
                            plimsoll::cri::TopologyFrom(response.resource_topology()));
  for (const absl::string_view line :
       absl::StrSplit(topology::TopologyText(topology), '\n', absl::SkipEmpty())) {
    Print(absl::StrCat(Printable(line), "\n"));
  }
  return PrintStatus();
}

absl::StatusOr<int> ShowTopology(const CommandContext& context, bool watch) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  bool first = true;
  absl::Status printed;
  PLIMSOLL_RETURN_IF_ERROR(
      client->WatchTopology([&](const cri::DynamicRuntimeConfigResponse& response) {
        if (!first && !context.for_programs()) Print("\n");
        if (!first && context.format() == OutputFormat::kYaml) Print("---\n");
        first = false;
        printed = PrintTopology(context, response);
        return watch && printed.ok();
      }));
  PLIMSOLL_RETURN_IF_ERROR(printed);
  return kExitOk;
}

absl::StatusOr<int> CheckFile(const std::string& path, bool any_machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string absolute, FromRoot(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host.Read(absolute));
  PLIMSOLL_ASSIGN_OR_RETURN(topology::Topology topology, topology::ParseTopology(text, path));
  const auto tree = topology::ZoneTree::Build(std::move(topology));
  if (!tree.ok()) return Annotate(tree.status(), path);
  if (!any_machine) {
    PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(host, ""));
    PLIMSOLL_RETURN_IF_ERROR(Annotate(topology::CheckCpusExist(*tree, machine.cpus), path));
  }
  Print(absl::StrCat(path, ": a valid topology of ", tree->topology().zones.size(), " zones\n"));
  for (const auto& [resource, sum] : topology::Capacity(tree->topology())) {
    Print(absl::StrCat("  ", resource, " ", sum.Canonical(), "\n"));
  }
  return kExitOk;
}

}  // namespace

void AddTopologyCommand(CLI::App& app, CommandContext& context) {
  CLI::App* topology = app.add_subcommand(
      "topology",
      "Show what the node has: packages, NUMA nodes, caches and cores with their CPUs, memory and "
      "huge pages, as the daemon tells it to kubelet (KEP-5224).");
  auto watch = std::make_shared<bool>(false);
  topology->add_flag("-w,--watch", *watch, "Print it again at each change, until Ctrl-C");
  context.Act(topology, [&context, watch] { return ShowTopology(context, *watch); });

  CLI::App* check = topology->add_subcommand(
      "check",
      "Check a file with a topology: is it a tree, are its quantities right, does this machine "
      "have its CPUs?");
  auto path = std::make_shared<std::string>();
  auto any_machine = std::make_shared<bool>(false);
  check->add_option("FILE", *path, "YAML: zones with name, type, parent, resources")->required();
  check->add_flag("--any-machine", *any_machine, "Don't ask whether this machine has its CPUs");
  context.Act(check, [path, any_machine] { return CheckFile(*path, *any_machine); });
}

}  // namespace plimsoll::cli
