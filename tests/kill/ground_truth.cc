#include "kill/ground_truth.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "harness/kernel.h"
#include "runtime/store/store.h"

namespace plimsoll::testing {
namespace {

// "123: plimsoll-monitor <id>" is a monitor.
bool IsMonitor(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  return words.size() > 1 &&
         (words[1] == "plimsoll-monitor" || absl::EndsWith(words[1], "/plimsoll-monitor"));
}

std::vector<std::string> List(const std::string& directory) {
  return Host().List(directory).value_or(std::vector<std::string>());
}

void CheckNames(const std::string& directory, const std::set<std::string>& known,
                std::vector<std::string>* found) {
  for (const std::string& name : List(directory)) {
    if (!known.contains(name)) found->push_back(absl::StrCat("file ", directory, "/", name));
  }
}

// Processes of the node: a monitor is recognized by its working directory.
std::vector<std::string> ProcessesOf(const std::string& directory) {
  std::vector<std::string> found = ProcessesWith(directory);
  for (const std::string& line : ProcessesWith("plimsoll-monitor")) {
    const absl::string_view pid = absl::string_view(line).substr(0, line.find(':'));
    const auto cwd = Host().ReadLink(absl::StrCat("proc/", pid, "/cwd"));
    if (cwd.ok() && absl::StartsWith(*cwd, directory)) found.push_back(line);
  }
  return found;
}

// The daemon itself is no leftover.
void CheckProcesses(const Places& places, const Known& known, std::vector<std::string>* found) {
  std::set<std::string> monitored;
  for (const std::string& line : ProcessesOf(places.directory)) {
    if (absl::StrContains(line, "plimsolld --config") || absl::StrContains(line, "kill_test")) {
      continue;
    }
    // The init of a container before its start.
    if (absl::StrContains(line, " create ") && !IsMonitor(line) &&
        std::any_of(known.live_containers.begin(), known.live_containers.end(),
                    [&](const std::string& id) { return absl::StrContains(line, id); })) {
      continue;
    }
    if (IsMonitor(line)) {
      const auto owner =
          std::find_if(known.live_containers.begin(), known.live_containers.end(),
                       [&](const std::string& id) { return absl::StrContains(line, id); });
      if (owner != known.live_containers.end() && monitored.insert(*owner).second) continue;
    }
    found->push_back(absl::StrCat("process ", line));
  }
  for (const std::string& id : known.live_containers) {
    if (!monitored.contains(id)) found->push_back(absl::StrCat("container ", id, ": no monitor"));
  }
}

void CheckMounts(const Places& places, const Known& known, std::vector<std::string>* found) {
  const std::string run = absl::StrCat(places.directory, "/run");
  for (const std::string& mount : MountsBelow(places.directory)) {
    if (mount == run) continue;
    absl::string_view rest = mount;
    const bool in_sandbox = absl::ConsumePrefix(&rest, absl::StrCat(run, "/sandboxes/"));
    if (in_sandbox && known.ready_pods.contains(std::string(rest.substr(0, rest.find('/'))))) {
      continue;
    }
    found->push_back(absl::StrCat("mount ", mount));
  }
}

// Groups of every hierarchy below one path, as "<hierarchy>: <path below it>".
void Walk(const std::string& directory, std::vector<std::string>* groups) {
  for (const std::string& name : List(directory)) {
    const std::string path = absl::StrCat(directory, "/", name);
    const auto info = Host().Stat(path);
    if (!info.ok() || !S_ISDIR(info->st_mode)) continue;
    groups->push_back(path);
    Walk(path, groups);
  }
}

std::vector<std::string> GroupsBelow(const std::string& parent) {
  std::vector<std::string> groups;
  std::vector<std::string> hierarchies = {""};
  for (const std::string& name : List("/sys/fs/cgroup")) hierarchies.push_back("/" + name);
  for (const std::string& hierarchy : hierarchies) {
    const std::string top = absl::StrCat("/sys/fs/cgroup", hierarchy, parent);
    if (!Host().Exists(top)) continue;
    groups.push_back(top);
    Walk(top, &groups);
  }
  return groups;
}

bool EndsWithAny(const std::string& group, const std::set<std::string>& names) {
  return names.contains(group.substr(group.rfind('/') + 1));
}

void CheckGroups(const Places& places, const Known& known, std::vector<std::string>* found) {
  for (const std::string& group : GroupsBelow(places.cgroup_parent)) {
    if (absl::EndsWith(group, places.cgroup_parent) || absl::EndsWith(group, places.foreign) ||
        EndsWithAny(group, known.pods) || EndsWithAny(group, known.live_containers)) {
      continue;
    }
    found->push_back(absl::StrCat("cgroup ", group));
  }
  for (const std::string& group : GroupsBelow(places.pods_parent)) {
    const bool needed = std::any_of(
        known.cgroup_parents.begin(), known.cgroup_parents.end(), [&](const std::string& parent) {
          // At or above the parent of an existing pod.
          const absl::string_view path =
              absl::string_view(group).substr(group.find(places.pods_parent));
          return path == parent || absl::StartsWith(parent, absl::StrCat(path, "/"));
        });
    if (needed || EndsWithAny(group, known.live_containers)) continue;
    found->push_back(absl::StrCat("cgroup ", group));
  }
}

}  // namespace

pid_t MonitorOf(const std::string& container_id) {
  for (const std::string& line : ProcessesWith(container_id)) {
    pid_t pid = 0;
    if (IsMonitor(line) && absl::SimpleAtoi(line.substr(0, line.find(':')), &pid)) return pid;
  }
  return 0;
}

std::vector<std::string> Leftovers(const Places& places, const Known& known) {
  std::vector<std::string> found;
  CheckProcesses(places, known, &found);
  CheckMounts(places, known, &found);
  CheckGroups(places, known, &found);
  CheckNames(places.directory + "/run/sandboxes", known.pods, &found);
  CheckNames(places.directory + "/run/oci/containers", known.containers, &found);
  CheckNames(places.directory + "/run/oci/crun", known.containers, &found);
  CheckNames(places.directory + "/state/containers", known.containers, &found);
  CheckNames(places.directory + "/state/images/work", {}, &found);
  return found;
}

std::vector<std::string> Rows(const std::string& state_directory) {
  const auto directory = FsRoot::Open(state_directory);
  if (!directory.ok()) return {std::string(directory.status().message())};
  const auto store = runtime::Store::Open(*directory);
  if (!store.ok()) return {std::string(store.status().message())};
  std::vector<std::string> rows;
  const auto sandboxes = (*store)->LoadSandboxes();
  const auto containers = (*store)->LoadContainers();
  const auto images = (*store)->LoadImages();
  for (const absl::Status& status : {sandboxes.status(), containers.status(), images.status()}) {
    if (!status.ok()) rows.push_back(std::string(status.message()));
  }
  if (!rows.empty()) return rows;
  for (const auto& sandbox : *sandboxes) rows.push_back(absl::StrCat("sandbox ", sandbox.id));
  for (const auto& container : *containers) {
    rows.push_back(absl::StrCat("container ", container.id));
  }
  for (const auto& image : *images) rows.push_back(absl::StrCat("image ", image.id));
  return rows;
}

}  // namespace plimsoll::testing
