#include "runtime/oci/shared_settings.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/namespaces/id_mapping.h"
#include "linux/namespaces/namespaced_sysctls.h"
#include "linux/net_devices.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

constexpr char kNote[] = "shared-settings";  // in the bundle
constexpr size_t kOwnerBytes = 64;           // as much as an alternative name has room for
constexpr char kSysctlField[] = "linux.sysctl";
constexpr char kNetDevicesField[] = "linux.net_devices";

// A namespace by a file that shows it as long as it lives, and its identity.
struct Place {
  std::string path;
  uint64_t device = 0;
  uint64_t inode = 0;
};

absl::StatusOr<Place> PlaceAt(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", path));
  return Place{path, info.st_dev, info.st_ino};
}

// False: the namespace has ended, or nothing shows it any more.
bool IsThere(const Place& place) {
  const absl::StatusOr<Place> now = PlaceAt(place.path);
  return now.ok() && now->device == place.device && now->inode == place.inode;
}

// The file of the container's namespace: a pin lives longer than init.
std::string FileOf(const CreateRequest& request, const linux::ProcessId& init, const char* type,
                   const char* name, const std::string& pin) {
  const std::string of_init = absl::StrCat("/proc/", init.pid, "/ns/", name);
  for (const NamespaceChange& change : request.spec->extras.namespaces) {
    if (change.type == type) return change.path.empty() ? of_init : change.path;
  }
  return pin.empty() ? of_init : pin;
}

// The note: what was done, as JSON.
struct Note {
  std::map<std::string, Place> places;  // by name in /proc/<pid>/ns
  linux::SysctlValues sysctls;          // former values
  linux::SysctlValues given;            // those given instead, as the kernel shows them
  uint32_t root = 0;                    // of the namespaces' user namespace
  std::string owner;                    // of moved devices: the container
  struct Device {
    linux::NetDeviceMove move;
    linux::MovedNetDevice moved;
  };
  std::vector<Device> devices;
};

std::string Write(const Note& note) {
  Json json = {
      {"sysctls", note.sysctls}, {"given", note.given}, {"root", note.root}, {"owner", note.owner}};
  for (const auto& [name, place] : note.places) {
    json["places"][name] = {{"path", place.path}, {"device", place.device}, {"inode", place.inode}};
  }
  for (const Note::Device& each : note.devices) {
    json["devices"].push_back({{"name", each.move.name},
                               {"renamed", each.move.renamed},
                               {"own", each.moved.name},
                               {"was_up", each.moved.was_up},
                               {"moved", each.moved.moved}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Place PlaceOf(const Note& note, const char* name) {
  const auto found = note.places.find(name);
  return found == note.places.end() ? Place() : found->second;
}

// Throws Json::exception.
Note ParseOrThrow(const std::string& text) {
  const Json json = Json::parse(text);
  Note note;
  note.root = json.value("root", 0u);
  note.owner = json.value("owner", "");
  note.sysctls = json.value("sysctls", linux::SysctlValues());
  note.given = json.value("given", linux::SysctlValues());
  const Json places = json.value("places", Json::object());
  for (const auto& [name, place] : places.items()) {
    note.places[name] = {place.value("path", ""), place.value("device", uint64_t{0}),
                         place.value("inode", uint64_t{0})};
  }
  for (const Json& each : json.value("devices", Json::array())) {
    Note::Device device;
    device.move = {.from = "",
                   .to = PlaceOf(note, "net").path,
                   .name = each.value("name", ""),
                   .renamed = each.value("renamed", ""),
                   .owner = note.owner};
    device.moved = {.name = each.value("own", ""),
                    .was_up = each.value("was_up", false),
                    .moved = each.value("moved", false)};
    note.devices.push_back(std::move(device));
  }
  return note;
}

absl::StatusOr<Note> Parse(const std::string& text) {
  try {
    return ParseOrThrow(text);
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat(kNote, ": ", error.what()));
  }
}

absl::Status Keep(const FsRoot& bundle, const Note& note) {
  return bundle.ReplaceFile(kNote, Write(note));
}

absl::Status MoveDevices(const FsRoot& bundle, const std::map<std::string, std::string>& devices,
                         Note* note) {
  for (const auto& [name, renamed] : devices) {
    Note::Device device;
    device.move = {.from = "",
                   .to = PlaceOf(*note, "net").path,
                   .name = name,
                   .renamed = renamed.empty() ? name : renamed,
                   .owner = note->owner};
    device.moved.name = name;
    note->devices.push_back(device);
    // Before it is done, so that an end of this process in between leaves no device behind.
    PLIMSOLL_RETURN_IF_ERROR(Keep(bundle, *note));
    const absl::StatusOr<linux::MovedNetDevice> moved = linux::MoveNetDevice(device.move);
    // It stays noted, in case that its way back failed too.
    if (!moved.ok()) return Annotate(moved.status(), kNetDevicesField);
    note->devices.back().moved = *moved;
    PLIMSOLL_RETURN_IF_ERROR(Keep(bundle, *note));
  }
  return absl::OkStatus();
}

linux::NamespaceFiles FilesOf(const Note& note) {
  return {PlaceOf(note, "net").path, PlaceOf(note, "ipc").path, PlaceOf(note, "uts").path};
}

// The error for the client.
absl::Status SysctlRefused(const absl::Status& status) {
  if (status.ok() || absl::IsInvalidArgument(status)) return Annotate(status, kSysctlField);
  return absl::FailedPreconditionError(absl::StrCat(kSysctlField, ": ", status.message()));
}

// Sets a parameter back, unless its namespace has ended or another container has set it since.
absl::Status SetBack(const Note& note, const std::string& name, const std::string& value) {
  const absl::StatusOr<linux::Sysctl> sysctl = linux::ParseSysctlName(name);
  if (!sysctl.ok()) return absl::OkStatus();
  const char* const kind = sysctl->belongs_to == linux::SysctlNamespace::kNetwork ? "net"
                           : sysctl->belongs_to == linux::SysctlNamespace::kIpc   ? "ipc"
                                                                                  : "uts";
  if (!IsThere(PlaceOf(note, kind))) return absl::OkStatus();
  const linux::SysctlValues former = {{name, value}};
  const absl::StatusOr<linux::SysctlValues> now = linux::ReadSysctls(FilesOf(note), former);
  // One that can't be written, and so has not changed, is noted as well.
  if (now.ok() && *now == former) return absl::OkStatus();
  const auto given = note.given.find(name);
  if (now.ok() && given != note.given.end() && *now != linux::SysctlValues{*given}) {
    return absl::OkStatus();
  }
  const absl::Status set = linux::SetSysctls(FilesOf(note), former, note.root);
  // A device's own have gone with it.
  return absl::IsInvalidArgument(set) ? absl::OkStatus() : Annotate(set, kSysctlField);
}

}  // namespace

absl::Status MakeSharedSettings(const FsRoot& bundle, const CreateRequest& request,
                                const linux::ProcessId& init) {
  const OciExtras& extras = request.spec->extras;
  if (extras.sysctls.empty() && extras.net_devices.empty()) return absl::OkStatus();
  const SandboxPlace& sandbox = request.sandbox;
  Note note;
  note.owner = request.id.substr(0, kOwnerBytes);
  if (!sandbox.user_namespace.empty()) {
    note.root = linux::HostIdOf(request.spec->security.namespaces.uid_mappings, 0);
  }
  const std::tuple<const char*, const char*, const std::string*> kinds[] = {
      {"network", "net", &sandbox.network_namespace},
      {"ipc", "ipc", &sandbox.ipc_namespace},
      {"uts", "uts", &sandbox.uts_namespace}};
  for (const auto& [type, name, pin] : kinds) {
    PLIMSOLL_ASSIGN_OR_RETURN(note.places[name], PlaceAt(FileOf(request, init, type, name, *pin)));
  }
  PLIMSOLL_RETURN_IF_ERROR(MoveDevices(bundle, extras.net_devices, &note));
  if (extras.sysctls.empty()) return absl::OkStatus();
  absl::StatusOr<linux::SysctlValues> values = linux::ReadSysctls(FilesOf(note), extras.sysctls);
  if (!values.ok()) return SysctlRefused(values.status());
  note.sysctls = *std::move(values);
  PLIMSOLL_RETURN_IF_ERROR(Keep(bundle, note));  // first, as with devices
  PLIMSOLL_RETURN_IF_ERROR(
      SysctlRefused(linux::SetSysctls(FilesOf(note), extras.sysctls, note.root)));
  values = linux::ReadSysctls(FilesOf(note), extras.sysctls);
  if (!values.ok()) return SysctlRefused(values.status());
  note.given = *std::move(values);
  return Keep(bundle, note);
}

absl::Status SetBackSharedSettings(const FsRoot& bundle) {
  const absl::StatusOr<std::string> text = bundle.Read(kNote, 1 << 20);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const absl::StatusOr<Note> parsed = Parse(*text);
  if (!parsed.ok()) {
    // Once, so that the container can go all the same.
    PLIMSOLL_RETURN_IF_ERROR(bundle.RemoveFile(kNote));
    return parsed.status();
  }
  const Note& note = *parsed;
  absl::Status result;
  if (IsThere(PlaceOf(note, "net"))) {
    for (const Note::Device& each : note.devices) {
      result = FirstError(
          result, Annotate(linux::MoveNetDeviceBack(each.move, each.moved), kNetDevicesField));
    }
  }
  for (const auto& [name, value] : note.sysctls) {
    result = FirstError(result, SetBack(note, name, value));
  }
  PLIMSOLL_RETURN_IF_ERROR(result);
  return bundle.RemoveFile(kNote);
}

absl::Status KeepSharedSettings(const FsRoot& bundle) {
  return bundle.RemoveFile(kNote);
}

}  // namespace plimsoll::runtime
