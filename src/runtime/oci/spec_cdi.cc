#include "runtime/oci/spec_cdi.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "runtime/oci/spec_mounts.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

// A list of objects that are found by a key: thousands of edits must not cost the square of their
// number. Objects with the key "" aren't found.
class KeyedList {
 public:
  using KeyOf = std::string (*)(const Json&);
  KeyedList(Json list, KeyOf key_of) : key_of_(key_of) {
    for (Json& each : list) Add(std::move(each));
  }
  void Add(Json each) {
    std::string key = key_of_(each);
    if (!key.empty()) places_[std::move(key)].push_back(all_.size());
    all_.push_back(std::move(each));
  }
  // Returns the removed objects.
  std::vector<Json> Remove(const std::string& key) {
    std::vector<Json> removed;
    const auto found = places_.find(key);
    if (found == places_.end()) return removed;
    for (const size_t place : found->second) {
      removed.push_back(std::exchange(all_[place], nullptr));
    }
    places_.erase(found);
    return removed;
  }
  // The others, in the order in which they came.
  std::vector<Json> Take() {
    std::erase_if(all_, [](const Json& each) { return each.is_null(); });
    return std::move(all_);
  }

 private:
  const KeyOf key_of_;
  std::vector<Json> all_;  // null: removed
  absl::flat_hash_map<std::string, std::vector<size_t>> places_;
};

std::string PathOf(const Json& node) {
  return node["path"].get<std::string>();
}

std::string DestinationOf(const Json& mount) {
  return mount["destination"].get<std::string>();
}

// Numbers of a node, or of a rule of the device cgroup; "" where it is of no one device. To the
// kernel "u" is another word for "c".
std::string NumbersOf(const Json& device) {
  if (!device.contains("major") || !device.contains("minor")) return "";
  return absl::StrCat(device["type"] == "b" ? "b " : "c ", device["major"].dump(), ":",
                      device["minor"].dump());
}

// A container's device nodes, with their rules of the device cgroup.
class DeviceNodes {
 public:
  explicit DeviceNodes(DeviceLists lists)
      : nodes_(Json::array(), PathOf), rules_(std::move(lists.rules), NumbersOf) {
    for (Json& node : lists.nodes) AddNode(std::move(node));
  }
  void AddNode(Json node) {
    ++users_[NumbersOf(node)];
    nodes_.Add(std::move(node));
  }
  void AddRule(Json rule) { rules_.Add(std::move(rule)); }
  // Removes a node and its rule, with which the container could make it again; the rule stays if
  // another node is the same device.
  void Remove(const std::string& path) {
    std::vector<std::string> unused;
    for (const Json& node : nodes_.Remove(path)) {
      std::string numbers = NumbersOf(node);
      if (--users_[numbers] == 0 && !numbers.empty()) unused.push_back(std::move(numbers));
    }
    for (const std::string& numbers : unused) rules_.Remove(numbers);
  }
  DeviceLists Take() { return {.nodes = nodes_.Take(), .rules = rules_.Take()}; }

 private:
  KeyedList nodes_;
  KeyedList rules_;
  absl::flat_hash_map<std::string, int> users_;  // nodes by their numbers
};

// Edits and their author.
struct Edits {
  const cdi::ContainerEdits* edits;
  const char* of;    // for messages: "of a CDI device"
  const char* node;  // and their device nodes
  // The CDI specification gives nodes to the process's user; the OCI runtime's, to root.
  bool gives_to_user;
};

// Fills in properties that are left to the host.
absl::Status LookAtNode(const FsRoot& host, const char* what, cdi::DeviceNode* node) {
  if (node->type == "p") return absl::OkStatus();
  if (!node->type.empty() && node->major && node->minor) return absl::OkStatus();
  const std::string& path = node->host_path.empty() ? node->path : node->host_path;
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(what, " ", path, ": ", why));
  };
  const absl::StatusOr<struct stat> info = host.Stat(path);
  if (!info.ok()) return refuse(info.status().message());
  std::string type;
  if (S_ISBLK(info->st_mode)) type = "b";
  if (S_ISCHR(info->st_mode)) type = "c";
  if (S_ISFIFO(info->st_mode)) type = "p";
  if (type.empty()) return refuse("is no device");
  if (node->type.empty()) node->type = type;
  const bool same = node->type == type || (node->type == "u" && type == "c");
  if (!same) {
    return refuse(
        absl::StrCat("is of type ", type, " and not ", node->type, ", as its specification says"));
  }
  if (type == "p") return absl::OkStatus();
  node->major = node->major.value_or(major(info->st_rdev));
  node->minor = node->minor.value_or(minor(info->st_rdev));
  return absl::OkStatus();
}

absl::Status AddNode(const SpecInput& input, const Edits& from, cdi::DeviceNode node,
                     DeviceNodes* nodes) {
  PLIMSOLL_RETURN_IF_ERROR(LookAtNode(*input.host, from.node, &node));
  node.path = CleanPath(node.path);
  Json added = {{"path", node.path}, {"type", node.type}};
  if (node.type != "p") {
    added["major"] = *node.major;
    added["minor"] = *node.minor;
  }
  if (node.file_mode) added["fileMode"] = *node.file_mode & 07777;
  if (from.gives_to_user && !node.uid && input.user.uid != 0) node.uid = input.user.uid;
  if (from.gives_to_user && !node.gid && input.user.gid != 0) node.gid = input.user.gid;
  if (node.uid) added["uid"] = *node.uid;
  if (node.gid) added["gid"] = *node.gid;
  nodes->Remove(node.path);
  nodes->AddNode(std::move(added));
  if (node.type == "p") return absl::OkStatus();
  nodes->AddRule({{"allow", true},
                  {"type", node.type == "b" ? "b" : "c"},
                  {"major", *node.major},
                  {"minor", *node.minor},
                  {"access", node.permissions.empty() ? "rwm" : node.permissions}});
  return absl::OkStatus();
}

// Mounts in the order in which they are made.
struct MountLists {
  KeyedList standard{Json::array(), DestinationOf};
  KeyedList own{Json::array(), DestinationOf};  // the container's and its devices'
};

// BuildMounts returns them in one list, standard ones first.
MountLists Divide(Json mounts, size_t own) {
  MountLists lists;
  const size_t standard = mounts.size() - std::min(own, mounts.size());
  for (size_t i = 0; i < mounts.size(); ++i) {
    (i < standard ? lists.standard : lists.own).Add(std::move(mounts[i]));
  }
  return lists;
}

// Holds the source of a mount that a device or a plugin asks for; returns the path to bind.
absl::StatusOr<std::string> HoldSource(const SpecInput& input, const char* of,
                                       const cdi::CdiMount& mount,
                                       std::vector<HeldVolume>* volumes) {
  const absl::StatusOr<MountSource> source = FindExistingSource(*input.host, mount.host_path);
  const std::string name = absl::StrCat("edit", volumes->size());
  absl::StatusOr<HeldVolume> volume =
      source.ok() ? HoldVolume(*source, name) : absl::StatusOr<HeldVolume>(source.status());
  if (!volume.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("mount ", mount.host_path, " ", of, ": ", volume.status().message()));
  }
  volumes->push_back(*std::move(volume));
  return StagedPath(input.stage_path, name);
}

absl::Status AddMount(const SpecInput& input, const char* of, const cdi::CdiMount& mount,
                      Json* propagation, MountLists* lists, std::vector<HeldVolume>* volumes) {
  std::string source_path = mount.host_path;
  std::vector<std::string> options = mount.options;
  const auto has = [&options](const char* option) {
    return absl::c_linear_search(options, option);
  };
  const bool binds = has("bind") || has("rbind");
  if (mount.type.empty() || mount.type == "bind" || binds) {
    if (!binds) options.insert(options.begin(), "rbind");
    PLIMSOLL_ASSIGN_OR_RETURN(source_path, HoldSource(input, of, mount, volumes));
  }
  if (has("rshared") || has("shared")) *propagation = "rshared";
  if ((has("rslave") || has("slave")) && *propagation == "private") *propagation = "rslave";
  const std::string destination = NormalPath(mount.container_path);
  lists->standard.Remove(destination);
  lists->own.Remove(destination);
  lists->own.Add({{"destination", destination},
                  {"type", mount.type.empty() ? "bind" : mount.type},
                  {"source", std::move(source_path)},
                  {"options", std::move(options)}});
  return absl::OkStatus();
}

// Standard mounts stay before all others, so that a mount at /sys hides /sys/fs/cgroup, with or
// without edits.
absl::Status AddMounts(const SpecInput& input, const std::vector<Edits>& all, Json* config,
                       std::vector<HeldVolume>* volumes) {
  const bool none =
      absl::c_all_of(all, [](const Edits& from) { return from.edits->mounts.empty(); });
  if (none) return absl::OkStatus();
  MountLists lists = Divide(std::move((*config)["mounts"]), input.request->spec->mounts.size());
  Json& propagation = (*config)["linux"]["rootfsPropagation"];
  for (const Edits& from : all) {
    for (const cdi::CdiMount& mount : from.edits->mounts) {
      PLIMSOLL_RETURN_IF_ERROR(AddMount(input, from.of, mount, &propagation, &lists, volumes));
    }
  }
  const auto depth = [](const Json& mount) {
    return absl::c_count(mount["destination"].get_ref<const std::string&>(), '/');
  };
  std::vector<Json> own = lists.own.Take();
  absl::c_stable_sort(own, [&](const Json& a, const Json& b) { return depth(a) < depth(b); });
  Json& mounts = (*config)["mounts"];
  mounts = lists.standard.Take();
  for (Json& mount : own) mounts.push_back(std::move(mount));
  return absl::OkStatus();
}

Json HookJson(const cdi::Hook& hook) {
  Json json = {{"path", hook.path}};
  if (!hook.args.empty()) json["args"] = hook.args;
  if (!hook.env.empty()) json["env"] = hook.env;
  if (hook.timeout_seconds) json["timeout"] = *hook.timeout_seconds;
  return json;
}

// The stages of the OCI runtime specification. An OCI runtime passes over others.
absl::Status CheckHook(const cdi::Hook& hook, const char* of) {
  for (const char* stage : {"prestart", "createRuntime", "createContainer", "startContainer",
                            "poststart", "poststop"}) {
    if (hook.name != stage) continue;
    if (absl::StartsWith(hook.path, "/")) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("hooks: the path \"", hook.path, "\" of a ",
                                                   stage, " hook ", of, " must be absolute"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("hooks: a hook ", of, " is for \"", hook.name,
                   "\"; it must be for prestart, createRuntime, createContainer, startContainer, "
                   "poststart or poststop"));
}

void AddGroups(const std::vector<uint32_t>& groups, Json* process, BuiltSpec* built) {
  if (groups.empty()) return;
  std::vector<uint32_t>& all = built->user.supplemental_groups;
  for (const uint32_t group : groups) {
    if (group != 0) all.push_back(group);  // the CDI specification ignores 0
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  (*process)["user"]["additionalGids"] = all;
}

Json RdtJson(const cdi::IntelRdt& rdt) {
  Json json = Json::object();
  if (!rdt.clos_id.empty()) json["closID"] = rdt.clos_id;
  if (!rdt.l3_cache_schema.empty()) json["l3CacheSchema"] = rdt.l3_cache_schema;
  if (!rdt.mem_bw_schema.empty()) json["memBwSchema"] = rdt.mem_bw_schema;
  if (rdt.enable_cmt) json["enableCMT"] = true;
  if (rdt.enable_mbm) json["enableMBM"] = true;
  return json;
}

}  // namespace

absl::Status ApplyEdits(const SpecInput& input, Json* config, BuiltSpec* built) {
  const std::vector<Edits> all = {
      {&input.request->edits, "of a CDI device", "CDI device node", /*gives_to_user=*/true},
      {&input.request->spec->extras.edits, "of a plugin", "device node of a plugin",
       /*gives_to_user=*/false}};
  Json& process = (*config)["process"];
  Json& part = (*config)["linux"];
  auto environment = process["env"].get<std::vector<std::string>>();
  DeviceNodes nodes(
      {.nodes = std::move(part["devices"]), .rules = std::move(part["resources"]["devices"])});
  for (const Edits& from : all) {
    SetVariables(from.edits->env, &environment);
    for (const cdi::DeviceNode& node : from.edits->device_nodes) {
      PLIMSOLL_RETURN_IF_ERROR(AddNode(input, from, node, &nodes));
    }
    for (const cdi::Hook& hook : from.edits->hooks) {
      PLIMSOLL_RETURN_IF_ERROR(CheckHook(hook, from.of));
      (*config)["hooks"][hook.name].push_back(HookJson(hook));
    }
    AddGroups(from.edits->additional_gids, &process, built);
  }
  process["env"] = std::move(environment);
  DeviceLists devices = nodes.Take();
  part["devices"] = std::move(devices.nodes);
  part["resources"]["devices"] = std::move(devices.rules);
  PLIMSOLL_RETURN_IF_ERROR(AddMounts(input, all, config, &built->volumes));
  const cdi::ContainerEdits& edits = input.request->edits;
  if (edits.intel_rdt.has_value()) {
    part["intelRdt"] = RdtJson(*edits.intel_rdt);
    built->warnings.push_back(
        "a CDI device's intelRdt is left to the OCI runtime, and that may ignore it; a class of "
        "type rdt is enforced by Plimsoll");
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
