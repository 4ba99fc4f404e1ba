#include "runtime/handlers/handler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace plimsoll::runtime {
namespace {

constexpr char kKata[] = "io.katacontainers.config.hypervisor.";
constexpr int kLongestUpdate = 600;

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

bool IsProgram(const std::string& path) {
  return absl::StartsWith(path, "/") && !absl::EndsWith(path, "/") &&
         path.find('\0') == std::string::npos;
}

// False for names that users must not choose: orders to crun make their author root.
bool MayBeAnnotation(const std::string& name) {
  return name.size() <= 253 && !absl::StartsWith(name, "run.oci.") &&
         !absl::StartsWith(name, "plimsoll.dev/pod-resources");
}

class HandlerReader {
 public:
  HandlerReader(YamlReader& reader, const YAML::Node& node, const std::string& path)
      : reader_(reader), map_(reader, node, path) {}

  Handler Read() {
    map_.String("program", handler_.program);
    if (!handler_.program.empty() && !IsProgram(handler_.program)) {
      Fail("program", "expected the absolute path of an OCI runtime");
    }
    std::string kind = "container";
    map_.OneOf("kind", kind, {"container", "vm"});
    handler_.is_vm = kind == "vm";
    std::string resources = "adjustable";
    map_.OneOf("resources", resources, {"adjustable", "fixed"});
    handler_.is_fixed = resources == "fixed";
    std::string plug = "hot";
    map_.OneOf("plug", plug, {"hot", "cold", "none"});
    handler_.plug = plug == "hot" ? Plug::kHot : plug == "cold" ? Plug::kCold : Plug::kNone;
    if (handler_.is_vm)
      handler_.resource_annotations = {{"sgx.intel.com/epc", "sgx.intel.com/epc"}};
    ReadPorts();
    ReadAnnotations();
    map_.Strings("update_command", handler_.update_command);
    if (!handler_.update_command.empty() && !IsProgram(handler_.update_command[0])) {
      Fail("update_command", "expected the absolute path of a program and its arguments");
    }
    std::optional<int64_t> timeout;
    map_.Int("update_timeout", timeout, 1, kLongestUpdate);
    if (timeout) handler_.update_timeout_seconds = static_cast<int>(*timeout);
    map_.Finish();
    CheckWhole();
    return std::move(handler_);
  }

 private:
  void Fail(const std::string& key, absl::string_view message) {
    reader_.Fail(map_.node(), map_.PathOf(key), message);
  }

  void ReadPorts() {
    const auto node = map_.Get("ports");
    if (!node) return;
    reader_.Entries(*node, map_.PathOf("ports"),
                    [this](const std::string& key, const YAML::Node& value,
                           const std::string& path) { ReadPort(key, value, path); });
  }

  void ReadPort(const std::string& key, const YAML::Node& value, const std::string& path) {
    const std::optional<std::string> kind = reader_.AsString(value, path);
    if (!kind) return;
    absl::string_view digits = key;
    const bool hex = absl::ConsumePrefix(&digits, "0x");
    const bool is_class = hex && !digits.empty() && digits.size() <= 6 &&
                          std::all_of(digits.begin(), digits.end(), [](char c) {
                            return absl::ascii_isxdigit(static_cast<unsigned char>(c));
                          });
    if (key != "default" && !is_class) {
      return reader_.Fail(value, path,
                          "expected \"default\" or the beginning of a PCI class, as in \"0x0302\"");
    }
    const std::string prefix = key == "default" ? "" : absl::AsciiStrToLower(digits);
    for (const PortKind known : {PortKind::kNone, PortKind::kRoot, PortKind::kSwitch}) {
      if (*kind != PortKindName(known)) continue;
      handler_.ports[prefix] = known;
      return;
    }
    reader_.Fail(value, path, "expected root-port, switch-port or no-port");
  }

  void ReadAnnotations() {
    map_.StringMap("annotations", handler_.annotations);
    for (const auto& [what, annotation] : handler_.annotations) {
      if (!DefaultAnnotations().contains(what)) {
        std::vector<std::string> valid;
        for (const auto& [name, unused] : DefaultAnnotations()) valid.push_back(name);
        Fail("annotations",
             absl::StrCat("unknown key ", what, ", valid here: ", absl::StrJoin(valid, ", ")));
      }
      if (!MayBeAnnotation(annotation))
        Fail("annotations", absl::StrCat(annotation, " can't be set"));
    }
    map_.StringMap("resource_annotations", handler_.resource_annotations);
    for (const auto& [resource, annotation] : handler_.resource_annotations) {
      if (!MayBeAnnotation(annotation)) {
        Fail("resource_annotations", absl::StrCat(annotation, " can't be set"));
      }
    }
  }

  // The runtime would see one of two values in one annotation.
  void CheckNames() {
    std::map<std::string, std::string> told;  // annotation -> kind of information
    const auto add = [&](const std::string& what, const std::string& annotation, const char* key) {
      if (annotation.empty()) return;
      const auto [other, is_new] = told.emplace(annotation, what);
      if (!is_new) {
        Fail(key, absl::StrCat(other->second, " and ", what, " both name the annotation ",
                               annotation, "; an annotation carries only one of them"));
      }
    };
    // Only one of these two annotations is ever written.
    const std::string other_plug = handler_.plug == Plug::kHot ? "cold_plug_vfio" : "hot_plug_vfio";
    for (const auto& [what, unused] : DefaultAnnotations()) {
      if (what == other_plug) continue;
      add(absl::StrCat("annotations.", what), handler_.AnnotationFor(what), "annotations");
    }
    for (const auto& [resource, annotation] : handler_.resource_annotations) {
      add(absl::StrCat("resource_annotations.", resource), annotation, "resource_annotations");
    }
  }

  // Refuses keys that have no meaning for its kind.
  void CheckWhole() {
    if (handler_.is_vm) return CheckNames();
    for (const char* key : {"plug", "ports", "annotations", "resource_annotations",
                            "update_command", "update_timeout"}) {
      if (map_.Get(key)) Fail(key, "needs kind: vm beside it");
    }
  }

  YamlReader& reader_;
  YamlMapping map_;
  Handler handler_;
};

}  // namespace

const char* PortKindName(PortKind kind) {
  switch (kind) {
    case PortKind::kNone:
      return "no-port";
    case PortKind::kRoot:
      return "root-port";
    case PortKind::kSwitch:
      return "switch-port";
  }
  return "no-port";
}

const std::map<std::string, std::string>& DefaultAnnotations() {
  static const auto* const kNames = new std::map<std::string, std::string>{
      {"cpu_period", "io.kubernetes.cri.sandbox-cpu-period"},
      {"cpu_quota", "io.kubernetes.cri.sandbox-cpu-quota"},
      {"cpu_shares", "io.kubernetes.cri.sandbox-cpu-shares"},
      {"memory", "io.kubernetes.cri.sandbox-memory"},
      {"default_vcpus", absl::StrCat(kKata, "default_vcpus")},
      {"default_memory", absl::StrCat(kKata, "default_memory")},
      {"enable_hugepages", absl::StrCat(kKata, "enable_hugepages")},
      {"pcie_root_port", absl::StrCat(kKata, "pcie_root_port")},
      {"pcie_switch_port", absl::StrCat(kKata, "pcie_switch_port")},
      {"hot_plug_vfio", absl::StrCat(kKata, "hot_plug_vfio")},
      {"cold_plug_vfio", absl::StrCat(kKata, "cold_plug_vfio")},
      {"size", "plimsoll.dev/sandbox-size"}};
  return *kNames;
}

std::string Handler::AnnotationFor(const std::string& what) const {
  const auto own = annotations.find(what);
  return own == annotations.end() ? DefaultAnnotations().at(what) : own->second;
}

void ReadHandlers(YamlReader& reader, const YAML::Node& node, const std::string& path,
                  HandlerMap* handlers) {
  reader.Entries(node, path,
                 [&](const std::string& name, const YAML::Node& value, const std::string& at) {
                   if (!IsName(name)) {
                     reader.Fail(value, at, "expected a name of letters, digits, -, _ and .");
                     return;
                   }
                   (*handlers)[name] = HandlerReader(reader, value, at).Read();
                 });
}

}  // namespace plimsoll::runtime
