#include "daemon/config/config.h"

#include <grp.h>
#include <sys/un.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <climits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "base/text/problems.h"
#include "daemon/config/config_options.h"
#include "daemon/config/plugin_policies.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::daemon {
namespace {

constexpr size_t kMaxFileBytes = 1024 * 1024;
constexpr char kHandlers[] = "runtime_handlers";

// Keys without an option: trees, which no flag sets.
struct Tree {
  const char* key;
  void (*read)(YamlReader& reader, const YAML::Node& node, const std::string& path, Config& config);
};
constexpr Tree kTrees[] = {
    {"nri.plugins",
     [](YamlReader& reader, const YAML::Node& node, const std::string& path, Config& config) {
       ReadPluginPolicies(reader, node, path, &config.nri.policies);
     }},
    {"classes",
     [](YamlReader& reader, const YAML::Node& node, const std::string& path, Config& config) {
       qos::ReadClassesConfig(reader, node, path, &config.classes);
     }},
    {"nodeResources",
     [](YamlReader& reader, const YAML::Node& node, const std::string& path, Config& config) {
       topology::ReadNodeResources(reader, node, path, &config.node_resources);
     }},
    {kHandlers,
     [](YamlReader& reader, const YAML::Node& node, const std::string& path, Config& config) {
       runtime::ReadHandlers(reader, node, path, &config.runtime_handlers);
     }}};

// Keys that earlier versions had, in full, and what stands for them now.
struct OldKey {
  const char* key;
  const char* now;
};
constexpr OldKey kOldKeys[] = {
    {"conmon", "leave it out: containers have monitors of Plimsoll's own"},
};

const char* TypeName(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return "a single value";
    default:
      return "nothing";
  }
}

// yaml-cpp's tag for unquoted text; quoted text is never a number.
bool IsPlain(const YAML::Node& node) {
  return node.IsScalar() && node.Tag() == "?";
}

// "'level' below 'log'" for "log_level" and "logLevel", which are keys of no mapping; empty: none
// is similar.
std::string KeyElsewhere(const std::string& key, const Config& config) {
  std::vector<std::string> keys;
  for (const Option& option : Options()) {
    if (absl::StrContains(option.key, '.')) keys.emplace_back(option.key);
  }
  std::string found = ClosestWord(absl::StrReplaceAll(key, {{"_", "."}, {"-", "."}}), keys);
  if (found.empty()) {
    std::vector<std::string> gates;
    for (const auto& [name, enabled] : config.feature_gates.all()) gates.push_back(name);
    found = ClosestWord(key, gates);
    if (!found.empty()) found = absl::StrCat("feature_gates.", found);
  }
  if (found.empty()) return found;
  const size_t dot = found.rfind('.');
  return absl::StrCat("'", found.substr(dot + 1), "' below '", found.substr(0, dot), "'");
}

class Parser {
 public:
  explicit Parser(absl::string_view file) : file_(file) {}

  absl::StatusOr<Config> Parse(absl::string_view text) const {
    Config config;
    try {
      const std::vector<YAML::Node> documents = LoadYamlDocuments(std::string(text));
      if (documents.size() > 1) {
        return Error(documents[1].Mark(), "a second document; one file holds one configuration");
      }
      if (documents.empty() || documents[0].IsNull()) return config;
      PLIMSOLL_RETURN_IF_ERROR(ParseSection(documents[0], "", config));
    } catch (const YAML::Exception& error) {
      return Error(error.mark, YamlFault(error));
    }
    return config;
  }

 private:
  absl::Status Error(const YAML::Mark& mark, absl::string_view message) const {
    if (mark.is_null()) return absl::InvalidArgumentError(absl::StrCat(file_, ": ", message));
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ":", mark.line + 1, ":", mark.column + 1, ": ", message));
  }

  absl::Status WrongType(const YAML::Node& node, absl::string_view key,
                         absl::string_view expected) const {
    const std::string found =
        node.IsScalar() ? absl::StrCat("'", node.Scalar(), "'") : TypeName(node);
    return Error(node.Mark(), absl::StrCat(key, key.empty() ? "" : ": ", "expected ", expected,
                                           ", found ", found));
  }

  // `section` is "" or ends with a dot.
  absl::Status ParseSection(const YAML::Node& node, const std::string& section,
                            Config& config) const {
    const absl::string_view name = absl::StripSuffix(section, ".");
    if (!node.IsMap()) return WrongType(node, name, "a mapping of keys to values");
    std::map<std::string, int> lines;
    absl::Status problems;
    for (const auto& entry : node) {
      const YAML::Node& key_node = entry.first;
      if (!key_node.IsScalar()) return WrongType(key_node, name, "a key");
      const std::string& key = key_node.Scalar();
      const auto [first, is_new] = lines.emplace(key, key_node.Mark().line + 1);
      if (!is_new) {
        problems = AlsoTell(
            problems, Error(key_node.Mark(),
                            absl::StrCat("key '", section, key, "' is there twice, first in line ",
                                         first->second)));
        continue;
      }
      problems = AlsoTell(problems, ParseKey(key_node, entry.second, section, config));
    }
    return problems;
  }

  absl::Status ParseKey(const YAML::Node& key_node, const YAML::Node& value,
                        const std::string& section, Config& config) const {
    const std::string full = section + key_node.Scalar();
    const auto no_value = [&] {
      return Error(key_node.Mark(),
                   absl::StrCat("key '", full, "' has no value; leave it out for ", "its default"));
    };
    for (const Tree& tree : kTrees) {
      if (full == tree.key) return value.IsNull() ? no_value() : ParseTree(tree, value, config);
    }
    std::vector<std::string> valid;
    for (const Option& option : Options()) {
      absl::string_view rest = option.key;
      if (rest == full && key_node.Scalar().find('.') != std::string::npos) {
        const size_t dot = full.find('.');
        return Error(key_node.Mark(),
                     absl::StrCat(full, ": write it as ", full.substr(0, dot), ": with ",
                                  full.substr(dot + 1), ": indented below"));
      }
      if (rest == full) {
        return value.IsNull() ? no_value() : ParseValue(value, option, config);
      }
      if (absl::StartsWith(rest, full + ".")) {
        return value.IsNull() ? no_value() : ParseSection(value, full + ".", config);
      }
      if (!absl::ConsumePrefix(&rest, section)) continue;
      const std::string here(rest.substr(0, rest.find('.')));
      if (valid.empty() || valid.back() != here) valid.push_back(here);
    }
    for (const Tree& tree : kTrees) {
      absl::string_view rest = tree.key;
      if (absl::ConsumePrefix(&rest, section) && !absl::StrContains(rest, '.')) {
        valid.emplace_back(rest);
      }
    }
    for (const OldKey& old : kOldKeys) {
      if (full != old.key) continue;
      return Error(key_node.Mark(),
                   absl::StrCat("key '", full, "' is of an older version; ", old.now));
    }
    std::string meant = ClosestWord(key_node.Scalar(), valid);
    if (!meant.empty()) meant = absl::StrCat("'", meant, "'");
    if (meant.empty() && section.empty()) meant = KeyElsewhere(full, config);
    return Error(key_node.Mark(),
                 absl::StrCat("unknown key '", full, "'",
                              meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?"),
                              meant.empty() ? ", valid here: " : " Valid here: ",
                              absl::StrJoin(valid, ", ")));
  }

  absl::Status ParseTree(const Tree& tree, const YAML::Node& value, Config& config) const {
    YamlReader reader{std::string(file_)};
    tree.read(reader, value, tree.key, config);
    if (reader.errors().empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(reader.errors(), "\n"));
  }

  absl::Status SetAt(const YAML::Node& node, const Option& option, const std::string& value,
                     Config& config) const {
    // The kernel would take the part before it.
    const bool has_nul = value.find('\0') != std::string::npos;
    const absl::Status status =
        has_nul ? absl::InvalidArgumentError("must not have a NUL") : option.set(config, value);
    if (status.ok()) return status;
    return Error(node.Mark(), absl::StrCat(option.key, ": ", status.message()));
  }

  absl::Status ParseValue(const YAML::Node& node, const Option& option, Config& config) const {
    switch (option.kind) {
      case OptionKind::kText:
        if (!node.IsScalar()) return WrongType(node, option.key, "text");
        return SetAt(node, option, node.Scalar(), config);
      case OptionKind::kInteger:
        if (!IsPlain(node)) return WrongType(node, option.key, "an integer");
        return SetAt(node, option, node.Scalar(), config);
      case OptionKind::kTextList:
        return ParseList(node, option, config);
      case OptionKind::kGates:
        return ParseGates(node, option, config);
    }
    return absl::OkStatus();
  }

  absl::Status ParseList(const YAML::Node& node, const Option& option, Config& config) const {
    if (!node.IsSequence()) return WrongType(node, option.key, "a list of texts");
    option.clear(config);
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) return WrongType(item, option.key, "text");
      PLIMSOLL_RETURN_IF_ERROR(SetAt(item, option, item.Scalar(), config));
    }
    return absl::OkStatus();
  }

  absl::Status ParseGates(const YAML::Node& node, const Option& option, Config& config) const {
    if (!node.IsMap()) return WrongType(node, option.key, "a mapping of names to true or false");
    for (const auto& entry : node) {
      const YAML::Node& name = entry.first;
      const YAML::Node& value = entry.second;
      if (!name.IsScalar()) return WrongType(name, option.key, "the name of a gate");
      const std::string key = absl::StrCat(option.key, ".", name.Scalar());
      if (config.feature_gates.all().count(name.Scalar()) > 0 && !IsPlain(value)) {
        return WrongType(value, key, "true or false");
      }
      PLIMSOLL_RETURN_IF_ERROR(
          SetAt(name, option, absl::StrCat(name.Scalar(), "=", value.Scalar()), config));
    }
    return absl::OkStatus();
  }

  const std::string file_;
};

absl::Status CheckProgram(absl::string_view key, const std::string& path) {
  if (path.empty() || access(path.c_str(), X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(key, ": ", ErrnoStatus(errno, absl::StrCat("no program at ", path)).message()));
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  if (absl::StartsWith(path, "/")) return path;
  char buffer[PATH_MAX];
  if (getcwd(buffer, sizeof(buffer)) == nullptr) {
    return ErrnoStatus(errno, "read the working directory");
  }
  return absl::StrCat(buffer, "/", path);
}

bool IsBelow(const std::string& path, const std::string& directory) {
  return path == directory || absl::StartsWith(path, directory + "/");
}

}  // namespace

absl::StatusOr<Config> ParseConfig(absl::string_view text, absl::string_view file) {
  return Parser(file).Parse(text);
}

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string absolute, AbsolutePath(path));
  const absl::StatusOr<std::string> text = ReadRegularFile(host, absolute, kMaxFileBytes);
  if (!text.ok()) return Annotate(text.status(), "configuration " + path);
  return ParseConfig(*text, path);
}

absl::Status SetOption(Config& config, absl::string_view key, absl::string_view value) {
  for (const Option& option : Options()) {
    if (key != option.key) continue;
    if (option.kind != OptionKind::kTextList) return option.set(config, std::string(value));
    option.clear(config);
    for (absl::string_view item : absl::StrSplit(value, ',', absl::SkipEmpty())) {
      PLIMSOLL_RETURN_IF_ERROR(option.set(config, std::string(item)));
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("no configuration key '", key, "'"));
}

std::vector<OptionName> OptionNames() {
  std::vector<OptionName> names;
  for (const Option& option : Options()) names.push_back({option.key, option.help});
  return names;
}

absl::Status CheckScheduler(const Config& config) {
  if (!config.kube.socket.empty() || config.classes.from != qos::ClassesFrom::kScheduler) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "classes.from: 'scheduler' needs kube.socket, which is empty: no plimsoll-kube could tell "
      "the "
      "classes that the scheduler gives to pods");
}

absl::Status ValidateConfig(const Config& config) {
  absl::Status problems;
  const auto tell = [&problems](absl::string_view message) {
    problems = AlsoTell(problems, absl::InvalidArgumentError(message));
  };
  if (IsBelow(config.run_dir, config.state_dir) || IsBelow(config.state_dir, config.run_dir)) {
    tell(absl::StrCat("state_dir and run_dir: neither may lie in the other, found ",
                      config.state_dir, " and ", config.run_dir));
  }
  // The longest path for unix(7), less the terminating NUL and one byte: until the server is ready
  // its socket has a longer name.
  constexpr size_t kMostBytes = sizeof(sockaddr_un::sun_path) - 2;
  for (const auto& [key, path] : {std::pair("address", SocketPath(config)),
                                  std::pair("kube.socket", ClusterSocketPath(config)),
                                  std::pair("nri.socket", NriSocketPath(config))}) {
    if (path.size() <= kMostBytes) continue;
    tell(absl::StrCat(key, ": the path of a socket has at most ", kMostBytes, " bytes, ", path,
                      " has ", path.size()));
  }
  for (const auto& [keys, one, other] :
       {std::tuple("address and kube.socket", SocketPath(config), ClusterSocketPath(config)),
        std::tuple("address and nri.socket", SocketPath(config), NriSocketPath(config)),
        std::tuple("kube.socket and nri.socket", ClusterSocketPath(config),
                   NriSocketPath(config))}) {
    if (one != other || one.empty()) continue;
    tell(absl::StrCat(keys, ": the two sockets must differ, both are ", one));
  }
  const std::string cluster_group =
      config.kube.socket_group == kAutomaticGroup ? "" : config.kube.socket_group;
  for (const auto& [key, group] : {std::pair("socket_group", config.socket_group),
                                   std::pair("kube.socket_group", cluster_group)}) {
    if (group.empty() || getgrnam(group.c_str()) != nullptr) continue;
    tell(absl::StrCat(key, ": there is no group '", group,
                      "' on this machine; make it (groupadd --system ", group,
                      ") or leave it out"));
  }
  if (config.kube.socket.empty() && !cluster_group.empty()) {
    tell("kube.socket_group: kube.socket is empty, so there is no socket that it could use");
  }
  if (config.streaming.certificate.empty() != config.streaming.key.empty()) {
    tell("streaming.certificate and streaming.key: both are to be given, or neither");
  }
  for (const auto& [name, handler] : config.runtime_handlers) {
    const std::string key = absl::StrCat(kHandlers, ".", name);
    problems = AlsoTell(problems, CheckProgram(absl::StrCat(key, ".program"), handler.program));
    if (handler.update_command.empty()) continue;
    problems = AlsoTell(
        problems, CheckProgram(absl::StrCat(key, ".update_command"), handler.update_command[0]));
  }
  if (!config.registries_file.empty() && access(config.registries_file.c_str(), R_OK) != 0) {
    tell(absl::StrCat("registries.file: ",
                      ErrnoStatus(errno, absl::StrCat("read ", config.registries_file)).message()));
  }
  return AlsoTell(problems, CheckProgram("crun", config.crun));
}

std::string ClusterSocketPath(const Config& config) {
  if (config.kube.socket != "auto") return config.kube.socket;
  return absl::StrCat(config.run_dir, "/", kClusterSocketDirectory, "/cluster.sock");
}

std::string NriSocketPath(const Config& config) {
  if (!config.nri.enabled || !config.nri.external) return "";
  if (config.nri.socket != "auto") return config.nri.socket;
  // Where plugins look for it; other daemons on the machine are not the ones that they mean.
  if (config.run_dir == Config().run_dir) return "/var/run/nri/nri.sock";
  return absl::StrCat(config.run_dir, "/nri/nri.sock");
}

std::string SocketPath(const Config& config) {
  if (config.address.empty()) return config.run_dir + "/plimsoll.sock";
  return std::string(absl::StripPrefix(config.address, "unix://"));
}

}  // namespace plimsoll::daemon
