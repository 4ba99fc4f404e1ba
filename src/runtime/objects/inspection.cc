#include "runtime/objects/inspection.h"

#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/random_id.h"
#include "linux/cgroup/cgroup.h"
#include "linux/process.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"
#include "runtime/objects/update_mark.h"

namespace plimsoll::runtime {
namespace {

using D = Difference;

// The first missing path of those that the image needs; empty if none is missing.
std::string WhatIsMissing(const FsRoot& state, const image::ImageRecord& image) {
  std::vector<std::string> paths = {
      absl::StrCat("images/blobs/sha256/", absl::StripPrefix(image.id, "sha256:"))};
  for (const absl::string_view chain_id : image.chain_ids) {
    paths.push_back(
        absl::StrCat("images/layers/", absl::StripPrefix(chain_id, "sha256:"), "/diff"));
  }
  for (const std::string& path : paths) {
    if (!state.Has(path).value_or(true)) return state.PathOf(path);
  }
  return "";
}

class Inspector {
 public:
  explicit Inspector(const InspectionInput& input)
      : input_(input),
        under_way_(input.under_way.begin(), input.under_way.end()),
        attached_(input.attached.begin(), input.attached.end()) {
    for (const DamagedRow& row : input.damaged) damaged_[row.id] = row.what;
    for (const ContainerRecord& record : input.containers) {
      known_containers_.insert(record.id);
      if (IsLive(record.state)) may_hold_.insert(record.id);
    }
    for (const SandboxRecord& record : input.sandboxes) {
      known_sandboxes_.insert(record.id);
      // A NotReady one whose init died holds its classes until its stop.
      if (record.state != SandboxState::kRemoving) may_hold_.insert(record.id);
    }
  }

  void LookForCommands() {
    std::vector<ContainerGroup> groups;
    for (const ContainerRecord& record : input_.containers) {
      if (HasProcess(record) && record.boot_id == input_.boot_id) {
        groups.push_back({record.id, record.cgroup_path});
      }
    }
    absl::StatusOr<std::vector<StrayExec>> strays = input_.runtime->FindStrayExecs(groups);
    if (!strays.ok()) return NotInspected("commands of ExecSync", strays.status());
    for (StrayExec& stray : *strays) {
      Finding& finding =
          Add(D::kStrayCommand,
              stray.process.pid != 0
                  ? absl::StrCat("command \"", stray.command, "\" (process ", stray.process.pid,
                                 ") was started by ExecSync; the daemon that waited for it is gone")
                  : absl::StrCat("group ", stray.container_group, "/", stray.group,
                                 " was made for a command of ExecSync whose client has left"),
              stray.process.pid != 0 ? "ends it" : "ends the processes in it and removes it");
      finding.container_id = stray.container_id;
      finding.stray = std::move(stray);
    }
  }

  void LookAt(const ContainerRecord& record) {
    if (under_way_.contains(record.id)) return;
    const std::string recorded = absl::StrCat("recorded as ", StateName(record.state));
    if (const auto damage = damaged_.find(record.id); damage != damaged_.end()) {
      return Add(D::kDamagedRow, record, damage->second,
                 "shows it as Unknown and leaves it alone; remove the container");
    }
    if (record.state == ContainerState::kCreating) {
      return Add(D::kContainerHalfMade, record, "its creation was cut off", "removes it");
    }
    if (record.state == ContainerState::kRemoving) {
      return Add(D::kContainerHalfRemoved, record, "its removal was cut off", "removes the rest");
    }
    if (!HasProcess(record)) return LookAtGroup(record);
    if (record.boot_id != input_.boot_id) {
      return Add(D::kContainerRebooted, record,
                 absl::StrCat(recorded, " before the machine was restarted"),
                 "records that it has exited");
    }
    int64_t started = 0;
    if (record.state == ContainerState::kCreated) {
      const auto started_at = input_.runtime->StartedAt(record.id, record.init);
      if (!started_at.ok()) return NotInspected(record, started_at.status());
      started = started_at->value_or(0);
    }
    const absl::StatusOr<bool> monitored = linux::IsRunning(input_.host, record.monitor);
    if (!monitored.ok()) return NotInspected(record, monitored.status());
    if (!*monitored) {
      return Add(D::kContainerEnded, record,
                 absl::StrCat(recorded, "; its monitor (process ", record.monitor.pid, ") is gone"),
                 "ends its remaining processes and records its exit", started);
    }
    if (started != 0) {
      return Add(D::kContainerStarted, record, absl::StrCat(recorded, ", but it was started"),
                 "records it as Running", started);
    }
    LookAtNeeds(record);
  }

  void LookAt(const SandboxRecord& record) {
    if (under_way_.contains(record.id)) return;
    if (const auto damage = damaged_.find(record.id); damage != damaged_.end()) {
      return Add(D::kDamagedRow, record, damage->second,
                 "shows it as NotReady and leaves it alone; remove the pod");
    }
    switch (record.state) {
      case SandboxState::kCreating:
        return Add(D::kSandboxHalfMade, record, "its creation was cut off",
                   AndNetwork("removes it", record));
      case SandboxState::kRemoving:
        return Add(D::kSandboxHalfRemoved, record, "its removal was cut off",
                   AndNetwork("removes the rest", record));
      case SandboxState::kReady:
        if (record.boot_id != input_.boot_id) {
          return Add(D::kSandboxRebooted, record,
                     "recorded as Ready before the machine was restarted",
                     AndNetwork("records it as NotReady", record));
        }
        return LookAtReadyPlace(record);
      case SandboxState::kNotReady:
        return LookAtReleasedPlace(record);
    }
  }

  void LookForStrays() {
    const absl::StatusOr<std::vector<std::string>> traces = input_.runtime->ListTraces();
    if (!traces.ok()) NotInspected("files of containers", traces.status());
    for (const std::string& id : traces.value_or(std::vector<std::string>())) {
      // A trace that is not named by an id is not ours.
      if (!IsId(id) || known_containers_.contains(id) || under_way_.contains(id)) continue;
      Add(D::kStrayContainer, "files or processes of a container that is not recorded",
          "removes them")
          .container_id = id;
    }
    const absl::StatusOr<std::vector<std::string>> places = input_.run.List("sandboxes");
    if (!places.ok() && !absl::IsNotFound(places.status())) {
      NotInspected("files of sandboxes", places.status());
    }
    for (const std::string& id : places.value_or(std::vector<std::string>())) {
      if (!IsId(id) || known_sandboxes_.contains(id) || under_way_.contains(id)) continue;
      Add(D::kStraySandbox, "files or mounts of a sandbox that is not recorded", "removes them")
          .sandbox_id = id;
    }
    for (const std::string& id : input_.attached) {
      if (known_sandboxes_.contains(id) || under_way_.contains(id)) continue;
      Add(D::kStrayNetwork, "the network of a sandbox that is not recorded has not been given back",
          "has its network plugins release it")
          .sandbox_id = id;
    }
    LookForGroups(places.value_or(std::vector<std::string>()));
  }

  // Compares the holders of classes with what lives.
  void LookForHolders() {
    std::map<std::pair<qos::Level, std::string>, std::vector<std::string>> strays;
    for (const ClassHolder& holder : input_.holders) {
      if (may_hold_.contains(holder.id) || under_way_.contains(holder.id)) continue;
      strays[{holder.level, holder.id}].push_back(holder.what);
    }
    for (const auto& [key, classes] : strays) {
      const auto& [level, id] = key;
      const bool is_pod = level == qos::Level::kPod;
      Finding& finding =
          Add(D::kStrayClassPlace,
              absl::StrCat("holds a place in the class ", absl::StrJoin(classes, ", "),
                           (is_pod ? known_sandboxes_ : known_containers_).contains(id)
                               ? ", and does not live any more"
                               : ", and is not recorded"),
              "frees the place");
      (is_pod ? finding.sandbox_id : finding.container_id) = id;
    }
  }

  void LookForImages() {
    if (!input_.state.has_value()) return;
    for (const image::ImageRecord& image : input_.images) {
      const std::string missing = WhatIsMissing(*input_.state, image);
      if (missing.empty()) continue;
      const std::string name = image.repo_tags.empty() ? image.id : image.repo_tags.front();
      Add(D::kDamagedImage, absl::StrCat("image ", name, ": ", missing, " isn't there"),
          "takes the image off the list; pull or import it again");
    }
  }

  std::vector<Finding> TakeFindings() { return std::move(findings_); }

 private:
  Finding& Add(Difference difference, std::string what, std::string action) {
    Finding& finding = findings_.emplace_back();
    finding.difference = difference;
    finding.what = std::move(what);
    finding.action = std::move(action);
    return finding;
  }

  void Add(Difference difference, const ContainerRecord& record, std::string what,
           std::string action, int64_t started_unix_nanos = 0) {
    Finding& finding = Add(difference, std::move(what), std::move(action));
    finding.sandbox_id = record.sandbox_id;
    finding.container_id = record.id;
    finding.started_unix_nanos = started_unix_nanos;
  }

  void Add(Difference difference, const SandboxRecord& record, std::string what,
           std::string action) {
    Add(difference, std::move(what), std::move(action)).sandbox_id = record.id;
  }

  // Checks that a live container's group and files have not been removed by others.
  void LookAtNeeds(const ContainerRecord& record) {
    if (!record.cgroup_path.empty()) {
      const absl::StatusOr<bool> exists = input_.cgroups->Exists(record.cgroup_path);
      if (!exists.ok()) return NotInspected(record, exists.status());
      if (!*exists) {
        return Add(D::kContainerGroupGone, record,
                   absl::StrCat("its control group ", record.cgroup_path,
                                " is gone, and its limits with it"),
                   "leaves it as it is; remove the container and make it again");
      }
    }
    if (!input_.state.has_value()) return;
    std::vector<std::string> needed;
    if (input_.state->Exists("containers")) needed.push_back("containers/" + record.id);
    if (input_.state->Exists("images/layers")) {
      for (const absl::string_view chain_id : record.chain_ids) {
        needed.push_back(
            absl::StrCat("images/layers/", absl::StripPrefix(chain_id, "sha256:"), "/diff"));
      }
    }
    for (const std::string& path : needed) {
      const absl::StatusOr<bool> is_there = input_.state->Has(path);
      if (!is_there.ok()) return NotInspected(record, is_there.status());
      if (*is_there) continue;
      return Add(
          D::kContainerFilesGone, record,
          absl::StrCat(input_.state->PathOf(path), " is gone, and its root file system ",
                       "needs it"),
          "leaves it as it is; remove the container, and the image if the path is the image's");
    }
  }

  void LookAtGroup(const ContainerRecord& record) {
    if (record.cgroup_path.empty()) return;
    const absl::StatusOr<bool> exists = input_.cgroups->Exists(record.cgroup_path);
    if (!exists.ok()) return NotInspected(record, exists.status());
    if (!*exists) return;
    Add(D::kContainerGroupLeft, record,
        absl::StrCat("has no process; its control group ", record.cgroup_path, " is still there"),
        "removes the group");
  }

  void LookAtReadyPlace(const SandboxRecord& record) {
    const absl::StatusOr<bool> stopped = input_.run.Has(StoppedFileOf(record.id));
    if (!stopped.ok()) return NotInspected(record, stopped.status());
    if (*stopped) {
      return Add(D::kSandboxBroken, record,
                 "recorded as Ready; its stop was begun, and the end of the stop was not recorded",
                 "records it as NotReady");
    }
    const absl::StatusOr<PlaceState> place = LookAtSandboxPlace(input_.run, record.id, record.spec);
    if (!place.ok()) return NotInspected(record, place.status());
    if (*place != PlaceState::kWhole) {
      return Add(D::kSandboxBroken, record,
                 "recorded as Ready, but not all of its namespaces are pinned",
                 "unpins the others and records it as NotReady");
    }
    const absl::StatusOr<bool> held = InitRuns(record);
    if (!held.ok()) return NotInspected(record, held.status());
    if (record.pause.pid != 0 && !*held) {
      return Add(D::kSandboxBroken, record,
                 absl::StrCat("recorded as Ready; the init of its PID namespace (process ",
                              record.pause.pid, ") is gone"),
                 "unpins its namespaces and records it as NotReady");
    }
    for (const std::string& group : record.owned_cgroups) {
      const absl::StatusOr<bool> exists = input_.cgroups->Exists(group);
      if (!exists.ok()) return NotInspected(record, exists.status());
      if (*exists) continue;
      return Add(D::kSandboxGroupGone, record,
                 absl::StrCat("recorded as Ready; the control group ", group,
                              " that was made for it is gone"),
                 "leaves it as it is; remove the pod and make it again");
    }
  }

  absl::StatusOr<bool> InitRuns(const SandboxRecord& record) const {
    if (record.pause.pid == 0 || record.boot_id != input_.boot_id) return false;
    return linux::IsRunning(input_.host, record.pause);
  }

  void LookAtReleasedPlace(const SandboxRecord& record) {
    SandboxSpec none;
    none.namespaces.network = NamespaceMode::kNode;
    none.namespaces.ipc = NamespaceMode::kNode;
    none.namespaces.pid = NamespaceMode::kNode;
    const absl::StatusOr<PlaceState> place = LookAtSandboxPlace(input_.run, record.id, none);
    if (!place.ok()) return NotInspected(record, place.status());
    if (*place != PlaceState::kWhole) {  // `none` wants no namespace: some are pinned
      return Add(D::kSandboxStillHeld, record, "is NotReady, but namespaces of it are still pinned",
                 "unpins them");
    }
    const absl::StatusOr<bool> held = InitRuns(record);
    if (!held.ok()) return NotInspected(record, held.status());
    if (!*held) {
      if (!attached_.contains(record.id)) return;
      return Add(D::kSandboxNetworkLeft, record,
                 "is NotReady, but its network has not been given back",
                 "has its network plugins release it");
    }
    Add(D::kSandboxStillHeld, record,
        absl::StrCat("is NotReady, but the init of its PID namespace (process ", record.pause.pid,
                     ") runs on"),
        "ends it");
  }

  std::string AndNetwork(absl::string_view action, const SandboxRecord& record) const {
    return absl::StrCat(action, attached_.contains(record.id)
                                    ? "; its network plugins are told to release it"
                                    : "");
  }

  // Finds groups directly below our own parent whose name is the id of a sandbox with files of ours
  // but no record. Other groups there may be of another daemon with directories of its own.
  void LookForGroups(const std::vector<std::string>& places) {
    if (input_.default_cgroup_parent.empty()) return;
    constexpr char kMount[] = "sys/fs/cgroup";
    std::vector<std::string> hierarchies = {""};
    for (const std::string& name : input_.host.List(kMount).value_or(std::vector<std::string>())) {
      hierarchies.push_back("/" + name);
    }
    std::set<std::string> strays;
    for (const std::string& hierarchy : hierarchies) {
      const auto names =
          input_.host.List(absl::StrCat(kMount, hierarchy, input_.default_cgroup_parent));
      for (const std::string& name : names.value_or(std::vector<std::string>())) {
        const std::string id(linux::NameOfChildCgroup(input_.default_cgroup_parent, name));
        if (IsId(id) && !known_sandboxes_.contains(id) && !under_way_.contains(id) &&
            absl::c_linear_search(places, id)) {
          strays.insert(id);
        }
      }
    }
    for (const std::string& id : strays) {
      const std::string group = linux::ChildCgroup(input_.default_cgroup_parent, id);
      Finding& finding =
          Add(D::kStrayGroup,
              absl::StrCat("control group ", group, " is of a sandbox that is not recorded"),
              "removes it, unless others' processes are in it");
      finding.sandbox_id = id;
      finding.group = group;
    }
  }

  template <typename Record>
  void NotInspected(const Record& record, const absl::Status& status) {
    Add(D::kNotInspected, record, absl::StrCat("could not be looked at: ", status.message()),
        "leaves it as it is");
  }

  void NotInspected(const char* what, const absl::Status& status) {
    Add(D::kNotInspected, absl::StrCat(what, ": ", status.message()), "leaves them as they are");
  }

  const InspectionInput& input_;
  const absl::flat_hash_set<std::string> under_way_;
  const absl::flat_hash_set<std::string> attached_;
  absl::flat_hash_map<std::string, std::string> damaged_;
  absl::flat_hash_set<std::string> known_containers_;
  absl::flat_hash_set<std::string> known_sandboxes_;
  absl::flat_hash_set<std::string> may_hold_;  // classes
  std::vector<Finding> findings_;
};

}  // namespace

const char* DifferenceName(Difference difference) {
  switch (difference) {
    case D::kContainerHalfMade:
      return "ContainerHalfMade";
    case D::kContainerHalfRemoved:
      return "ContainerHalfRemoved";
    case D::kContainerStarted:
      return "ContainerStarted";
    case D::kContainerEnded:
      return "ContainerEnded";
    case D::kContainerRebooted:
      return "ContainerRebooted";
    case D::kContainerGroupLeft:
      return "ContainerGroupLeft";
    case D::kContainerGroupGone:
      return "ContainerGroupGone";
    case D::kContainerFilesGone:
      return "ContainerFilesGone";
    case D::kSandboxGroupGone:
      return "SandboxGroupGone";
    case D::kStrayGroup:
      return "StrayGroup";
    case D::kSandboxHalfMade:
      return "SandboxHalfMade";
    case D::kSandboxHalfRemoved:
      return "SandboxHalfRemoved";
    case D::kSandboxRebooted:
      return "SandboxRebooted";
    case D::kSandboxBroken:
      return "SandboxBroken";
    case D::kSandboxStillHeld:
      return "SandboxStillHeld";
    case D::kSandboxNetworkLeft:
      return "SandboxNetworkLeft";
    case D::kSandboxNetworkBroken:
      return "SandboxNetworkBroken";
    case D::kStrayNetwork:
      return "StrayNetwork";
    case D::kDamagedRow:
      return "DamagedRow";
    case D::kDamagedImage:
      return "DamagedImage";
    case D::kStrayCommand:
      return "StrayCommand";
    case D::kStrayContainer:
      return "StrayContainer";
    case D::kStraySandbox:
      return "StraySandbox";
    case D::kStrayClassPlace:
      return "StrayClassPlace";
    case D::kStrayWork:
      return "StrayWork";
    case D::kNotInspected:
      return "NotInspected";
  }
  return "Invalid";
}

void AddUnrecordedRemovals(InspectionInput* input) {
  const auto is_removed = [input](const std::string& id) {
    return input->run.Has(UpdateMarkOf(RemovalMarkIdOf(id))).value_or(false);
  };
  for (SandboxRecord& record : input->sandboxes) {
    if (is_removed(record.id)) record.state = SandboxState::kRemoving;
  }
  for (ContainerRecord& record : input->containers) {
    if (is_removed(record.id)) record.state = ContainerState::kRemoving;
  }
}

bool IsActedUpon(Difference difference) {
  switch (difference) {
    case D::kContainerGroupGone:
    case D::kContainerFilesGone:
    case D::kSandboxGroupGone:
    case D::kSandboxNetworkBroken:
    case D::kDamagedRow:
    case D::kNotInspected:
      return false;
    default:
      return true;
  }
}

std::vector<Finding> Inspect(const InspectionInput& input) {
  Inspector inspector(input);
  inspector.LookForCommands();
  for (const ContainerRecord& record : input.containers) inspector.LookAt(record);
  for (const SandboxRecord& record : input.sandboxes) inspector.LookAt(record);
  inspector.LookForStrays();
  inspector.LookForHolders();
  inspector.LookForImages();
  return inspector.TakeFindings();
}

}  // namespace plimsoll::runtime
