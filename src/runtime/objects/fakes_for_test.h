// Stand-ins for the engine's collaborators, to provoke rare behaviour of the real ones. tests/ uses
// the real ones.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_FAKES_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_OBJECTS_FAKES_FOR_TEST_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "image/image_service.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/tree.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/machine.h"
#include "runtime/store/store.h"

namespace plimsoll::runtime {

// Fails the next call of a kind, once.
class Faults {
 public:
  void FailNext(const std::string& operation, absl::Status status) {
    absl::MutexLock lock(&mutex_);
    next_[operation] = std::move(status);
  }
  absl::Status Check(const std::string& operation) {
    absl::MutexLock lock(&mutex_);
    const auto it = next_.find(operation);
    if (it == next_.end()) return absl::OkStatus();
    absl::Status status = it->second;
    next_.erase(it);
    return status;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, absl::Status> next_;
};

// A command without streams that has ended.
class EndedCommand : public RunningCommand {
 public:
  explicit EndedCommand(absl::Status end) : end_(std::move(end)) {}
  CommandStreams& streams() override { return streams_; }
  int ended_fd() const override { return -1; }
  absl::StatusOr<CommandEnd> Finish() override {
    PLIMSOLL_RETURN_IF_ERROR(end_);
    return CommandEnd();
  }
  absl::Status Kill() override { return absl::OkStatus(); }

 private:
  const absl::Status end_;
  CommandStreams streams_;
};

// Every container's monitor is a real process (so that its end can be watched), and so is its init.
class FakeRuntime : public ContainerRuntime {
 public:
  explicit FakeRuntime(FsRoot host) : host_(std::move(host)) {}
  ~FakeRuntime() override {
    for (auto& [id, monitor] : monitors_) {
      monitor.Signal(9).IgnoreError();
      monitor.Wait().IgnoreError();
    }
  }

  absl::Status UserNamespaces() const override { return user_namespaces; }
  const linux::SelinuxLabels* Selinux() const override {
    return selinux.has_value() ? &*selinux : nullptr;
  }

  const HostFeatures* machine() const override { return known.has_value() ? &*known : nullptr; }

  linux::CpuWeightFormula WeightFormula(absl::string_view id) const override {
    const auto of_container = weights.find(std::string(id));
    return of_container == weights.end() ? weight : of_container->second;
  }

  Faults faults;
  std::optional<HostFeatures> known;
  linux::CpuWeightFormula weight = linux::CpuWeightFormula::kLinear;
  std::map<std::string, linux::CpuWeightFormula> weights;  // by container, if it isn't `weight`
  absl::Status user_namespaces;
  std::optional<linux::SelinuxLabels> selinux;
  std::function<void()> on_read_exit;  // before anything is read
  ExecRequest last_exec;
  linux::CgroupSettings last_created;  // resources of the last Create
  std::map<std::string, std::string> last_annotations;
  std::string last_program;
  std::function<void()> on_create;
  std::function<void()> on_start;
  std::optional<linux::ProcessId> init;  // for the next Create; otherwise the monitor serves as
                                         // init
  std::function<void(const std::string&)> make_group;  // of the container
  std::function<void(const std::string&)> remove_group;
  std::function<void(const ExecRequest&)> on_exec;
  std::vector<pid_t> entering;

  // Ends the monitor. It has recorded `exit`, unless that is nullopt.
  void EndMonitor(const std::string& id, std::optional<ExitRecord> exit) {
    absl::MutexLock lock(&mutex_);
    if (exit.has_value()) exits_[id] = *exit;
    monitors_.at(id).Signal(9).IgnoreError();
  }
  bool has_traces(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    return traces_.contains(id);
  }
  // Acts like a daemon that died between letting the process run and recording it.
  void SetStarted(const std::string& id, int64_t unix_nanos) {
    absl::MutexLock lock(&mutex_);
    started_[id] = unix_nanos;
  }
  void AddStray(StrayExec stray) {
    absl::MutexLock lock(&mutex_);
    strays_.push_back(std::move(stray));
  }
  void AddTrace(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    traces_.insert(id);
  }

  std::vector<std::string> Limitations() const override { return {}; }
  std::string runtime_version() const override { return "fake 1"; }
  absl::StatusOr<Created> Create(const CreateRequest& request) override {
    if (absl::Status fault = faults.Check("Create"); !fault.ok()) return fault;
    if (on_create) on_create();
    if (const absl::Status refused = faults.Check("Refuse"); !refused.ok()) {
      Created created;
      created.refusal = std::string(refused.message());
      return created;
    }
    if (make_group) make_group(request.cgroup_path);
    {
      absl::MutexLock lock(&mutex_);
      last_created = request.spec->resources;
      last_annotations = request.spec->annotations;
      last_program = request.program;
    }
    absl::StatusOr<Child> monitor = Spawn({.argv = {"/bin/sleep", "300"}});
    if (!monitor.ok()) return monitor.status();
    Created created;
    created.monitor = *linux::IdentifyProcess(host_, monitor->pid());
    created.init = init.value_or(created.monitor);
    if (!faults.Check("Monitor").ok()) created.monitor.start_time_ticks += 1;  // ended long ago
    absl::MutexLock lock(&mutex_);
    traces_.insert(request.id);
    monitors_.insert_or_assign(request.id, *std::move(monitor));
    return created;
  }
  absl::Status Start(absl::string_view) override {
    if (on_start) on_start();
    return faults.Check("Start");
  }
  absl::StatusOr<std::optional<ExitRecord>> ReadExit(absl::string_view id) override {
    if (on_read_exit) on_read_exit();
    if (absl::Status fault = faults.Check("ReadExit"); !fault.ok()) return fault;
    absl::MutexLock lock(&mutex_);
    const auto it = exits_.find(std::string(id));
    if (it == exits_.end()) return std::nullopt;
    return it->second;
  }
  absl::Status Delete(absl::string_view id, absl::string_view group) override {
    if (absl::Status fault = faults.Check("Delete"); !fault.ok()) return fault;
    if (remove_group) remove_group(std::string(group));
    absl::MutexLock lock(&mutex_);
    const auto it = monitors_.find(std::string(id));
    if (it != monitors_.end()) it->second.Signal(9).IgnoreError();
    traces_.erase(std::string(id));
    return absl::OkStatus();
  }
  absl::StatusOr<ExecResult> Exec(absl::string_view, absl::string_view,
                                  const ExecRequest& request) override {
    if (on_exec) on_exec(request);
    if (absl::Status fault = faults.Check("Exec"); !fault.ok()) return fault;
    absl::MutexLock lock(&mutex_);
    last_exec = request;
    return ExecResult();
  }
  absl::StatusOr<std::unique_ptr<RunningCommand>> StartExec(absl::string_view, absl::string_view,
                                                            const ExecRequest&) override {
    if (absl::Status fault = faults.Check("StartExec"); !fault.ok()) return fault;
    return std::make_unique<EndedCommand>(faults.Check("Finish"));
  }
  std::vector<pid_t> EnteringProcesses(absl::string_view) const override { return entering; }
  void CancelExecs() override {}
  absl::Status ReopenLog(absl::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<std::string>> ListTraces() const override {
    absl::MutexLock lock(&mutex_);
    return std::vector<std::string>(traces_.begin(), traces_.end());
  }
  absl::StatusOr<std::optional<int64_t>> StartedAt(absl::string_view id,
                                                   const linux::ProcessId&) const override {
    absl::MutexLock lock(&mutex_);
    const auto it = started_.find(std::string(id));
    if (it == started_.end()) return std::nullopt;
    return it->second;
  }
  absl::StatusOr<std::vector<StrayExec>> FindStrayExecs(
      const std::vector<ContainerGroup>&) const override {
    absl::MutexLock lock(&mutex_);
    return strays_;
  }
  absl::Status EndStrayExec(const StrayExec& stray) override {
    if (absl::Status fault = faults.Check("EndStrayExec"); !fault.ok()) return fault;
    absl::MutexLock lock(&mutex_);
    std::erase_if(strays_, [&](const StrayExec& each) { return each.group == stray.group; });
    return absl::OkStatus();
  }
  absl::Status FinishStart(absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    started_.erase(std::string(id));
    return absl::OkStatus();
  }

 private:
  const FsRoot host_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Child> monitors_;
  std::map<std::string, ExitRecord> exits_;
  std::set<std::string> traces_;
  std::map<std::string, int64_t> started_;
  std::vector<StrayExec> strays_;
};

class FakeLease : public image::LayerLease {
 public:
  const std::vector<std::string>& lower_directories() const override { return none_; }
  const std::vector<std::string>& chain_ids() const override { return none_; }

 private:
  std::vector<std::string> none_;
};

// Has one image, "busybox".
class FakeImages : public image::ImageService {
 public:
  int collections = 0;  // garbage collections
  std::vector<std::string> damaged;

  absl::StatusOr<image::Image> Import(const std::string&, absl::string_view,
                                      const image::ProgressFn&,
                                      const std::function<bool()>&) override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<image::Image> Pull(absl::string_view, const image::PullOptions&,
                                    const image::ProgressFn&) override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<image::Image> Find(absl::string_view reference) const override {
    if (reference != "busybox") return absl::NotFoundError("no such image");
    image::Image image;
    image.record.id = "sha256:1";
    return image;
  }
  std::vector<image::Image> List() const override { return {}; }
  absl::Status Remove(absl::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<std::shared_ptr<image::LayerLease>> Lease(absl::string_view) override {
    return std::make_shared<FakeLease>();
  }
  absl::StatusOr<std::shared_ptr<image::LayerLease>> LeaseChain(
      const std::vector<std::string>&) override {
    return std::make_shared<FakeLease>();
  }
  absl::Status CollectGarbage() override {
    ++collections;
    return absl::OkStatus();
  }
  absl::StatusOr<image::ImageUsage> Usage() const override { return image::ImageUsage(); }
  std::string directory() const override { return "/nowhere"; }
  std::vector<std::string> Damaged() const override { return damaged; }
};

// Groups are names; KillAll runs `on_kill`.
class FakeCgroups : public linux::CgroupManager {
 public:
  Faults faults;
  uint64_t oom_kills = 0;
  std::atomic<int> moves_in_place = 0;
  std::function<void()> on_create;
  std::function<void()> on_apply;
  std::function<absl::Status(absl::string_view path, absl::Time deadline)> on_kill;
  std::function<void()> on_query;  // of what machine it is: layout, EndsWithProcesses

  std::set<std::string> groups() const {
    absl::MutexLock lock(&mutex_);
    return groups_;
  }
  void AddGroup(const std::string& path) {
    absl::MutexLock lock(&mutex_);
    groups_.insert(path);
  }

  linux::CgroupLayout layout() const override {
    if (on_query) on_query();
    return machine;
  }
  linux::CgroupLayout machine = linux::CgroupLayout::kV2;
  std::vector<std::string> Controllers() const override { return controllers; }
  std::vector<std::string> controllers = {"cpuset"};
  std::vector<std::string> UnifiedControllersOnHybrid() const override { return {}; }
  absl::StatusOr<std::vector<std::string>> Create(absl::string_view path) override {
    if (absl::Status fault = faults.Check("Create"); !fault.ok()) return fault;
    if (on_create) on_create();
    std::vector<std::string> made;
    absl::MutexLock lock(&mutex_);
    for (const std::string& group : linux::GroupAndParents(path)) {
      if (group != "/" && groups_.insert(group).second) made.push_back(group);
    }
    return made;
  }
  absl::StatusOr<std::vector<std::string>> MakeKeeper(absl::string_view path) override {
    return Create(path);
  }
  absl::StatusOr<bool> Exists(absl::string_view path) const override {
    PLIMSOLL_RETURN_IF_ERROR(cannot_look);
    absl::MutexLock lock(&mutex_);
    return groups_.contains(std::string(path));
  }
  absl::Status cannot_look;  // the result of Exists, unless OK
  absl::Status Remove(absl::string_view path) override {
    absl::MutexLock lock(&mutex_);
    groups_.erase(std::string(path));
    return absl::OkStatus();
  }
  absl::Status RemoveIfUnused(absl::string_view path) override {
    const std::string below = absl::StrCat(path, "/");
    absl::MutexLock lock(&mutex_);
    for (const std::string& group : groups_) {
      if (group.compare(0, below.size(), below) == 0) return absl::OkStatus();
    }
    groups_.erase(std::string(path));
    return absl::OkStatus();
  }
  absl::Status Apply(absl::string_view path, const linux::CgroupSettings& settings) override {
    if (on_apply) on_apply();
    if (absl::Status fault = faults.Check("Apply"); !fault.ok()) return fault;
    absl::MutexLock lock(&mutex_);
    settings_ = settings;
    cpusets_[std::string(path)] = {settings.cpuset_cpus.value_or("-"),
                                   settings.cpuset_mems.value_or("-")};
    return absl::OkStatus();
  }
  // The cpuset last applied to the group: CPUs and memory nodes, "-" for none.
  std::pair<std::string, std::string> cpuset(const std::string& path) const {
    absl::MutexLock lock(&mutex_);
    const auto it = cpusets_.find(path);
    return it == cpusets_.end() ? std::pair<std::string, std::string>() : it->second;
  }
  std::function<void()> on_read;      // before anything is read
  std::atomic<bool> is_gone = false;  // the result of that read
  absl::StatusOr<linux::CgroupSettings> Read(absl::string_view) const override {
    if (on_read) on_read();
    if (is_gone) return absl::NotFoundError("fake");
    absl::MutexLock lock(&mutex_);
    return settings_;
  }
  // Whether groups end with their processes, as under systemd's management.
  bool ends_with_processes = false;
  bool EndsWithProcesses() const override {
    if (on_query) on_query();
    return ends_with_processes;
  }
  struct Registered {
    std::string group;
    pid_t pid;
    linux::CgroupSettings settings;
  };
  std::vector<Registered> registered;
  absl::Status Register(absl::string_view path, pid_t pid,
                        const linux::CgroupSettings& settings) override {
    if (absl::Status fault = faults.Check("Register"); !fault.ok()) return fault;
    absl::MutexLock lock(&mutex_);
    registered.push_back({std::string(path), pid, settings});
    return absl::OkStatus();
  }
  absl::Status AddProcess(absl::string_view, pid_t) override { return faults.Check("AddProcess"); }
  absl::Status ReturnToCpuset(absl::string_view path) override {
    if (absl::Status fault = faults.Check("ReturnToCpuset"); !fault.ok()) return fault;
    absl::MutexLock lock(&mutex_);
    returned_.emplace_back(path);
    return absl::OkStatus();
  }
  // Groups, in the order in which their processes were brought back to their CPUs.
  std::vector<std::string> returned() const {
    absl::MutexLock lock(&mutex_);
    return returned_;
  }
  absl::Status MoveInPlace(const FsRoot&) override {
    ++moves_in_place;
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<pid_t>> Processes(absl::string_view, bool) const override {
    return std::vector<pid_t>();
  }
  absl::Status KillAll(absl::string_view path, absl::Time deadline) override {
    if (on_kill) return on_kill(path, deadline);
    return faults.Check("KillAll");
  }
  absl::StatusOr<std::vector<pid_t>> Threads(absl::string_view) const override {
    return std::vector<pid_t>();
  }
  absl::StatusOr<bool> Freeze(absl::string_view, absl::Time) override { return true; }
  absl::Status Thaw(absl::string_view) override { return absl::OkStatus(); }
  // By group and name: "/a/memory.high".
  std::map<std::string, std::string> files;
  std::function<void()> on_write;
  absl::StatusOr<std::string> ReadFile(absl::string_view path, absl::string_view,
                                       absl::string_view file) const override {
    const auto it = files.find(absl::StrCat(path, "/", file));
    if (it == files.end()) return absl::NotFoundError("fake");
    return it->second;
  }
  absl::Status WriteFile(absl::string_view path, absl::string_view, absl::string_view file,
                         absl::string_view value) override {
    const auto it = files.find(absl::StrCat(path, "/", file));
    if (it == files.end()) return absl::NotFoundError("fake");
    if (on_write) on_write();
    if (absl::Status fault = faults.Check("WriteFile"); !fault.ok()) return fault;
    it->second = std::string(value);
    return absl::OkStatus();
  }
  bool HasFile(absl::string_view, absl::string_view, absl::string_view) const override {
    return false;
  }
  absl::StatusOr<linux::CgroupStats> Stats(absl::string_view) const override {
    return linux::CgroupStats();
  }
  absl::StatusOr<uint64_t> OomKills(absl::string_view) const override { return oom_kills; }

 private:
  linux::CgroupSettings settings_;
  std::map<std::string, std::pair<std::string, std::string>> cpusets_;
  std::vector<std::string> returned_;
  mutable absl::Mutex mutex_;
  std::set<std::string> groups_;  // the exit watcher's thread removes some
};

// The real store, with writes that can be made to fail.
class FaultyStore : public Store {
 public:
  explicit FaultyStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Faults faults;

  absl::StatusOr<std::vector<SandboxRecord>> LoadSandboxes() override {
    return store_->LoadSandboxes();
  }
  absl::Status PutSandbox(const SandboxRecord& sandbox) override {
    if (absl::Status fault = faults.Check("PutSandbox"); !fault.ok()) return fault;
    return store_->PutSandbox(sandbox);
  }
  absl::Status RemoveSandbox(const std::string& id) override {
    if (absl::Status fault = faults.Check("RemoveSandbox"); !fault.ok()) return fault;
    return store_->RemoveSandbox(id);
  }
  absl::StatusOr<std::vector<ContainerRecord>> LoadContainers() override {
    return store_->LoadContainers();
  }
  absl::Status PutContainer(const ContainerRecord& container) override {
    const std::string operation =
        container.state == ContainerState::kCreated ? "PutCreated" : "PutContainer";
    if (absl::Status fault = faults.Check(operation); !fault.ok()) return fault;
    return store_->PutContainer(container);
  }
  absl::Status RemoveContainer(const std::string& id) override {
    if (absl::Status fault = faults.Check("RemoveContainer"); !fault.ok()) return fault;
    return store_->RemoveContainer(id);
  }
  std::vector<DamagedRow> Damaged() const override { return store_->Damaged(); }
  absl::StatusOr<std::set<std::string>> ListOwned(const std::string& kind) const override {
    return store_->ListOwned(kind);
  }
  absl::Status AddOwned(const std::string& kind, const std::string& name) override {
    return store_->AddOwned(kind, name);
  }
  absl::Status RemoveOwned(const std::string& kind, const std::string& name) override {
    return store_->RemoveOwned(kind, name);
  }
  absl::StatusOr<std::vector<image::ImageRecord>> LoadImages() override {
    return store_->LoadImages();
  }
  absl::Status PutImage(const image::ImageRecord& image) override {
    return store_->PutImage(image);
  }
  absl::Status RemoveImage(const std::string& id) override { return store_->RemoveImage(id); }

 private:
  const std::unique_ptr<Store> store_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_FAKES_FOR_TEST_H_
