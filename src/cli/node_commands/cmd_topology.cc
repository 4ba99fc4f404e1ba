// plimsoll topology
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fs_root.h"
#include "base/programs/own_program.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/command/paths.h"
#include "cli/node_commands/node_commands.h"
#include "cli/terminal/reader_watch.h"
#include "cli/terminal/text.h"
#include "cri/calls/observer.h"
#include "pictures/capture.h"
#include "pictures/topology.h"
#include "topology/machine/contradictions.h"
#include "topology/machine/discover.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"
#include "topology/normalise.h"
#include "topology/topology_file.h"
#include "topology/validate.h"
#include "topology/wire/translate_topology.h"
#include "topology/zones/maps.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kMostTopologyBytes = 16 * 1024 * 1024;

struct ShowArguments {
  bool watch = false;
  std::string svg;
  // A directory of `plimsoll topology capture`, or hwloc's XML; empty: ask the daemon.
  std::string machine;
};

constexpr char kMachineHint[] =
    "--machine takes a directory made by `plimsoll topology capture DIR`, or the output of "
    "`lstopo --of xml`.";

absl::StatusOr<topology::Machine> ReadXml(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string xml,
                            ReadUserFile(path, FileKinds::kRegularOrPipe, kMostTopologyBytes));
  if (xml.empty()) {
    return WithHint(absl::InvalidArgumentError(
                        absl::StrCat(path == "-" ? "standard input" : path, " is empty")),
                    kMachineHint);
  }
  auto machine = topology::ReadHwlocXml(xml);
  if (!machine.ok()) {
    return WithHint(Annotate(machine.status(), path == "-" ? "standard input" : path),
                    kMachineHint);
  }
  topology::PlaceRest(*machine);
  return machine;
}

// Takes a path of --machine; empty: this machine.
absl::StatusOr<topology::Machine> ReadMachine(const std::string& path) {
  if (path.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
    return topology::Discover(host, "");
  }
  struct stat info = {};
  const bool is_there = path != "-" && stat(path.c_str(), &info) == 0;
  if (path == "-" || (is_there && !S_ISDIR(info.st_mode))) return ReadXml(path);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string absolute, FromRoot(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open(absolute));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string program, FindOwnProgram("plimsoll-hwloc"));
  absl::StatusOr<topology::Machine> machine = topology::Discover(root, program);
  if (machine.ok() || root.Has("sys/devices/system/cpu").value_or(true)) return machine;
  return WithHint(absl::InvalidArgumentError(
                      absl::StrCat(path,
                                   " is neither a captured topology nor a machine's root: it "
                                   "has no sys/devices/system/cpu")),
                  kMachineHint);
}

// Running containers by pod and name, with the CPUs that their cpuset permits.
absl::StatusOr<std::vector<pictures::Workload>> Workloads(pod::Client& client) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers());
  std::vector<pictures::Workload> workloads;
  for (const cri::Container& container : containers) {
    if (container.state() != cri::CONTAINER_RUNNING) continue;
    const auto status = client.ContainerStatus(container.id());
    if (!status.ok()) continue;  // removed meanwhile
    const cri::LinuxContainerResources& linux = status->status().resources().linux();
    const auto cpus = resources::CpuSet::Parse(linux.cpuset_cpus());
    if (!cpus.ok() || cpus->Empty()) continue;
    const int64_t limit = linux.memory_limit_in_bytes();
    workloads.push_back(
        {Printable(absl::StrCat(PodNameOf(container, pods), "/", container.metadata().name())),
         *cpus, limit <= 0 ? "" : HumanBytes(static_cast<uint64_t>(limit))});
  }
  std::sort(workloads.begin(), workloads.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return workloads;
}

// Draws the whole machine if it is this one, with its CPUs outside the share of pods.
std::string Svg(const topology::Topology& told, const std::vector<pictures::Workload>& workloads) {
  resources::CpuSet theirs;
  const auto tree = topology::ZoneTree::Build(told);
  if (tree.ok()) theirs = tree->Cpus();
  const auto machine = ReadMachine("");
  const bool is_here = machine.ok() && theirs.IsSubsetOf(machine->cpus);
  return pictures::TopologySvg(is_here ? topology::MakeZones(*machine) : told, theirs, workloads);
}

void PrintLines(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    Print(absl::StrCat(Printable(line), "\n"));
  }
}

absl::Status PrintTopology(const CommandContext& context, const ShowArguments& arguments,
                           pod::Client& client, const cri::DynamicRuntimeConfigResponse& response) {
  if (context.for_programs()) {
    return PrintMessage(response.resource_topology(), context.format());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Topology topology,
                            plimsoll::topology::TopologyFrom(response.resource_topology()));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto workloads, Workloads(client));
  if (!arguments.svg.empty()) {
    return Annotate(WriteUserFile(arguments.svg, Svg(topology, workloads)), "--svg");
  }
  PrintLines(pictures::TopologyText(topology, workloads));
  return PrintStatus();
}

absl::StatusOr<int> ShowTopology(const CommandContext& context, const ShowArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  std::optional<ReaderWatch> reader;
  if (arguments.svg.empty() || arguments.svg == "-")
    reader.emplace();  // otherwise the file is the output
  bool first = true;
  absl::Status printed;
  std::string last;
  const auto print = [&](const cri::DynamicRuntimeConfigResponse& response) {
    // A daemon's successor sends its topology too, mostly the same.
    std::string now = response.resource_topology().SerializeAsString();
    if (!first && now == last) return true;
    last = std::move(now);
    if (!first && !context.for_programs() && arguments.svg.empty()) Print("\n");
    if (!first && context.format() == OutputFormat::kYaml) Print("---\n");
    first = false;
    printed = PrintTopology(context, arguments, *client, response);
    return arguments.watch && printed.ok();
  };
  if (arguments.watch) {
    client->SetPatience(
        {.wait = absl::Minutes(1),
         .lost = [] { PrintNote("plimsoll: the daemon has ended; waiting for the next...\n"); },
         .back = [] { PrintNote("plimsoll: a daemon is there again\n"); }});
  }
  absl::Status status = client->WatchTopology(plimsoll::cri::kObserverMetadata, print);
  while (arguments.watch && printed.ok() &&
         (absl::IsUnavailable(status) || absl::IsCancelled(status)) && client->AwaitDaemon()) {
    status = client->WatchTopology(plimsoll::cri::kObserverMetadata, print);
  }
  PLIMSOLL_RETURN_IF_ERROR(status);
  PLIMSOLL_RETURN_IF_ERROR(printed);
  return kExitOk;
}

absl::StatusOr<int> ShowMachine(const CommandContext& context, const ShowArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, ReadMachine(arguments.machine));
  // Normalised as by the daemon.
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Topology topology,
                            topology::Normalise(topology::MakeZones(machine), nullptr));
  if (!arguments.svg.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(
        WriteUserFile(arguments.svg, pictures::TopologySvg(topology, machine.cpus, {})), "--svg"));
  } else if (context.for_programs()) {
    cri::ResourceTopology message;
    plimsoll::topology::FillTopology(topology, &message);
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(message, context.format()));
  } else {
    PrintLines(pictures::TopologyText(topology));
  }
  for (const std::string& each : machine.missing) PrintNote(Printable(each) + "\n");
  return kExitOk;
}

absl::StatusOr<int> Capture(const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(host, ""));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string absolute, FromRoot(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot out, FsRoot::OpenOrCreate(absolute, 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto there, out.List("."));
  if (!there.empty()) {
    return WithHint(absl::AlreadyExistsError(absl::StrCat(directory, " is not empty")),
                    "Name a directory that is empty or not there yet.");
  }
  PLIMSOLL_RETURN_IF_ERROR(pictures::Capture(host, machine, out));
  Print(absl::StrCat("This machine's topology is in ", Printable(directory),
                     ", without its ids.\n  Look at it: plimsoll topology --machine ",
                     ShellQuote(directory), "\n"));
  return kExitOk;
}

// {"file": ..., "faults": [...], "zones": how many, "capacity": {resource: sum}}. Without sums for
// a file with faults.
std::string CheckJson(const std::string& name, const std::vector<std::string>& faults,
                      const topology::Topology& topology) {
  nlohmann::ordered_json document = {
      {"file", name}, {"faults", faults}, {"zones", topology.zones.size()}};
  document["capacity"] = nlohmann::ordered_json::object();
  for (const auto& [resource, sum] : topology::Capacity(topology)) {
    document["capacity"][resource] = sum.Canonical();
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// No fault: only a static CPU policy needs the numbers (KEP-5224 "kubelet").
void NoteUnnumberedCpus(const topology::MachineMaps& maps) {
  const absl::Status numbered = topology::CheckCpuIds(maps);
  if (!numbered.ok()) PrintNote(absl::StrCat("note: ", Printable(numbered.message()), "\n"));
}

// Nor this: of NUMA nodes that are hidden from a confined process only the CPUs are known.
void NoteNodesWithoutMemory(const topology::MachineMaps& maps) {
  for (const auto& [number, node] : maps.nodes) {
    if (node.memory_bytes != 0 || node.cpus.Empty() || node.zone.empty()) continue;
    PrintNote(absl::StrCat("note: zone \"", Printable(node.zone), "\" has CPUs and no memory\n"));
  }
}

absl::StatusOr<int> CheckFile(const CommandContext& context, const std::string& path,
                              bool any_machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            ReadUserFile(path, FileKinds::kRegularOrPipe, kMostTopologyBytes));
  std::optional<topology::MachineNumbers> numbers;
  if (!any_machine) {
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
    PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(host, ""));
    numbers = topology::NumbersOf(machine);
  }
  const std::string name = path == "-" ? "standard input" : path;
  std::vector<std::string> faults = topology::FaultsOf(text, name, numbers ? &*numbers : nullptr);
  topology::Topology topology;
  topology::MachineMaps maps;
  if (faults.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(topology, topology::ParseTopology(text, name));
    PLIMSOLL_ASSIGN_OR_RETURN(maps, topology::ReadMaps(topology));
    const absl::Status amounts = topology::CheckAmounts(maps);
    if (!amounts.ok()) faults.push_back(absl::StrCat(name, ": ", amounts.message()));
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(CheckJson(name, faults, topology), context.format()));
  }
  for (size_t i = 1; i < faults.size(); ++i) PrintNote(Printable(faults[i - 1]) + "\n");
  if (!faults.empty()) return absl::InvalidArgumentError(faults.back());
  if (context.for_programs()) return kExitOk;
  Print(absl::StrCat(Printable(name), ": a valid topology of ", topology.zones.size(), " zones\n"));
  NoteUnnumberedCpus(maps);
  NoteNodesWithoutMemory(maps);
  for (const auto& [resource, sum] : topology::Capacity(topology)) {
    Print(absl::StrCat("  ", Printable(resource), " ", sum.Canonical(), "\n"));
  }
  return kExitOk;
}

}  // namespace

void AddTopologyCommand(CLI::App& app, CommandContext& context) {
  CLI::App* topology = app.add_subcommand(
      "topology",
      "Show the node's resources: packages, NUMA nodes, caches and cores with their CPUs, memory "
      "and huge pages, as the daemon reports them to kubelet (KEP-5224), and the CPUs of each "
      "running container.");
  auto arguments = std::make_shared<ShowArguments>();
  CLI::Option* watch = topology->add_flag("-w,--watch", arguments->watch,
                                          "Print it again at each change, until Ctrl-C");
  topology
      ->add_option("--svg", arguments->svg,
                   "Draw a picture into this file instead: zones as boxes, the pods' CPUs, and "
                   "the CPUs of each running container; - is standard output")
      ->type_name("FILE");
  topology
      ->add_option(
          "--machine", arguments->machine,
          "Show another machine's topology: a directory made by `capture`, or a file written by "
          "hwloc's `lstopo --of xml`; - is such a file on standard input")
      ->type_name("FILE")
      ->excludes(watch);
  context.Act(topology, [&context, arguments]() -> absl::StatusOr<int> {
    if (!arguments->svg.empty() && context.for_programs()) {
      return UsageError(absl::InvalidArgumentError(
          "--svg and -o json or yaml contradict each other: a picture or a document"));
    }
    return arguments->machine.empty() ? ShowTopology(context, *arguments)
                                      : ShowMachine(context, *arguments);
  });

  CLI::App* check = topology->add_subcommand(
      "check",
      "Check a file with a topology: is it a tree, are its quantities right, does this machine "
      "have its CPUs and NUMA nodes? All faults are reported. nodeResources.source takes such a "
      "file.");
  auto path = std::make_shared<std::string>();
  auto any_machine = std::make_shared<bool>(false);
  check
      ->add_option("file", *path,
                   "YAML or JSON as -o yaml and -o json print it, or - for standard input")
      ->type_name("FILE")
      ->required();
  check->add_flag("--any-machine", *any_machine,
                  "Don't check that this machine has its CPUs and NUMA nodes");
  context.Act(check,
              [&context, path, any_machine] { return CheckFile(context, *path, *any_machine); });

  CLI::App* capture = topology->add_subcommand(
      "capture",
      "Write this machine's topology into a directory, for `--machine`, a bug report or a test. "
      "No daemon is needed. Ids of the machine are left out.");
  auto directory = std::make_shared<std::string>();
  capture->add_option("DIR", *directory, "A directory that is empty or not there yet")
      ->type_name("DIRECTORY")
      ->required();
  context.Act(capture, [directory] { return Capture(*directory); });
}

}  // namespace plimsoll::cli
