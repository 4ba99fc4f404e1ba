// plimsoll update
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/as_before.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/pod_commands/resource_report.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "pod_runner/manifest/amount.h"
#include "resources/cpu_set.h"
#include "resources/requirements.h"

namespace plimsoll::cli {
namespace {

struct UpdateArguments {
  std::string name;
  bool pod = false;
  std::string cpus;
  std::string cpu_request;
  int64_t cpu_shares = 0;
  std::string memory;
  std::string memory_swap;
  std::string cpuset_cpus;
  std::string cpuset_mems;
};

absl::StatusOr<resources::Quantity> ReadAmount(const char* option, const char* kind,
                                               const std::string& text) {
  absl::StatusOr<resources::Quantity> amount = resources::Quantity::Parse(text);
  if (!amount.ok()) return Annotate(amount.status(), option);
  if (amount->Sign() <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", text, " must be above 0"));
  }
  resources::Requirements one;
  one.limits[kind] = *amount;
  PLIMSOLL_RETURN_IF_ERROR(Annotate(resources::Validate(one), option));
  if (absl::string_view(kind) == "memory") {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(pod::CheckMemoryLimit(*amount), option));
  }
  return amount;
}

absl::Status SetCpu(const UpdateArguments& arguments, cri::LinuxContainerResources* out) {
  if (arguments.cpus == "max") {
    out->set_cpu_quota(-1);
  } else if (!arguments.cpus.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto cpus, ReadAmount("--cpu", "cpu", arguments.cpus));
    const std::string many = pod::ManyCpus(cpus, pod::CpusHere());
    if (!many.empty()) PrintNote(absl::StrCat("note: --cpu: ", many, "\n"));
    out->set_cpu_quota(*resources::MilliCpuToQuota(cpus.MilliValue()));
    out->set_cpu_period(static_cast<int64_t>(resources::kDefaultPeriodUs));
  }
  if (!arguments.cpu_request.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto cpus,
                              ReadAmount("--cpu-request", "cpu", arguments.cpu_request));
    constexpr int64_t kMost = static_cast<int64_t>(resources::kMaxShares / 1024);
    if (cpus.MilliValue() > kMost * 1000) {
      return absl::InvalidArgumentError(
          absl::StrCat("--cpu-request: ", arguments.cpu_request, " is above ", kMost, ", whose ",
                       resources::kMaxShares, " shares are the most that Linux takes"));
    }
    out->set_cpu_shares(static_cast<int64_t>(resources::MilliCpuToShares(cpus.MilliValue())));
  }
  if (arguments.cpu_shares != 0) out->set_cpu_shares(arguments.cpu_shares);
  for (const auto& [option, list] : {std::pair("--cpuset-cpus", &arguments.cpuset_cpus),
                                     {"--cpuset-mems", &arguments.cpuset_mems}}) {
    if (list->empty()) continue;
    const auto set = resources::CpuSet::Parse(*list);
    if (!set.ok()) return Annotate(set.status(), option);
  }
  out->set_cpuset_cpus(arguments.cpuset_cpus);
  out->set_cpuset_mems(arguments.cpuset_mems);
  return absl::OkStatus();
}

absl::Status SetMemory(const UpdateArguments& arguments, cri::LinuxContainerResources* out) {
  if (arguments.memory == "max") {
    out->set_memory_limit_in_bytes(-1);
  } else if (!arguments.memory.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto memory,
                              ReadAmount("--memory", "memory", arguments.memory));
    const std::string much = pod::MuchMemory(memory, pod::MemoryHere());
    if (!much.empty()) PrintNote(absl::StrCat("note: --memory: ", much, "\n"));
    out->set_memory_limit_in_bytes(memory.Value());
  }
  if (arguments.memory_swap == "max") {
    out->set_memory_swap_limit_in_bytes(-1);
  } else if (!arguments.memory_swap.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto swap,
                              ReadAmount("--memory-swap", "memory", arguments.memory_swap));
    out->set_memory_swap_limit_in_bytes(swap.Value());
  }
  return absl::OkStatus();
}

// A part of the daemon's message for a CPU limit (runtime/updates/quota_bounds.cc).
constexpr char kAbovePods[] = "raise the pod's first";

// Makes the recorded requests and limits follow the new limits. Only a container with a record gets
// this, and only where the other values fit: a request must not exceed its limit.
void FollowAsked(const UpdateArguments& arguments, const cri::KubernetesResources& before,
                 cri::UpdateContainerResourcesRequest* request) {
  if (before.requests().empty() && before.limits().empty()) return;
  cri::KubernetesResources asked = before;
  const auto set = [](const std::string& amount, const char* name, auto* quantities) {
    if (amount == "max") quantities->erase(name);
    if (!amount.empty() && amount != "max") (*quantities)[name].set_string(amount);
  };
  set(arguments.cpus, "cpu", asked.mutable_limits());
  set(arguments.cpu_request, "cpu", asked.mutable_requests());
  set(arguments.memory, "memory", asked.mutable_limits());
  for (const auto& [name, wanted] : asked.requests()) {
    const auto limit = asked.limits().find(name);
    if (limit == asked.limits().end()) continue;
    const auto lower = resources::Quantity::Parse(wanted.string());
    const auto upper = resources::Quantity::Parse(limit->second.string());
    if (!lower.ok() || !upper.ok() || *upper < *lower) return;
  }
  *request->mutable_kubernetes_resources() = std::move(asked);
}

void PrintChanges(const std::vector<ResourceChange>& changes) {
  Table table({"RESOURCE", "BEFORE", "NOW"});
  for (const ResourceChange& change : changes) {
    table.AddRow({change.resource, change.before, change.now});
  }
  Print(table.ToString());
}

absl::StatusOr<int> UpdatePod(const CommandContext& context, const UpdateArguments& arguments,
                              const cri::LinuxContainerResources& resources) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::PodSandbox pod, FindPod(pods, arguments.name));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto before,
                            client->PodSandboxStatus(pod.id(), /*verbose=*/true));
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod.id());
  *request.mutable_resources() = resources;
  PLIMSOLL_RETURN_IF_ERROR(
      AsBefore(client->updates().Pod(request), {"pod", pod.id(), pod.metadata().name()}));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto after, client->PodSandboxStatus(pod.id(), /*verbose=*/true));
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(after, context.format()));
    return kExitOk;
  }
  const auto had = PodResourcesOf(before);
  const auto has = PodResourcesOf(after);
  if (had.has_value() && has.has_value()) {
    PrintChanges(ComparePods(had->held, has->held));
  } else {
    Print(absl::StrCat("pod ", Printable(pod.metadata().name()), " updated\n"));
  }
  return kExitOk;
}

// The daemon clips a cpuset to the CPUs for pods, and an event of the container says so too.
void NoteClipped(absl::string_view option, const std::string& asked, const std::string& has) {
  const auto wanted = resources::CpuSet::Parse(asked);
  const auto held = resources::CpuSet::Parse(has);
  if (asked.empty() || has.empty() || !wanted.ok() || !held.ok() || *wanted == *held) return;
  if (wanted->Intersection(*held).Empty()) {
    PrintNote(absl::StrCat("plimsoll: nothing of --", option, " ", asked,
                           " is here for pods (nodeResources); it has ", has, " instead\n"));
    return;
  }
  PrintNote(absl::StrCat("plimsoll: of --", option, " ", asked, " it has ", has,
                         ": the node does not have the rest, or does not give it to pods "
                         "(nodeResources)\n"));
}

// For a pod with several containers the error names --pod too.
absl::StatusOr<cri::Container> ContainerToUpdate(const std::vector<cri::Container>& containers,
                                                 const std::vector<cri::PodSandbox>& pods,
                                                 const std::string& name) {
  absl::StatusOr<cri::Container> container = FindContainer(containers, pods, name);
  if (container.ok() || !FindPod(pods, name).ok()) return container;
  const absl::Status& status = container.status();
  return WithHint(
      absl::Status(status.code(), status.message()),
      absl::StrCat(HintOf(status), ". For all its containers together: `plimsoll update --pod ",
                   ShellQuote(name), "`."));
}

absl::StatusOr<int> Update(const CommandContext& context, const UpdateArguments& arguments) {
  cri::UpdateContainerResourcesRequest request;
  PLIMSOLL_RETURN_IF_ERROR(UsageError(SetCpu(arguments, request.mutable_linux())));
  PLIMSOLL_RETURN_IF_ERROR(UsageError(SetMemory(arguments, request.mutable_linux())));
  if (request.linux().ByteSizeLong() == 0) {
    return UsageError(WithHint(
        absl::InvalidArgumentError("nothing to update"),
        "Name a value to change, for example --memory 256Mi; see `plimsoll update --help`."));
  }
  if (arguments.pod) return UpdatePod(context, arguments, request.linux());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client->ListContainers());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container,
                            ContainerToUpdate(containers, pods, arguments.name));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto before, client->ContainerStatus(container.id()));
  request.set_container_id(container.id());
  FollowAsked(arguments, before.status().kubernetes_resources(), &request);
  const std::string pod = PodNameOf(container, pods);
  absl::Status updated = client->updates().Container(request);
  if (absl::StrContains(updated.message(), kAbovePods)) {
    updated = WithHint(std::move(updated), absl::StrCat("plimsoll update --pod ", ShellQuote(pod),
                                                        " --cpu ", ShellQuote(arguments.cpus)));
  }
  PLIMSOLL_RETURN_IF_ERROR(AsBefore(
      updated, {"container", container.id(), absl::StrCat(pod, "/", container.metadata().name())}));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto after, client->ContainerStatus(container.id()));
  const cri::LinuxContainerResources& now = after.status().resources().linux();
  NoteClipped("cpuset-cpus", request.linux().cpuset_cpus(), now.cpuset_cpus());
  NoteClipped("cpuset-mems", request.linux().cpuset_mems(), now.cpuset_mems());
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(after, context.format()));
    return kExitOk;
  }
  PrintChanges(CompareStates(before.status().resources().linux(), now));
  return kExitOk;
}

}  // namespace

void AddUpdateCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<UpdateArguments>();
  CLI::App* update = app.add_subcommand(
      "update",
      "Change the resources of a running container.\n\n"
      "All or nothing; values that are not named stay. Prints the values before and after.");
  update
      ->add_option("name", arguments->name,
                   "Name or id of a container, POD/CONTAINER, or a pod that has only one")
      ->type_name("CONTAINER|POD")
      ->required();
  update->add_flag("--pod", arguments->pod,
                   "The name is a pod's: change the limits of all its containers together");
  update->add_option("--cpu,--cpus", arguments->cpus, "CPU limit, as in 1.5 or 500m; max: none")
      ->type_name("AMOUNT");
  auto* request = update
                      ->add_option("--cpu-request", arguments->cpu_request,
                                   "CPU request, as in 250m; it is set as CPU shares")
                      ->type_name("AMOUNT");
  update->add_option("--cpu-shares", arguments->cpu_shares, "Relative CPU weight, 2 to 262144")
      ->type_name("SHARES")
      ->check(CLI::Range(int64_t{2}, int64_t{262144}))
      ->excludes(request);
  update->add_option("--memory", arguments->memory, "Memory limit, as in 256Mi; max: none")
      ->type_name("AMOUNT");
  update
      ->add_option("--memory-swap", arguments->memory_swap,
                   "Limit of memory and swap together; max: none")
      ->type_name("AMOUNT");
  update
      ->add_option("--cpuset-cpus", arguments->cpuset_cpus, "CPUs that it may run on, as in 0-3,8")
      ->type_name("LIST");
  update
      ->add_option("--cpuset-mems", arguments->cpuset_mems,
                   "Memory nodes that it may use, as in 0-1")
      ->type_name("LIST");
  context.Act(update, [&context, arguments] { return Update(context, *arguments); });
}

}  // namespace plimsoll::cli
