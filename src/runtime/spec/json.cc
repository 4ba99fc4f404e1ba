#include "runtime/spec/json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::ordered_json;  // members stay in the order of the struct, for readers

// --- The members of each struct, once for both directions. The structured bindings name every
// member, so one that is added to a struct does not compile until it is listed here.

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const linux::CgroupSettings*) {
  auto& [shares, quota, period, cpus, mems, memory, swap, pids, hugetlb, unified] = s;
  visit("cpu_shares", shares);
  visit("cpu_quota_us", quota);
  visit("cpu_period_us", period);
  visit("cpuset_cpus", cpus);
  visit("cpuset_mems", mems);
  visit("memory_limit_bytes", memory);
  visit("memory_swap_limit_bytes", swap);
  visit("pids_limit", pids);
  visit("hugetlb_limits", hugetlb);
  visit("unified", unified);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const NamespaceOptions*) {
  auto& [network, pid, ipc, target] = s;
  visit("network", network);
  visit("pid", pid);
  visit("ipc", ipc);
  visit("target_container_id", target);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const SandboxSpec*) {
  auto& [name, uid, pod_namespace, attempt, hostname, log_directory, cgroup_parent, handler,
         namespaces, sysctls, privileged, resources, overhead, servers, searches, options] = s;
  visit("name", name);
  visit("uid", uid);
  visit("pod_namespace", pod_namespace);
  visit("attempt", attempt);
  visit("hostname", hostname);
  visit("log_directory", log_directory);
  visit("cgroup_parent", cgroup_parent);
  visit("runtime_handler", handler);
  visit("namespaces", namespaces);
  visit("sysctls", sysctls);
  visit("privileged", privileged);
  visit("resources", resources);
  visit("overhead", overhead);
  visit("dns_servers", servers);
  visit("dns_searches", searches);
  visit("dns_options", options);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const Mount*) {
  auto& [container_path, host_path, readonly, recursive, relabel, propagation] = s;
  visit("container_path", container_path);
  visit("host_path", host_path);
  visit("readonly", readonly);
  visit("recursive_read_only", recursive);
  visit("selinux_relabel", relabel);
  visit("propagation", propagation);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const Device*) {
  auto& [container_path, host_path, permissions] = s;
  visit("container_path", container_path);
  visit("host_path", host_path);
  visit("permissions", permissions);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const SecurityProfile*) {
  auto& [type, localhost_path] = s;
  visit("type", type);
  visit("localhost_path", localhost_path);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const Capabilities*) {
  auto& [add, drop, add_ambient] = s;
  visit("add", add);
  visit("drop", drop);
  visit("add_ambient", add_ambient);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const SecurityContext*) {
  auto& [capabilities, privileged, namespaces, user, group, username, groups, groups_strict,
         readonly_rootfs, no_new_privs, masked, readonly_paths, seccomp, apparmor] = s;
  visit("capabilities", capabilities);
  visit("privileged", privileged);
  visit("namespaces", namespaces);
  visit("run_as_user", user);
  visit("run_as_group", group);
  visit("run_as_username", username);
  visit("supplemental_groups", groups);
  visit("supplemental_groups_strict", groups_strict);
  visit("readonly_rootfs", readonly_rootfs);
  visit("no_new_privs", no_new_privs);
  visit("masked_paths", masked);
  visit("readonly_paths", readonly_paths);
  visit("seccomp", seccomp);
  visit("apparmor", apparmor);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const ProcessUser*) {
  auto& [uid, gid, groups] = s;
  visit("uid", uid);
  visit("gid", gid);
  visit("supplemental_groups", groups);
}

using NameAndValue = std::pair<std::string, std::string>;

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const NameAndValue*) {
  auto& [name, value] = s;
  visit("name", name);
  visit("value", value);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const ContainerSpec*) {
  auto& [name, attempt, image, command, args, working_directory, environment, mounts, devices,
         log_path, open_stdin, stdin_once, tty, stop_signal, resources, oom_score_adj, security,
         annotations] = s;
  visit("name", name);
  visit("attempt", attempt);
  visit("image", image);
  visit("command", command);
  visit("args", args);
  visit("working_directory", working_directory);
  visit("environment", environment);
  visit("mounts", mounts);
  visit("devices", devices);
  visit("log_path", log_path);
  visit("open_stdin", open_stdin);
  visit("stdin_once", stdin_once);
  visit("tty", tty);
  visit("stop_signal", stop_signal);
  visit("resources", resources);
  visit("oom_score_adj", oom_score_adj);
  visit("security", security);
  visit("annotations", annotations);
}

// --- Enumerations by name, in the order of their values.

template <typename Enum>
struct Names;
template <>
struct Names<NamespaceMode> {
  static constexpr const char* kNames[] = {"pod", "container", "node", "target"};
};
template <>
struct Names<MountPropagation> {
  static constexpr const char* kNames[] = {"private", "host_to_container", "bidirectional"};
};
template <>
struct Names<SecurityProfile::Type> {
  static constexpr const char* kNames[] = {"runtime_default", "unconfined", "localhost"};
};

// --- Writing. What is empty (text, list, map, absent optional) is left out; numbers, booleans and
// enumerations are always there, so that a later change of a default does not change old records.
// Straight to text: by way of nlohmann's values it costs seven times as much, and it is on the way
// of each container's start.

bool IsPlain(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void AppendJson(std::string& out, const std::string& text) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) {
    absl::StrAppend(&out, "\"", text, "\"");
  } else {
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

template <typename T>
bool IsLeftOut(const T&) {
  return false;
}
bool IsLeftOut(const std::string& text) {
  return text.empty();
}
template <typename T>
bool IsLeftOut(const std::optional<T>& value) {
  return !value.has_value();
}
template <typename T>
bool IsLeftOut(const std::vector<T>& values) {
  return values.empty();
}
template <typename T>
bool IsLeftOut(const std::map<std::string, T>& values) {
  return values.empty();
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(const char* key, const T& value) {
    if (IsLeftOut(value)) return;
    const size_t before = out_.size();
    absl::StrAppend(&out_, first_ ? "\"" : ",\"", key, "\":");
    const size_t key_end = out_.size();
    Write(value);
    // A struct of which nothing was written is empty too.
    if (absl::string_view(out_).substr(key_end) == "{}") {
      out_.resize(before);
      return;
    }
    first_ = false;
  }

  void Write(const std::string& text) { AppendJson(out_, text); }
  template <typename T>
  void Write(const std::optional<T>& value) {
    Write(*value);
  }
  template <typename T>
  void Write(const std::vector<T>& values) {
    char separator = '[';
    if (values.empty()) out_ += separator;
    for (const T& value : values) {
      out_ += std::exchange(separator, ',');
      Write(value);
    }
    out_ += ']';
  }
  template <typename T>
  void Write(const std::map<std::string, T>& values) {
    char separator = '{';
    if (values.empty()) out_ += separator;
    for (const auto& [key, value] : values) {
      out_ += std::exchange(separator, ',');
      AppendJson(out_, key);
      out_ += ':';
      Write(value);
    }
    out_ += '}';
  }
  template <typename T>
  void Write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      absl::StrAppend(&out_, "\"", Names<T>::kNames[static_cast<size_t>(value)], "\"");
    } else if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      absl::StrAppend(&out_, value);
    } else {
      Writer members(out_);
      const T* tag = nullptr;
      out_ += '{';
      Fields(members, value, tag);
      out_ += '}';
    }
  }

 private:
  std::string& out_;
  bool first_ = true;
};

// --- Reading.

class Reader {
 public:
  Reader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    if (!status_.ok()) return;
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    status_ = Read(*found, path_.empty() ? key : absl::StrCat(path_, ".", key), value);
  }

  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path, T& value) {
    if constexpr (std::is_enum_v<T>) {
      return ReadEnum(json, path, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return WrongType(json, path, "true or false");
      value = json.get<bool>();
      return absl::OkStatus();
    } else if constexpr (std::is_integral_v<T>) {
      return ReadInteger(json, path, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return WrongType(json, path, "a string");
      value = json.get<std::string>();
      return absl::OkStatus();
    } else {
      if (!json.is_object()) return WrongType(json, path, "an object");
      Reader reader(json, path);
      const T* tag = nullptr;
      Fields(reader, value, tag);
      return reader.status_;
    }
  }
  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path, std::optional<T>& value) {
    if (json.is_null()) return absl::OkStatus();
    return Read(json, path, value.emplace());
  }
  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path, std::vector<T>& values) {
    if (!json.is_array()) return WrongType(json, path, "a list");
    values.resize(json.size());
    for (size_t i = 0; i < json.size(); ++i) {
      PLIMSOLL_RETURN_IF_ERROR(Read(json[i], absl::StrCat(path, "[", i, "]"), values[i]));
    }
    return absl::OkStatus();
  }
  template <typename T>
  static absl::Status Read(const Json& json, const std::string& path,
                           std::map<std::string, T>& values) {
    if (!json.is_object()) return WrongType(json, path, "an object");
    for (const auto& [key, item] : json.items()) {
      PLIMSOLL_RETURN_IF_ERROR(Read(item, absl::StrCat(path, ".", key), values[key]));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status WrongType(const Json& json, const std::string& path, const char* expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.empty() ? "" : absl::StrCat("member '", path, "': "), "expected ",
                     expected, ", found ", json.type_name()));
  }

  template <typename T>
  static absl::Status ReadInteger(const Json& json, const std::string& path, T& value) {
    if (!json.is_number_integer()) return WrongType(json, path, "an integer");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                                : std::in_range<T>(json.get<int64_t>());
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("member '", path, "': ", json.dump(), " is out of range, ",
                       std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max()));
    }
    value = json.get<T>();
    return absl::OkStatus();
  }

  template <typename T>
  static absl::Status ReadEnum(const Json& json, const std::string& path, T& value) {
    if (!json.is_string()) return WrongType(json, path, "a string");
    std::string valid;
    int number = 0;
    for (const char* name : Names<T>::kNames) {
      if (json.get_ref<const std::string&>() == name) {
        value = static_cast<T>(number);
        return absl::OkStatus();
      }
      absl::StrAppend(&valid, valid.empty() ? "" : ", ", name);
      ++number;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("member '", path, "': unknown value ", json.dump(), ", valid: ", valid));
  }

  const Json& object_;
  const std::string path_;
  absl::Status status_;
};

template <typename T>
std::string Dump(const T& value) {
  std::string out;
  Writer(out).Write(value);
  return out;
}

template <typename T>
absl::StatusOr<T> Parse(absl::string_view text, absl::string_view what) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": not valid JSON"));
  }
  T value;
  if (absl::Status status = Reader::Read(json, "", value); !status.ok()) {
    return Annotate(status, what);
  }
  return value;
}

}  // namespace

std::string ToJson(const SandboxSpec& spec) {
  return Dump(spec);
}
std::string ToJson(const ContainerSpec& spec) {
  return Dump(spec);
}
std::string ToJson(const linux::CgroupSettings& settings) {
  return Dump(settings);
}
std::string ToJson(const ProcessUser& user) {
  return Dump(user);
}
std::string ToJson(const std::vector<std::string>& list) {
  return Dump(list);
}

absl::StatusOr<SandboxSpec> SandboxSpecFromJson(absl::string_view text) {
  return Parse<SandboxSpec>(text, "sandbox spec");
}
absl::StatusOr<ContainerSpec> ContainerSpecFromJson(absl::string_view text) {
  return Parse<ContainerSpec>(text, "container spec");
}
absl::StatusOr<linux::CgroupSettings> CgroupSettingsFromJson(absl::string_view text) {
  return Parse<linux::CgroupSettings>(text, "cgroup settings");
}
absl::StatusOr<ProcessUser> ProcessUserFromJson(absl::string_view text) {
  return Parse<ProcessUser>(text, "process user");
}
absl::StatusOr<std::vector<std::string>> StringListFromJson(absl::string_view text) {
  return Parse<std::vector<std::string>>(text, "list");
}

}  // namespace plimsoll::runtime
