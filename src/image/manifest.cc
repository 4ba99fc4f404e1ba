#include "image/manifest.h"

#include <sys/utsname.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "image/names/digest.h"
#include "nlohmann/json.hpp"

namespace plimsoll::image {
namespace {

using Json = nlohmann::json;

absl::Status Wrong(absl::string_view what, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", why));
}

absl::StatusOr<Json> ParseJson(absl::string_view text, absl::string_view what) {
  if (text.size() > kMaxDocumentBytes) {
    return Wrong(what, absl::StrCat("has more than ", kMaxDocumentBytes, " bytes"));
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Wrong(what, "is not JSON");
  return json;
}

absl::StatusOr<Json> ParseObject(absl::string_view text, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(Json json, ParseJson(text, what));
  if (!json.is_object()) return Wrong(what, "is not a JSON object");
  return json;
}

// The kernel would take of a text what is before a NUL byte.
bool IsText(const Json& value) {
  return value.is_string() &&
         !absl::StrContains(value.get_ref<const std::string&>(), absl::string_view("\0", 1));
}

// Members of one JSON object. It remembers the first wrong type, so that a caller reads a whole
// object and checks once. Missing and null members keep their default: Docker writes null for empty
// lists.
class Members {
 public:
  Members(const Json& object, absl::string_view what) : object_(object), what_(what) {
    if (!object.is_object()) status_ = Wrong(what, "is not an object");
  }

  const Json* Get(const char* name) {
    if (!status_.ok()) return nullptr;
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }

  std::string String(const char* name) {
    const Json* value = Get(name);
    if (value == nullptr) return "";
    if (!IsText(*value)) return Fail(name, "a string without a NUL byte"), "";
    return value->get<std::string>();
  }

  uint64_t Number(const char* name) {
    const Json* value = Get(name);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned()) return Fail(name, "a number from 0"), 0;
    return value->get<uint64_t>();
  }

  std::vector<std::string> Strings(const char* name) {
    std::vector<std::string> strings;
    const Json* value = Get(name);
    if (value == nullptr) return strings;
    if (!value->is_array()) return Fail(name, "a list of strings"), strings;
    for (const Json& element : *value) {
      if (!IsText(element)) return Fail(name, "a list of strings without NUL bytes"), strings;
      strings.push_back(element.get<std::string>());
    }
    return strings;
  }

  std::map<std::string, std::string> StringMap(const char* name) {
    std::map<std::string, std::string> map;
    const Json* value = Get(name);
    if (value == nullptr) return map;
    if (!value->is_object()) return Fail(name, "an object of strings"), map;
    for (const auto& [key, element] : value->items()) {
      if (!element.is_string()) return Fail(name, "an object of strings"), map;
      map[key] = element.get<std::string>();
    }
    return map;
  }

  std::vector<std::string> Keys(const char* name) {
    std::vector<std::string> keys;
    const Json* value = Get(name);
    if (value == nullptr) return keys;
    if (!value->is_object()) return Fail(name, "an object"), keys;
    for (const auto& [key, element] : value->items()) {
      if (absl::StrContains(key, '\0')) return Fail(name, "an object without NUL bytes"), keys;
      keys.push_back(key);
    }
    return keys;
  }

  // The elements of a list, or nothing.
  const Json& List(const char* name) {
    static const Json empty = Json::array();
    const Json* value = Get(name);
    if (value == nullptr) return empty;
    if (!value->is_array()) return Fail(name, "a list"), empty;
    return *value;
  }

  const Json& Object(const char* name) {
    static const Json empty = Json::object();
    const Json* value = Get(name);
    if (value == nullptr) return empty;
    if (!value->is_object()) return Fail(name, "an object"), empty;
    return *value;
  }

  const absl::Status& status() const { return status_; }

 private:
  void Fail(const char* name, absl::string_view expected) {
    if (status_.ok()) status_ = Wrong(what_, absl::StrCat("\"", name, "\" is not ", expected));
  }

  const Json& object_;
  const std::string what_;
  absl::Status status_;
};

// Docker's save and the OCI layout name an image in different annotations.
std::vector<std::string> NamesOf(const std::map<std::string, std::string>& annotations) {
  std::vector<std::string> names;
  for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"}) {
    const auto it = annotations.find(key);
    if (it != annotations.end() && !it->second.empty()) names.push_back(it->second);
  }
  return names;
}

absl::StatusOr<Descriptor> ParseDescriptor(const Json& json, const std::string& what) {
  Members members(json, what);
  Descriptor descriptor;
  descriptor.media_type = members.String("mediaType");
  descriptor.digest = members.String("digest");
  descriptor.size = members.Number("size");
  descriptor.names = NamesOf(members.StringMap("annotations"));
  Members platform(members.Object("platform"), absl::StrCat(what, ": \"platform\""));
  PLIMSOLL_RETURN_IF_ERROR(members.status());
  descriptor.platform = {platform.String("os"), platform.String("architecture"),
                         platform.String("variant")};
  PLIMSOLL_RETURN_IF_ERROR(platform.status());
  PLIMSOLL_RETURN_IF_ERROR(CheckDigest(descriptor.digest, what));
  return descriptor;
}

absl::StatusOr<std::vector<Descriptor>> ParseDescriptors(const Json& list, absl::string_view what,
                                                         absl::string_view element) {
  std::vector<Descriptor> descriptors;
  for (const Json& json : list) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        Descriptor descriptor,
        ParseDescriptor(json, absl::StrCat(what, ": ", element, " ", descriptors.size() + 1)));
    descriptors.push_back(std::move(descriptor));
  }
  return descriptors;
}

bool IsLayerType(absl::string_view media_type) {
  if (media_type.empty()) return true;
  for (absl::string_view suffix : {"", "+gzip", "+zstd", ".gzip", ".zstd"}) {
    if (media_type == absl::StrCat("application/vnd.oci.image.layer.v1.tar", suffix) ||
        media_type ==
            absl::StrCat("application/vnd.oci.image.layer.nondistributable.v1.tar", suffix) ||
        media_type == absl::StrCat("application/vnd.docker.image.rootfs.diff.tar", suffix) ||
        media_type ==
            absl::StrCat("application/vnd.docker.image.rootfs.foreign.diff.tar", suffix)) {
      return true;
    }
  }
  return false;
}

bool IsConfigType(absl::string_view media_type) {
  return media_type.empty() || media_type == "application/vnd.oci.image.config.v1+json" ||
         media_type == "application/vnd.docker.container.image.v1+json";
}

// The psABI's level, 1 to 4, from those of its features that the compiler can ask for.
int LevelOfX86() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("ssse3") ||
      !__builtin_cpu_supports("popcnt")) {
    return 1;
  }
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("fma")) {
    return 2;
  }
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_avx512 ? 4 : 3;
#else
  return 1;
#endif
}

std::string Architecture(absl::string_view machine) {
  constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {
      {"x86_64", "amd64"},    {"aarch64", "arm64"}, {"armv7l", "arm"},
      {"armv6l", "arm"},      {"i686", "386"},      {"i586", "386"},
      {"ppc64le", "ppc64le"}, {"s390x", "s390x"},   {"riscv64", "riscv64"}};
  for (const auto& [from, to] : kNames) {
    if (machine == from) return std::string(to);
  }
  return std::string(machine);
}

}  // namespace

std::string Platform::ToString() const {
  return absl::StrCat(os.empty() ? "any" : os, "/", architecture.empty() ? "any" : architecture,
                      variant.empty() ? "" : "/", variant);
}

Platform HostPlatform() {
  struct utsname name = {};
  uname(&name);
  return Platform{"linux", Architecture(name.machine), ""};
}

std::string ForeignArchitecture(const ImageConfig& config) {
  const std::string& theirs = config.architecture;
  const std::string ours = HostPlatform().architecture;
  const bool is_run = theirs.empty() || theirs == ours || (theirs == "386" && ours == "amd64") ||
                      (theirs == "arm" && ours == "arm64");
  return is_run ? "" : absl::CEscape(theirs.substr(0, 40));
}

std::vector<std::string> HostVariants() {
  struct utsname name = {};
  uname(&name);
  const absl::string_view machine = name.machine;
  if (machine == "x86_64") {
    std::vector<std::string> variants = {"v4", "v3", "v2", "v1", ""};
    variants.erase(variants.begin(), variants.begin() + (4 - LevelOfX86()));
    return variants;
  }
  if (machine == "aarch64") return {"v8", ""};
  if (machine == "armv7l") return {"v7", "v6", "v5", ""};
  if (machine == "armv6l") return {"v6", "v5", ""};
  return {""};
}

absl::StatusOr<bool> IsIndex(absl::string_view text, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(text, what));
  // A document that can be read as either is a known trick to show two readers different images.
  if (json.contains("manifests") && (json.contains("layers") || json.contains("config"))) {
    return Wrong(what, "is an index and a manifest at once");
  }
  return json.contains("manifests");
}

absl::StatusOr<std::vector<Descriptor>> ParseIndex(absl::string_view text, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(text, what));
  Members members(json, what);
  const Json& manifests = members.List("manifests");
  PLIMSOLL_RETURN_IF_ERROR(members.status());
  if (manifests.empty()) return Wrong(what, "lists no manifests");
  return ParseDescriptors(manifests, what, "manifest");
}

absl::StatusOr<ImageManifest> ParseManifest(absl::string_view text, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(text, what));
  Members members(json, what);
  const uint64_t version = members.Number("schemaVersion");
  const Json& config = members.Object("config");
  const Json& layers = members.List("layers");
  PLIMSOLL_RETURN_IF_ERROR(members.status());
  if (version == 1) {
    return Wrong(what, "has Docker's obsolete schema 1; push the image again");
  }
  if (config.empty()) return Wrong(what, "\"config\" is missing");
  if (layers.size() > kMaxLayers) {
    return Wrong(what, absl::StrCat("has ", layers.size(), " layers; valid are ", kMaxLayers));
  }
  ImageManifest manifest;
  PLIMSOLL_ASSIGN_OR_RETURN(manifest.config,
                            ParseDescriptor(config, absl::StrCat(what, ": \"config\"")));
  PLIMSOLL_ASSIGN_OR_RETURN(manifest.layers, ParseDescriptors(layers, what, "layer"));
  if (manifest.layers.empty() && !IsConfigType(manifest.config.media_type)) {
    return Wrong(what,
                 absl::StrCat("is no container image: it has no layers and a config of type \"",
                              absl::CEscape(manifest.config.media_type.substr(0, 200)), "\""));
  }
  for (const Descriptor& layer : manifest.layers) {
    if (IsLayerType(layer.media_type)) continue;
    return Wrong(what, absl::StrCat("is no container image: it has a layer of type \"",
                                    absl::CEscape(layer.media_type.substr(0, 200)), "\""));
  }
  return manifest;
}

absl::StatusOr<ConfigFile> ParseConfigFile(absl::string_view text, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(text, what));
  Members members(json, what);
  ConfigFile file;
  file.config.architecture = members.String("architecture");
  file.config.os = members.String("os");
  const Json& config_json = members.Object("config");
  const Json& rootfs_json = members.Object("rootfs");
  PLIMSOLL_RETURN_IF_ERROR(members.status());

  Members config(config_json, absl::StrCat(what, ": \"config\""));
  file.config.entrypoint = config.Strings("Entrypoint");
  file.config.command = config.Strings("Cmd");
  file.config.environment = config.Strings("Env");
  file.config.user = config.String("User");
  file.config.working_directory = config.String("WorkingDir");
  file.config.stop_signal = config.String("StopSignal");
  file.config.volumes = config.Keys("Volumes");
  file.config.labels = config.StringMap("Labels");
  PLIMSOLL_RETURN_IF_ERROR(config.status());

  Members rootfs(rootfs_json, absl::StrCat(what, ": \"rootfs\""));
  file.diff_ids = rootfs.Strings("diff_ids");
  PLIMSOLL_RETURN_IF_ERROR(rootfs.status());
  for (const std::string& diff_id : file.diff_ids) {
    PLIMSOLL_RETURN_IF_ERROR(CheckDigest(diff_id, absl::StrCat(what, ": \"diff_ids\"")));
  }
  if (!file.config.os.empty() && file.config.os != "linux") {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": the image is for ", absl::CEscape(file.config.os), ", not linux"));
  }
  return file;
}

absl::StatusOr<std::vector<DockerArchiveImage>> ParseDockerArchive(absl::string_view text,
                                                                   absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseJson(text, what));
  if (!json.is_array()) return Wrong(what, "is not a list of images");
  std::vector<DockerArchiveImage> images;
  for (const Json& element : json) {
    Members members(element, absl::StrCat(what, ": image ", images.size() + 1));
    DockerArchiveImage image;
    image.config = members.String("Config");
    image.names = members.Strings("RepoTags");
    image.layers = members.Strings("Layers");
    PLIMSOLL_RETURN_IF_ERROR(members.status());
    if (image.config.empty() || image.layers.size() > kMaxLayers) {
      return Wrong(what,
                   absl::StrCat("image ", images.size() + 1, " needs a \"Config\" and at most ",
                                kMaxLayers, " \"Layers\""));
    }
    images.push_back(std::move(image));
  }
  if (images.empty()) return Wrong(what, "lists no images");
  return images;
}

std::string PlainConfigFile(absl::string_view diff_id) {
  const Platform host = HostPlatform();
  const Json json = {{"architecture", host.architecture},
                     {"os", host.os},
                     {"config", Json::object()},
                     {"rootfs", {{"type", "layers"}, {"diff_ids", {std::string(diff_id)}}}}};
  return json.dump();
}

}  // namespace plimsoll::image
