#include "cdi/spec.h"

#include <linux/limits.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "base/text/quoted.h"
#include "cdi/json_reader.h"
#include "cdi/names.h"

namespace plimsoll::cdi {
namespace {

using Json = nlohmann::json;

// The accepted versions 0.<minor>; 1.0 has the same members as 0.8.
constexpr int kFirstMinor = 3;
constexpr int kLastMinor = 8;

class SpecReader {
 public:
  SpecReader(absl::string_view file, Spec* spec) : reader_(file), spec_(*spec) {}

  absl::Status Read(const Json& document) {
    JsonObject top(reader_, document, "");
    // Read first, so that a bad file's kind is known.
    top.Required("kind", spec_.kind);
    if (const absl::Status kind = CheckKind(spec_.kind); !kind.ok()) {
      top.Fail("kind", kind.message());
      spec_.kind.clear();
    }
    ReadVersion(top);
    const bool dotted = absl::StrContains(spec_.kind.substr(spec_.kind.find('/') + 1), ".");
    if (dotted) Since(6, top.PlaceOf("kind"), "a class with \".\" in it");
    Annotations(top);
    if (const Json* edits = top.Get("containerEdits")) {
      spec_.edits = Edits(*edits, top.PlaceOf("containerEdits"));
    }
    top.Each("devices",
             [this](const Json& value, const std::string& place) { ReadDevice(value, place); });
    if (spec_.devices.empty()) top.Fail("devices", "is missing, and must have at least one device");
    top.Finish();
    return reader_.status();
  }

 private:
  void ReadVersion(JsonObject& top) {
    std::string version;
    top.Required("cdiVersion", version);
    const std::vector<absl::string_view> parts =
        absl::StrSplit(absl::StripPrefix(version, "v"), '.');
    int numbers[3] = {-1, -1, -1};
    bool good = parts.size() == 3;
    for (size_t i = 0; good && i < 3; ++i) {
      good = !parts[i].empty() && parts[i].size() < 6 &&
             absl::c_all_of(parts[i], absl::ascii_isdigit) &&
             absl::SimpleAtoi(parts[i], &numbers[i]);
    }
    const auto [major, minor, patch] = numbers;
    good = good && ((major == 0 && minor >= kFirstMinor && minor <= kLastMinor) ||
                    (major == 1 && minor == 0));
    if (!good) {
      return top.Fail(
          "cdiVersion",
          absl::StrCat(Quoted(version), " is not supported; valid are 0.3.0 to 0.8.0 and 1.0.0"));
    }
    minor_ = major == 1 ? kLastMinor : minor;
  }

  // Refuses members newer than the file's version: other readers would not understand them.
  void Since(int minor, absl::string_view place, absl::string_view what) {
    if (minor_ >= minor) return;
    reader_.Fail(place, absl::StrCat(what, " needs cdiVersion 0.", minor, ".0 or later"));
  }

  void Annotations(JsonObject& object) {
    const Json* annotations = object.Get("annotations");
    if (annotations == nullptr) return;
    Since(6, object.PlaceOf("annotations"), "annotations");
    if (!annotations->is_object() ||
        !absl::c_all_of(*annotations, [](const Json& value) { return value.is_string(); })) {
      object.Fail("annotations", "must be an object of strings");
    }
  }

  void ReadDevice(const Json& value, const std::string& place) {
    JsonObject object(reader_, value, place);
    std::string name;
    object.Required("name", name);
    if (const absl::Status good = CheckName(name); !good.ok()) object.Fail("name", good.message());
    if (!name.empty() && absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
      Since(5, object.PlaceOf("name"), "a name that begins with a digit");
    }
    Annotations(object);
    ContainerEdits edits;
    if (const Json* written = object.Get("containerEdits")) {
      edits = Edits(*written, object.PlaceOf("containerEdits"));
    }
    if (edits.empty()) object.Fail("containerEdits", "is empty: the device would change nothing");
    object.Finish();
    if (!spec_.devices.emplace(name, std::move(edits)).second) {
      object.Fail("name", absl::StrCat("\"", name, "\" is there twice"));
    }
  }

  ContainerEdits Edits(const Json& value, const std::string& place) {
    JsonObject object(reader_, value, place);
    ContainerEdits edits;
    object.Strings("env", edits.env);
    CheckEnv(edits.env, object.PlaceOf("env"));
    object.Each("deviceNodes", [&](const Json& each, const std::string& at) {
      edits.device_nodes.push_back(ReadNode(each, at));
    });
    object.Each("mounts", [&](const Json& each, const std::string& at) {
      edits.mounts.push_back(ReadMount(each, at));
    });
    object.Each("hooks", [&](const Json& each, const std::string& at) {
      edits.hooks.push_back(ReadHook(each, at));
    });
    ReadGids(object, edits);
    if (const Json* rdt = object.Get("intelRdt")) {
      edits.intel_rdt = ReadRdt(*rdt, object.PlaceOf("intelRdt"));
    }
    object.Finish();
    return edits;
  }

  void ReadGids(JsonObject& object, ContainerEdits& edits) {
    object.Each("additionalGids", [&](const Json& each, const std::string& at) {
      Since(7, at, "additionalGids");
      const int64_t gid = each.is_number_integer() ? each.get<int64_t>() : -1;
      if (gid < 0 || gid >= 4294967295) {
        return reader_.Fail(at, "expected a group, 0 to 4294967294");
      }
      edits.additional_gids.push_back(static_cast<uint32_t>(gid));
    });
  }

  void CheckEnv(const std::vector<std::string>& env, const std::string& place) {
    for (size_t i = 0; i < env.size(); ++i) {
      if (env[i].find('=') != std::string::npos && env[i][0] != '=') continue;
      reader_.Fail(absl::StrCat(place, "[", i, "]"), "must be NAME=value");
    }
  }

  void CheckPath(JsonObject& object, const char* key, const std::string& path) {
    if (absl::StartsWith(path, "/") && path.size() < PATH_MAX) return;
    object.Fail(key, "must be an absolute path");
  }

  DeviceNode ReadNode(const Json& value, const std::string& place) {
    JsonObject object(reader_, value, place);
    DeviceNode node;
    object.Required("path", node.path);
    CheckPath(object, "path", node.path);
    object.String("hostPath", node.host_path);
    if (!node.host_path.empty()) {
      Since(5, object.PlaceOf("hostPath"), "hostPath");
      CheckPath(object, "hostPath", node.host_path);
    }
    object.String("type", node.type);
    if (!absl::c_linear_search(std::vector<std::string>{"", "b", "c", "u", "p"}, node.type)) {
      object.Fail("type", "must be b, c, u or p");
    }
    object.Int("major", node.major);
    object.Int("minor", node.minor);
    // A dev_t has 12 and 20 bits.
    if (node.major.value_or(0) < 0 || node.major.value_or(0) > 0xfff) {
      object.Fail("major", "must be 0 to 4095");
    }
    if (node.minor.value_or(0) < 0 || node.minor.value_or(0) > 0xfffff) {
      object.Fail("minor", "must be 0 to 1048575");
    }
    object.UInt32("fileMode", node.file_mode);
    // Vendors copy st_mode with its file type bits.
    if (node.file_mode.value_or(0) > 0177777) object.Fail("fileMode", "is no mode of a file");
    object.String("permissions", node.permissions);
    if (node.permissions.find_first_not_of("rwm") != std::string::npos) {
      object.Fail("permissions", "must be made of r, w and m");
    }
    object.UInt32("uid", node.uid);
    object.UInt32("gid", node.gid);
    object.Finish();
    return node;
  }

  CdiMount ReadMount(const Json& value, const std::string& place) {
    JsonObject object(reader_, value, place);
    CdiMount mount;
    object.Required("hostPath", mount.host_path);
    object.Required("containerPath", mount.container_path);
    CheckPath(object, "containerPath", mount.container_path);
    if (NormalPath(mount.container_path) == "/") {
      object.Fail("containerPath", "must not be the container's root");
    }
    object.String("type", mount.type);
    if (!mount.type.empty()) Since(4, object.PlaceOf("type"), "a mount's type");
    if (mount.type.empty() || mount.type == "bind") CheckPath(object, "hostPath", mount.host_path);
    object.Strings("options", mount.options);
    object.Finish();
    return mount;
  }

  Hook ReadHook(const Json& value, const std::string& place) {
    static const std::vector<std::string> kNames = {
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};
    JsonObject object(reader_, value, place);
    Hook hook;
    object.Required("hookName", hook.name);
    if (!absl::c_linear_search(kNames, hook.name)) {
      object.Fail("hookName", absl::StrCat("must be one of ", absl::StrJoin(kNames, ", ")));
    }
    object.Required("path", hook.path);
    CheckPath(object, "path", hook.path);
    object.Strings("args", hook.args);
    object.Strings("env", hook.env);
    CheckEnv(hook.env, object.PlaceOf("env"));
    object.Int("timeout", hook.timeout_seconds);
    if (hook.timeout_seconds.value_or(1) < 1) object.Fail("timeout", "must be at least 1 second");
    object.Finish();
    return hook;
  }

  IntelRdt ReadRdt(const Json& value, const std::string& place) {
    Since(7, place, "intelRdt");
    JsonObject object(reader_, value, place);
    IntelRdt rdt;
    object.String("closID", rdt.clos_id);
    // It names a directory of resctrl.
    if (rdt.clos_id == "." || rdt.clos_id == ".." || rdt.clos_id.size() > NAME_MAX ||
        rdt.clos_id.find_first_of("/\n") != std::string::npos) {
      object.Fail("closID", "must be the name of a directory");
    }
    object.String("l3CacheSchema", rdt.l3_cache_schema);
    object.String("memBwSchema", rdt.mem_bw_schema);
    object.Bool("enableCMT", rdt.enable_cmt);
    object.Bool("enableMBM", rdt.enable_mbm);
    object.Finish();
    return rdt;
  }

  JsonReader reader_;
  Spec& spec_;
  int minor_ = kLastMinor;
};

}  // namespace

absl::Status ParseSpec(absl::string_view text, SpecFormat format, absl::string_view file,
                       Spec* spec) {
  *spec = Spec();
  if (text.size() > kMaxSpecBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": larger than ", kMaxSpecBytes, " bytes"));
  }
  const auto document = ReadDocument(text, format);
  if (!document.ok()) return Annotate(document.status(), file);
  return SpecReader(file, spec).Read(*document);
}

}  // namespace plimsoll::cdi
