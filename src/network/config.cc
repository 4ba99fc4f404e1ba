#include "network/config.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "network/json.h"

namespace plimsoll::network {
namespace {

constexpr const char* kVersions[] = {"0.3.1", "0.4.0", "1.0.0", "1.1.0"};
constexpr size_t kMaxPlugins = 32;
constexpr size_t kMaxCapabilities = 64;
constexpr size_t kMaxNameBytes = 255;  // it becomes part of files' names
// In a list, as records hold it, a single plugin's object is nested deeper.
constexpr size_t kMaxConfDepth = 32;
constexpr size_t kMaxListDepth = kMaxConfDepth + 2;

// Specification 1.0.0: begins with a letter or digit, then also "_", "." and "-".
absl::Status CheckNetworkName(const std::string& name) {
  const bool valid = !name.empty() && name.size() <= kMaxNameBytes &&
                     absl::ascii_isalnum(name[0]) && absl::c_all_of(name, [](unsigned char c) {
                       return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
                     });
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("name: \"", OneLine(name), "\" is no network's name: one has letters, digits, ",
                   "'_', '.' and '-', begins with a letter or digit, and is no longer than ",
                   kMaxNameBytes, " bytes"));
}

// The type is looked up in directories, and must not lead out of them.
absl::Status CheckType(const std::string& type) {
  const bool valid =
      !type.empty() && type.size() <= kMaxNameBytes && type != "." && type != ".." &&
      absl::c_all_of(type, [](unsigned char c) { return absl::ascii_isgraph(c) && c != '/'; });
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "type: \"", OneLine(type), "\" is no name of a program: a plugin needs one, without '/'"));
}

absl::StatusOr<PluginConfig> ReadPlugin(const Json& object) {
  PluginConfig plugin;
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, "type", &plugin.type));
  PLIMSOLL_RETURN_IF_ERROR(CheckType(plugin.type));
  const auto declared = object.find("capabilities");
  if (declared != object.end() && !declared->is_null()) {
    if (!declared->is_object() || declared->size() > kMaxCapabilities) {
      return absl::InvalidArgumentError(absl::StrCat("capabilities: expected an object of at most ",
                                                     kMaxCapabilities,
                                                     " names with true or false"));
    }
    for (const auto& [name, has] : declared->items()) {
      if (!has.is_boolean()) {
        return absl::InvalidArgumentError(
            absl::StrCat("capabilities.", OneLine(name), ": expected true or false"));
      }
      if (has.get<bool>()) plugin.capabilities.insert(name);
    }
  }
  plugin.json = Dump(object);
  return plugin;
}

// cniVersions (specification 1.1.0): all versions that the file is valid for.
absl::StatusOr<Version> ReadVersion(const Json& object) {
  std::vector<std::string> names;
  PLIMSOLL_RETURN_IF_ERROR(ReadTexts(object, "cniVersions", 64, &names));
  std::string single;
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, "cniVersion", &single));
  if (names.empty()) {
    const absl::StatusOr<Version> version = ParseVersion(single);
    return version.ok() ? version : Annotate(version.status(), "cniVersion");
  }
  if (!single.empty()) names.push_back(single);
  std::optional<Version> highest;
  for (const std::string& name : names) {
    const absl::StatusOr<Version> version = ParseVersion(name);
    if (version.ok() && (!highest.has_value() || *version > *highest)) highest = *version;
  }
  if (highest.has_value()) return *highest;
  return absl::InvalidArgumentError(absl::StrCat("cniVersions: none of ",
                                                 OneLine(absl::StrJoin(names, ", ")), " is one of ",
                                                 absl::StrJoin(kVersions, ", ")));
}

absl::Status ReadConf(const Json& object, NetworkConfig& config) {
  if (object.contains("plugins")) {
    return absl::InvalidArgumentError(
        "plugins: a list of plugins belongs into a file that ends in .conflist");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(PluginConfig plugin, ReadPlugin(object));
  config.plugins.push_back(std::move(plugin));
  return absl::OkStatus();
}

// Strings are of versions before 1.0.0.
absl::Status ReadSwitch(const Json& object, const char* key, bool* out) {
  const auto value = object.find(key);
  if (value == object.end() || !value->is_string()) return ReadBool(object, key, out);
  const std::string text = absl::AsciiStrToLower(value->get<std::string>());
  if (text != "true" && text != "false") {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": expected true or false, found \"", OneLine(text), "\""));
  }
  *out = text == "true";
  return absl::OkStatus();
}

absl::Status AddInlined(const Json& list, std::vector<PluginConfig>& plugins) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<const Json*> objects,
                            ReadObjects(list, "plugins", kMaxPlugins));
  for (const Json* object : objects) {
    absl::StatusOr<PluginConfig> plugin = ReadPlugin(*object);
    if (!plugin.ok()) {
      return Annotate(plugin.status(), absl::StrCat("plugins[", plugins.size(), "]"));
    }
    plugins.push_back(*std::move(plugin));
  }
  return absl::OkStatus();
}

absl::StatusOr<PluginConfig> ParsePluginFile(const PluginFile& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(file.text, kMaxConfDepth));
  return ReadPlugin(json);
}

absl::Status AddBeside(const FilesBeside& beside, const std::string& network,
                       std::vector<PluginConfig>& plugins) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<PluginFile> files, beside(network));
  if (plugins.size() + files.size() > kMaxPlugins) {
    return absl::InvalidArgumentError(absl::StrCat("plugins: ", plugins.size(), " here and ",
                                                   files.size(), " in ", network, "/, more than ",
                                                   kMaxPlugins));
  }
  for (const PluginFile& file : files) {
    absl::StatusOr<PluginConfig> plugin = ParsePluginFile(file);
    if (!plugin.ok()) return Annotate(plugin.status(), absl::StrCat(network, "/", file.name));
    plugins.push_back(*std::move(plugin));
  }
  return absl::OkStatus();
}

absl::Status ReadList(const Json& list, const FilesBeside& beside, NetworkConfig& config) {
  bool only_inlined = beside == nullptr;
  PLIMSOLL_RETURN_IF_ERROR(ReadSwitch(list, "loadOnlyInlinedPlugins", &only_inlined));
  PLIMSOLL_RETURN_IF_ERROR(ReadSwitch(list, "disableCheck", &config.disable_check));
  PLIMSOLL_RETURN_IF_ERROR(ReadSwitch(list, "disableGC", &config.disable_gc));
  PLIMSOLL_RETURN_IF_ERROR(AddInlined(list, config.plugins));
  if (beside != nullptr && !only_inlined) {
    PLIMSOLL_RETURN_IF_ERROR(AddBeside(beside, config.name, config.plugins));
  }
  if (!config.plugins.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "plugins: at least one is needed, ",
      only_inlined ? "in the list" : absl::StrCat("in the list or as ", config.name, "/*.conf")));
}

}  // namespace

bool Declares(const NetworkConfig& config, const std::string& capability) {
  return absl::c_any_of(config.plugins, [&](const PluginConfig& plugin) {
    return plugin.capabilities.contains(capability);
  });
}

const char* VersionName(Version version) {
  return kVersions[static_cast<size_t>(version)];
}

absl::StatusOr<Version> ParseVersion(absl::string_view text) {
  for (size_t i = 0; i < std::size(kVersions); ++i) {
    if (text == kVersions[i]) return static_cast<Version>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      text.empty() ? "is missing" : absl::StrCat("\"", OneLine(text), "\" is not supported"),
      "; use one of ", absl::StrJoin(kVersions, ", ")));
}

absl::StatusOr<NetworkConfig> ParseConfig(absl::string_view text, ConfigFormat format,
                                          const FilesBeside& beside) {
  if (text.size() > kMaxConfigBytes) {
    return absl::InvalidArgumentError(absl::StrCat("larger than ", kMaxConfigBytes, " bytes"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      const Json json,
      ParseObject(text, format == ConfigFormat::kConf ? kMaxConfDepth : kMaxListDepth));
  NetworkConfig config;
  PLIMSOLL_ASSIGN_OR_RETURN(config.version, ReadVersion(json));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "name", &config.name));
  PLIMSOLL_RETURN_IF_ERROR(CheckNetworkName(config.name));
  PLIMSOLL_RETURN_IF_ERROR(format == ConfigFormat::kConf ? ReadConf(json, config)
                                                         : ReadList(json, beside, config));
  // The record must be readable again.
  if (ToJson(config).size() > kMaxConfigBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("with all plugins larger than ", kMaxConfigBytes, " bytes"));
  }
  return config;
}

std::string ToJson(const NetworkConfig& config) {
  Json json;
  json["cniVersion"] = VersionName(config.version);
  json["name"] = config.name;
  json["disableCheck"] = config.disable_check;
  json["disableGC"] = config.disable_gc;
  json["plugins"] = Json::array();
  for (const PluginConfig& plugin : config.plugins) {
    json["plugins"].push_back(Json::parse(plugin.json, nullptr, /*allow_exceptions=*/false));
  }
  return Dump(json);
}

}  // namespace plimsoll::network
