// Control groups of cgroup v2 on a machine that systemd manages: a unit's group is made and removed
// with its unit. systemd gets each value that it has a property for, because it writes all of
// them again at each daemon-reload.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto units, ConnectUnits(host));
//   SystemdCgroups cgroups(std::move(files), std::move(units), host);
//
// Slices are made with their groups (Create), scopes with their first process (Register,
// AddProcess), both by UnitOf's names. They end with Remove, scopes also with their last process.
// Groups without a unit, such as those in a scope, are as without systemd. Values go to the
// kernel's files first, which check them, then to systemd; if that refuses, the files are set back.
// A unit that systemd doesn't know is treated as a plain group, so that groups made without systemd
// go on working.
#ifndef PLIMSOLL_SYSTEMD_CGROUPS_H_
#define PLIMSOLL_SYSTEMD_CGROUPS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "systemd/properties.h"
#include "systemd/scope_ooms.h"
#include "systemd/units.h"

namespace plimsoll::systemd {

// Thread-safe.
class SystemdCgroups final : public linux::CgroupManager {
 public:
  // `files`: of layout v2. `host`: for /sys/dev/block. `run_directory`: a mount that the
  // processes of scopes use, so the scopes end before its unmount; empty: none.
  SystemdCgroups(std::unique_ptr<linux::CgroupManager> files, std::unique_ptr<Units> units,
                 FsRoot host, std::string run_directory = "");
  ~SystemdCgroups() override;

  absl::StatusOr<std::vector<std::string>> Create(absl::string_view path) override;
  // Makes none: scopes have all controllers delegated, and so keep them.
  absl::StatusOr<std::vector<std::string>> MakeKeeper(absl::string_view path) override;
  absl::Status Register(absl::string_view path, pid_t pid,
                        const linux::CgroupSettings& settings) override;
  bool EndsWithProcesses() const override { return true; }
  absl::Status Remove(absl::string_view path) override;
  absl::Status RemoveIfUnused(absl::string_view path) override;
  absl::Status Apply(absl::string_view path, const linux::CgroupSettings& settings) override;
  absl::Status AddProcess(absl::string_view path, pid_t pid) override;
  absl::Status WriteFile(absl::string_view path, absl::string_view controller,
                         absl::string_view file, absl::string_view value) override;
  // For an ended scope, uses its slice's count.
  absl::StatusOr<uint64_t> OomKills(absl::string_view path) const override;

  linux::CgroupLayout layout() const override { return files_->layout(); }
  std::vector<std::string> Controllers() const override { return files_->Controllers(); }
  std::vector<std::string> UnifiedControllersOnHybrid() const override {
    return files_->UnifiedControllersOnHybrid();
  }
  absl::StatusOr<bool> Exists(absl::string_view path) const override {
    return files_->Exists(path);
  }
  // NOT_FOUND also when the group went during the read.
  absl::StatusOr<linux::CgroupSettings> Read(absl::string_view path) const override;
  absl::Status ReturnToCpuset(absl::string_view path) override {
    return files_->ReturnToCpuset(path);
  }
  absl::Status MoveInPlace(const FsRoot& host) override { return files_->MoveInPlace(host); }
  absl::StatusOr<std::vector<pid_t>> Processes(absl::string_view path,
                                               bool recursive) const override {
    return files_->Processes(path, recursive);
  }
  absl::Status KillAll(absl::string_view path, absl::Time deadline) override {
    return files_->KillAll(path, deadline);
  }
  absl::StatusOr<std::vector<pid_t>> Threads(absl::string_view path) const override {
    return files_->Threads(path);
  }
  absl::StatusOr<bool> Freeze(absl::string_view path, absl::Time deadline) override {
    return files_->Freeze(path, deadline);
  }
  absl::Status Thaw(absl::string_view path) override { return files_->Thaw(path); }
  absl::StatusOr<std::string> ReadFile(absl::string_view path, absl::string_view controller,
                                       absl::string_view file) const override {
    return files_->ReadFile(path, controller, file);
  }
  bool HasFile(absl::string_view path, absl::string_view controller,
               absl::string_view file) const override {
    return files_->HasFile(path, controller, file);
  }
  absl::StatusOr<linux::CgroupStats> Stats(absl::string_view path) const override {
    return files_->Stats(path);
  }

 private:
  // The group's normalised path and its unit.
  struct Place {
    std::string group;
    std::string unit;
  };
  // The unit is empty for a group without one.
  static absl::StatusOr<Place> PlaceOf(absl::string_view path);

  absl::Status StartSlice(const Place& slice);
  absl::Status StartScope(const Place& scope, pid_t pid);
  // Gives systemd the group's present values of `files`.
  absl::Status Tell(const Place& place, const std::vector<std::string>& files);
  absl::StatusOr<std::vector<Property>> PropertiesNow(const std::string& group,
                                                      const std::vector<std::string>& files) const;
  // Remembers weights other than the kernel's defaults. Called before systemd gets them: it may
  // write at any time, and then BFQ forgets the weights of disks. Leaves other files alone.
  void NoteWeights(const std::string& group, const std::map<std::string, std::string>& texts);
  // The right text of a file: the one remembered, else the kernel's.
  absl::StatusOr<std::string> WantedText(const std::string& group, absl::string_view file) const;
  std::map<std::string, std::string> WantedTexts(const std::string& group,
                                                 const std::vector<std::string>& files) const;
  // Remembers the right values of those `files` that systemd will write wrongly.
  void NoteInexact(const std::string& group, const std::vector<std::string>& files);
  // Called while the files are being changed.
  void ForgetInexact(const std::string& group, const std::vector<std::string>& files);
  void Forget(const std::string& group);
  // Remembers a memory.oom.group of 1, because systemd clears it whenever it writes values. Takes
  // the value from `texts`; does nothing if that lacks the file.
  void NoteOomGroup(const std::string& group, const std::map<std::string, std::string>& texts);
  // Called after systemd was told a value of the group.
  void KeepOomGroup(const std::string& group);
  // Restores the values that systemd has written wrongly.
  void WriteInexact();

  std::map<std::string, std::string> Texts(const std::string& group,
                                           const std::vector<std::string>& files) const;
  // `status`, with the files that could not be set back.
  absl::Status SetBack(const std::string& group, const std::map<std::string, std::string>& before,
                       const absl::Status& status);
  bool HoldsAll(const std::string& group, const linux::CgroupSettings& settings) const;
  void MakeKnown(const std::string& group);

  const std::unique_ptr<linux::CgroupManager> files_;
  const FsRoot host_;
  const std::string run_directory_;
  mutable absl::Mutex mutex_;
  std::set<std::string> known_ ABSL_GUARDED_BY(mutex_);  // started scopes
  // By group and file.
  std::map<std::pair<std::string, std::string>, std::string> inexact_ ABSL_GUARDED_BY(mutex_);
  mutable ScopeOoms ooms_;
  const std::unique_ptr<Units> units_;  // destroyed first: its thread calls WriteInexact
};

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_CGROUPS_H_
