#include "runtime/oci/spec_builder.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "runtime/oci/byte_variables.h"
#include "runtime/oci/entry_template.h"
#include "runtime/oci/fit.h"
#include "runtime/oci/spec_cdi.h"
#include "runtime/oci/spec_extras.h"
#include "runtime/oci/spec_mounts.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

constexpr char kDefaultPath[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string NameOf(absl::string_view variable) {
  return std::string(variable.substr(0, variable.find('=')));
}

// Removes variables that come from no client: the image's and the defaults.
void Unset(const std::vector<std::string>& names, std::vector<std::string>* environment) {
  const absl::flat_hash_set<std::string> unset(names.begin(), names.end());
  std::erase_if(*environment,
                [&](const std::string& variable) { return unset.contains(NameOf(variable)); });
}

std::vector<std::string> Environment(const SpecInput& input) {
  std::vector<std::string> defaults = {kDefaultPath, absl::StrCat("HOME=", input.user.home)};
  if (!input.request->sandbox.hostname.empty()) {
    defaults.push_back(absl::StrCat("HOSTNAME=", input.request->sandbox.hostname));
  }
  const ContainerSpec& spec = *input.request->spec;
  if (spec.tty) defaults.push_back("TERM=xterm");
  return EnvironmentOf(std::move(defaults), spec, *input.request->image);
}

Json Process(const SpecInput& input, std::vector<std::string> arguments,
             const std::string& working_directory, int oom_score_adj) {
  const ContainerSpec& spec = *input.request->spec;
  const Json granted = CapabilityNames(input.capabilities.granted);
  const Json ambient = CapabilityNames(input.capabilities.ambient);
  Json process = {{"terminal", spec.tty},
                  {"user",
                   {{"uid", input.user.uid},
                    {"gid", input.user.gid},
                    {"additionalGids", input.user.additional_gids}}},
                  {"args", std::move(arguments)},
                  {"env", Environment(input)},
                  {"cwd", working_directory},
                  {"capabilities",
                   {{"bounding", granted},
                    {"effective", granted},
                    {"permitted", granted},
                    {"inheritable", ambient},
                    {"ambient", ambient}}},
                  {"noNewPrivileges", spec.security.no_new_privs},
                  {"oomScoreAdj", oom_score_adj}};
  if (!input.apparmor_profile.empty()) process["apparmorProfile"] = input.apparmor_profile;
  if (!input.selinux.process.empty()) process["selinuxLabel"] = input.selinux.process;
  return process;
}

absl::StatusOr<Json> Namespaces(const SpecInput& input) {
  const SandboxPlace& sandbox = input.request->sandbox;
  const SecurityContext& security = input.request->spec->security;
  Json namespaces = Json::array({{{"type", "mount"}}});
  const auto join = [&](const char* type, const std::string& path) {
    if (!path.empty()) namespaces.push_back({{"type", type}, {"path", path}});
  };
  join("user", sandbox.user_namespace);
  join("network", sandbox.network_namespace);
  join("ipc", sandbox.ipc_namespace);
  join("uts", sandbox.uts_namespace);
  switch (security.namespaces.pid) {
    case NamespaceMode::kContainer:
      namespaces.push_back({{"type", "pid"}});
      break;
    case NamespaceMode::kNode:
      break;
    case NamespaceMode::kTarget:
      if (input.request->target_pid <= 0) {
        return absl::InvalidArgumentError("namespaces.pid is TARGET, but no container is named");
      }
      join("pid", absl::StrCat("/proc/", input.request->target_pid, "/ns/pid"));
      break;
    case NamespaceMode::kPod:
      join("pid", sandbox.pid_namespace);
      break;
  }
  if (input.machine->layout == linux::CgroupLayout::kV2 && !security.privileged) {
    namespaces.push_back({{"type", "cgroup"}});
  }
  PLIMSOLL_RETURN_IF_ERROR(ChangeNamespaces(input.request->spec->extras, &namespaces));
  return namespaces;
}

Json Memory(const linux::CgroupSettings& settings) {
  Json memory = Json::object();
  if (settings.memory_limit_bytes) memory["limit"] = *settings.memory_limit_bytes;
  if (settings.memory_swap_limit_bytes) memory["swap"] = *settings.memory_swap_limit_bytes;
  return memory;
}

Json Cpu(const linux::CgroupSettings& settings) {
  Json cpu = Json::object();
  if (settings.cpu_shares) cpu["shares"] = *settings.cpu_shares;
  // crun 1.8 writes a quota of -1 ("none") to cgroup v1 as a number without a sign, which the
  // kernel refuses ("Numerical result out of range"). The group is new and so has none.
  if (settings.cpu_quota_us.value_or(-1) != -1) cpu["quota"] = *settings.cpu_quota_us;
  if (settings.cpu_period_us) cpu["period"] = *settings.cpu_period_us;
  if (settings.cpuset_cpus) cpu["cpus"] = *settings.cpuset_cpus;
  if (settings.cpuset_mems) cpu["mems"] = *settings.cpuset_mems;
  return cpu;
}

// The resources that the machine's controllers can hold; the rest becomes a warning.
Json Resources(const linux::CgroupSettings& asked, const HostFeatures& machine,
               std::vector<std::string>* warnings) {
  const linux::CgroupSettings settings = FitSettings(asked, &machine, warnings);
  Json resources = Json::object();
  if (Json cpu = Cpu(settings); !cpu.empty()) resources["cpu"] = std::move(cpu);
  if (Json memory = Memory(settings); !memory.empty()) resources["memory"] = std::move(memory);
  if (settings.pids_limit) resources["pids"] = {{"limit", *settings.pids_limit}};
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    resources["hugepageLimits"].push_back({{"pageSize", size}, {"limit", bytes}});
  }
  if (!settings.unified.empty()) resources["unified"] = settings.unified;
  return resources;
}

bool IsForCrun(const SpecInput& input) {
  return input.machine->OtherThanCrun(input.request->program).empty();
}

Json Annotations(const SpecInput& input) {
  Json annotations = Json::object();
  for (const auto& [key, value] : input.request->spec->annotations) {
    // Orders to crun make their author root on the host.
    if (!absl::StartsWith(key, "run.oci.")) annotations[key] = value;
  }
  // Another runtime would pass over it: LinuxPart has the profile for those.
  if (IsForCrun(input) && !input.seccomp.filter.empty()) {
    annotations["run.oci.seccomp_bpf_data"] = input.seccomp.filter;
  }
  return annotations;
}

// The limit on a program's stack that its execve sees.
uint64_t StackLimitOf(const Json& process) {
  for (const Json& limit : process.value("rlimits", Json::array())) {
    if (limit["type"] == "RLIMIT_STACK") return limit["soft"].get<uint64_t>();
  }
  rlimit own = {};
  return getrlimit(RLIMIT_STACK, &own) == 0 ? own.rlim_cur : RLIM_INFINITY;
}

// The bounds of execve(2): fs/exec.c, valid_arg_len and bprm_stack_limits.
absl::Status CheckKernelBounds(const Json& process) {
  constexpr size_t kMostOfOne = 128 << 10;
  constexpr uint64_t kMostTogether = 6 << 20;
  size_t together = 0;
  for (const char* list : {"args", "env"}) {
    for (const Json& each : process[list]) {
      const size_t size = each.get_ref<const std::string&>().size() + 1;
      if (size > kMostOfOne) {
        return absl::OutOfRangeError(
            absl::StrCat("one of its ", list, " has ", size - 1, " bytes (at most 131071)"));
      }
      together += size + sizeof(char*);
    }
  }
  const uint64_t most =
      std::max<uint64_t>(std::min<uint64_t>(kMostTogether, StackLimitOf(process) / 4), kMostOfOne);
  if (together <= most) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("they have ", together, " bytes together (at most ", most, ")"));
}

// crun 1.8 sets variables with putenv(3), which compares each with all before it: 20,000 take 0.8
// s, 50,000 take 7 s.
absl::Status CheckVariableCount(const SpecInput& input, const Json& process) {
  constexpr size_t kMostVariables = 20000;
  const size_t count = process["env"].size();
  if (!IsForCrun(input) || count <= kMostVariables) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "envs: ", count, " environment variables, the image's and devices' with them; at most ",
      kMostVariables,
      " are possible, as the OCI runtime's time grows with the square of their number. More of "
      "them belong into a file, as of a ConfigMap's volume; enableServiceLinks: false leaves out "
      "those of services"));
}

// The user in the form of an image's. A client that names the image's own user, as kubelet does
// where a pod names none, has no field for the image's group: that stays.
std::string UserToRun(const SecurityContext& security, const std::string& of_image) {
  const absl::string_view own = absl::string_view(of_image).substr(0, of_image.find(':'));
  if (security.run_as_user) {
    int64_t uid = 0;
    const bool is_number = own.empty() || absl::SimpleAtoi(own, &uid);
    return is_number && uid == *security.run_as_user ? of_image
                                                     : absl::StrCat(*security.run_as_user);
  }
  if (security.run_as_username.empty() || security.run_as_username == own) return of_image;
  return security.run_as_username;
}

absl::StatusOr<std::string> WorkingDirectory(const SpecInput& input) {
  std::string directory = WorkingDirectoryOf(*input.request->spec, *input.request->image);
  if (!absl::StartsWith(directory, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("working_directory \"", directory, "\" must be an absolute path"));
  }
  return directory;
}

Json MappingsJson(const std::vector<IdMapping>& mappings) {
  Json list = Json::array();
  for (const IdMapping& each : mappings) {
    list.push_back(
        {{"containerID", each.container_id}, {"hostID", each.host_id}, {"size", each.length}});
  }
  return list;
}

absl::StatusOr<Json> LinuxPart(const SpecInput& input, std::vector<std::string>* warnings) {
  const ContainerSpec& spec = *input.request->spec;
  PLIMSOLL_ASSIGN_OR_RETURN(Json namespaces, Namespaces(input));
  PLIMSOLL_ASSIGN_OR_RETURN(DeviceLists devices, BuildDevices(input));
  Json resources = Resources(spec.resources, *input.machine, warnings);
  PLIMSOLL_RETURN_IF_ERROR(AddMoreResources(input, &resources));
  resources["devices"] = std::move(devices.rules);
  Json part = {{"namespaces", std::move(namespaces)},
               {"cgroupsPath", input.request->cgroup_path},
               {"resources", std::move(resources)},
               {"devices", std::move(devices.nodes)},
               {"rootfsPropagation", RootPropagation(spec)}};
  if (!input.request->sandbox.user_namespace.empty()) {
    part["uidMappings"] = MappingsJson(spec.security.namespaces.uid_mappings);
    part["gidMappings"] = MappingsJson(spec.security.namespaces.gid_mappings);
  }
  if (!input.selinux.file.empty()) part["mountLabel"] = input.selinux.file;
  if (!IsForCrun(input) && !input.seccomp.profile.empty()) {
    part["seccomp"] = Json::parse(input.seccomp.profile);
  }
  if (!spec.security.privileged) {
    part["maskedPaths"] = spec.security.masked_paths;
    part["readonlyPaths"] = spec.security.readonly_paths;
  }
  return part;
}

// A handler's program may bring nothing but the spec into its virtual machine.
void PassByteVariables(const SpecInput& input, Json* process, BuiltSpec* built) {
  std::string variables = ByteVariablesOf(*process);
  if (variables.empty()) return;
  const std::string& program = input.request->program;
  if (!program.empty() || !IsForCrun(input)) {
    built->warnings.push_back(
        ByteVariablesLost(variables, program.empty() ? "the OCI runtime" : program));
    return;
  }
  BeginWithByteVariables(process);
  built->byte_variables = std::move(variables);
}

}  // namespace

void SetVariables(const std::vector<std::string>& variables,
                  std::vector<std::string>* environment) {
  absl::flat_hash_map<std::string, size_t> places;
  for (size_t i = 0; i < environment->size(); ++i) {
    places.try_emplace(NameOf((*environment)[i]), i);
  }
  for (const std::string& variable : variables) {
    const auto [place, is_new] = places.try_emplace(NameOf(variable), environment->size());
    if (is_new) {
      environment->push_back(variable);
    } else {
      (*environment)[place->second] = variable;
    }
  }
}

std::vector<std::string> EnvironmentOf(std::vector<std::string> defaults, const ContainerSpec& spec,
                                       const image::ImageConfig& image) {
  std::vector<std::string> environment = std::move(defaults);
  SetVariables(image.environment, &environment);
  Unset(spec.extras.unset_environment, &environment);
  std::vector<std::string> own;
  for (const auto& [name, value] : spec.environment) own.push_back(absl::StrCat(name, "=", value));
  SetVariables(own, &environment);
  return environment;
}

absl::StatusOr<std::vector<std::string>> ProcessArguments(const ContainerSpec& spec,
                                                          const image::ImageConfig& image) {
  std::vector<std::string> arguments = spec.command.empty() ? image.entrypoint : spec.command;
  std::vector<std::string> rest = spec.args;
  if (spec.command.empty() && spec.args.empty()) rest = image.command;
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  if (arguments.empty()) {
    return absl::InvalidArgumentError(
        "no command: the container names none and its image has neither entrypoint nor command");
  }
  return arguments;
}

absl::StatusOr<image::ResolvedUser> ResolveProcessUser(const SecurityContext& security,
                                                       const image::ImageConfig& image,
                                                       absl::string_view passwd_text,
                                                       absl::string_view group_text) {
  const std::string name = UserToRun(security, image.user);
  if (security.run_as_group && !security.run_as_user && security.run_as_username.empty()) {
    return absl::InvalidArgumentError(
        "run_as_group needs run_as_user or run_as_username beside it");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(image::ResolvedUser user,
                            image::ResolveUser(name, passwd_text, group_text));
  const auto as_gid = [](int64_t gid) -> absl::StatusOr<uint32_t> {
    if (gid >= 0 && gid < 4294967295) return static_cast<uint32_t>(gid);
    return absl::InvalidArgumentError(absl::StrCat("group ", gid, " is not 0 to 4294967294"));
  };
  if (security.run_as_group) {
    PLIMSOLL_ASSIGN_OR_RETURN(user.gid, as_gid(*security.run_as_group));
  }
  if (security.supplemental_groups_strict) user.additional_gids.clear();
  for (const int64_t group : security.supplemental_groups) {
    PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t gid, as_gid(group));
    user.additional_gids.push_back(gid);
  }
  // The primary group too: a process that gives up its gid must not get past a file's group
  // permissions that are meant to keep its group out.
  user.additional_gids.push_back(user.gid);
  std::sort(user.additional_gids.begin(), user.additional_gids.end());
  user.additional_gids.erase(std::unique(user.additional_gids.begin(), user.additional_gids.end()),
                             user.additional_gids.end());
  return user;
}

std::string WorkingDirectoryOf(const ContainerSpec& spec, const image::ImageConfig& image) {
  if (!spec.working_directory.empty()) return spec.working_directory;
  if (absl::StartsWith(image.working_directory, "/")) return image.working_directory;
  return absl::StrCat("/", image.working_directory);  // images' are from the root
}

absl::StatusOr<BuiltSpec> BuildSpec(const SpecInput& input) {
  const ContainerSpec& spec = *input.request->spec;
  BuiltSpec built;
  PLIMSOLL_ASSIGN_OR_RETURN(built.working_directory, WorkingDirectory(input));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> arguments,
                            ProcessArguments(spec, *input.request->image));
  built.user = {input.user.uid, input.user.gid, input.user.additional_gids};
  built.oom_score_adj = FitOomScoreAdj(spec.oom_score_adj, input.machine, &built.warnings);
  if (input.capabilities.refused != 0) {
    built.warnings.push_back(
        absl::StrCat("without ", absl::StrJoin(CapabilityNames(input.capabilities.refused), ", "),
                     ": this process lacks it"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(Json mounts, BuildMounts(input, &built.volumes));
  PLIMSOLL_ASSIGN_OR_RETURN(Json part, LinuxPart(input, &built.warnings));
  Json config = {{"ociVersion", "1.0.2"},
                 {"process", Process(input, std::move(arguments), built.working_directory,
                                     built.oom_score_adj)},
                 {"root", {{"path", input.root_path}, {"readonly", spec.security.readonly_rootfs}}},
                 {"mounts", std::move(mounts)},
                 {"annotations", Annotations(input)},
                 {"linux", std::move(part)}};
  PLIMSOLL_ASSIGN_OR_RETURN(Json limits, BuildRlimits(input));
  if (!limits.empty()) config["process"]["rlimits"] = std::move(limits);
  PLIMSOLL_RETURN_IF_ERROR(ApplyEdits(input, &config, &built));
  PLIMSOLL_ASSIGN_OR_RETURN(built.mount_points,
                            MountPointsOf(*input.request, *input.host, input.stage_path,
                                          built.volumes, config["mounts"]));
  if (input.has_declared_volumes) {
    PLIMSOLL_ASSIGN_OR_RETURN(built.declared, AddDeclaredVolumes(input.request->image->volumes,
                                                                 input.stage_path, &config));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckExtras(input));
  PLIMSOLL_RETURN_IF_ERROR(CheckVariableCount(input, config["process"]));
  PLIMSOLL_RETURN_IF_ERROR(CheckKernelBounds(config["process"]));
  PLIMSOLL_ASSIGN_OR_RETURN(built.memory_policy, MemoryPolicyOf(input));
  built.late_hooks = LateHooksOf(config);
  PLIMSOLL_ASSIGN_OR_RETURN(built.targets, TargetsOf(config));
  built.entry = EntryTemplate(config);
  PassByteVariables(input, &config["process"], &built);
  // JSON can't hold text that is not UTF-8.
  built.json = config.dump(-1, ' ', false, Json::error_handler_t::replace);
  return built;
}

}  // namespace plimsoll::runtime
