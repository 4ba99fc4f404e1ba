#include "agent/pods/agent_pods.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/allocation/place_book.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/records/pod_change.h"
#include "agent/pods/resizing/resize_patch.h"
#include "agent/pods/status/pod_subject.h"
#include "base/status.h"
#include "pod_runner/cri_requests/host.h"

namespace plimsoll::agent {
namespace {

// The end of the API waits for a quiet watch.
constexpr absl::Duration kQuiet = absl::Milliseconds(250);

PodHost WithRoom(PodHost host, std::function<void()> on_room,
                 std::function<void(const std::string&)> note) {
  host.on_room = std::move(on_room);
  host.note = std::move(note);
  host.places = std::make_shared<PlaceBook>();
  return host;
}

// Where a pod comes from.
struct Origin {
  std::string file;  // as PodRecord's
  bool is_deleted = false;
};
Origin OriginOf(const PodWorker& pod) {
  Origin origin;
  pod.Read([&](const PodRecord& record) {
    origin = {.file = record.file, .is_deleted = record.deleted.has_value()};
  });
  return origin;
}

// Shows a pod on record. Errors: it can't be read.
absl::StatusOr<PodTable::Worker> WorkerOf(const PodHost& host, const PodRecord& record) {
  PLIMSOLL_ASSIGN_OR_RETURN(pod::Manifest manifest,
                            pod::ManifestOnRecord(record.Allocated(), PodName(record.key)));
  host.board.Put(record.key, UnseenPodObject(record, host.node.name));
  return std::make_shared<PodWorker>(host, record, std::move(manifest));
}

absl::Status NotJudged(const PodKey& key) {
  return absl::UnavailableError(absl::StrCat(
      PodName(key), " can't be taken yet: not all pods of before have been looked at"));
}

// The errors of PodHost::check_classes. `all_known`: all pods of before have been looked at.
absl::Status CheckClasses(const PodHost& host, const PodKey& key, const pod::Manifest& pod,
                          const std::vector<const pod::Manifest*>& others, bool all_known) {
  if (!host.check_classes) return absl::OkStatus();
  const absl::Status beside = host.check_classes(nullptr, pod, others);
  if (beside.ok() || all_known) return beside;
  // A pod of before may have ended, and leave its class.
  const absl::Status alone = host.check_classes(nullptr, pod, {});
  return alone.ok() ? NotJudged(key) : alone;
}

// The verdict that no other pod changes: the node lacks a class, or is too small. nullopt: there is
// none, or it is of devices, which come with their plugins.
absl::StatusOr<std::optional<PodVerdict>> VerdictAlone(const PodHost& host,
                                                       const AgentPods::Admit& admit,
                                                       const pod::Manifest& pod) {
  PodGrant grant;
  GrantLedger ledger(host.places->managers(), DeviceStock(), /*prefer=*/nullptr, {});
  std::optional<PodVerdict> verdict = ledger.Claim(pod, grant);
  if (!verdict) {
    PLIMSOLL_ASSIGN_OR_RETURN(verdict, admit(pod, {}));
  }
  if (verdict && absl::StrContains(verdict->reason, '/')) return std::nullopt;
  return verdict;
}

// FAILED_PRECONDITION: a file has the pod, or it is being deleted.
absl::Status CheckAppliable(const PodRecord& record) {
  if (!record.file.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        PodName(record.key), " is of the manifest file ", record.file, "; change it there"));
  }
  if (record.deleted) {
    return absl::FailedPreconditionError(
        absl::StrCat(PodName(record.key), " is being deleted; apply it again once it is removed"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<PodKey, pod::PodObject>> WantedPods(absl::string_view text,
                                                            absl::string_view file) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<pod::PodObject> parsed, pod::ParsePodObjects(text, file));
  std::map<PodKey, pod::PodObject> pods;
  for (pod::PodObject& each : parsed) {
    const PodKey key = {each.manifest.pod_namespace, each.manifest.name};
    each.manifest.file = PodName(key);  // a client's file name may be a temporary file's
    pods[key] = std::move(each);
  }
  return pods;
}

AgentPods::AgentPods(Options options)
    : host_(WithRoom(
          std::move(options.host), [this] { OnRoom(); }, options.note)),
      before_admission_(options.before_admission ? std::move(options.before_admission)
                                                 : std::function<void()>([] {})),
      admit_(std::move(options.admit)),
      node_(std::move(options.node)),
      note_(std::move(options.note)),
      changes_(host_, admit_, table_),
      table_(options.max_threads, [this](const PodKey& pod) { OnGone(pod); }) {}

AgentPods::~AgentPods() {
  BeginEnd();
}

void AgentPods::BeginEnd() {
  {
    // First: an answer that fails for the end must not become a pod's verdict.
    const absl::MutexLock lock(&mutex_);
    is_ending_ = true;
  }
  host_.client.Abandon();
  if (host_.device_manager != nullptr) host_.device_manager->Stop();
}

absl::StatusOr<std::unique_ptr<AgentPods>> AgentPods::Start(Options options) {
  PLIMSOLL_ASSIGN_OR_RETURN(PodStore::Loaded loaded, options.host.store.Load());
  auto pods = std::unique_ptr<AgentPods>(new AgentPods(std::move(options)));
  for (UnreadablePod& each : loaded.unreadable) pods->SetAside(std::move(each.record), each.why);
  std::vector<PodTable::Worker> workers;
  for (const PodRecord& record : loaded.pods) {
    absl::StatusOr<PodTable::Worker> worker =
        WithFailures([&] { return WorkerOf(pods->host_, record); });
    if (worker.ok()) {
      workers.push_back(*std::move(worker));
    } else {
      pods->SetAside(record, std::string(worker.status().message()));
    }
  }
  loaded.pods.clear();  // the workers have copies
  // A pod that has ended already makes room for others: that is to be judged beside all pods.
  const absl::MutexLock lock(&pods->mutex_);
  for (PodTable::Worker& each : workers) pods->table_.Add(std::move(each));
  return pods;
}

void AgentPods::InRounds(absl::FunctionRef<void(Preferences&)> work) {
  Preferences preferences(host_.device_manager);
  do {
    const absl::MutexLock lock(&mutex_);
    work(preferences);
  } while (preferences.Ask());
}

absl::StatusOr<AgentPods::Present> AgentPods::PresentNow(Preferences& preferences) {
  if (is_ending_) return absl::UnavailableError("no pod is taken any more: the agent ends");
  std::shared_ptr<const NodeManagers> managers = host_.places->managers();
  if (managers == nullptr) {
    return absl::UnavailableError("no pod can be taken yet: the node's topology isn't known");
  }
  const std::vector<PodTable::Worker> all = table_.All();
  DeviceStock stock;
  if (host_.device_manager != nullptr) stock = host_.device_manager->Stock();
  Present present{
      .ledger = GrantLedger(std::move(managers), std::move(stock), preferences.Known(), all),
      .all_known = true,
      .kept = {},
      .others = {}};
  for (const auto& [key, aside] : unreadable_) present.ledger.Hold(aside.record.grant);
  for (const PodTable::Worker& each : all) {
    present.all_known = present.all_known && each->is_known();
    if (!each->is_active()) continue;
    present.kept.push_back(each->manifest());
    present.others.push_back(present.kept.back().get());
  }
  return present;
}

absl::StatusOr<PodRecord> AgentPods::RecordOf(const PodKey& key, const pod::PodObject& wanted,
                                              Present& present) {
  const auto aside = unreadable_.find(key);
  if (aside != unreadable_.end()) return UnreadableError(key, aside->second.why);
  PodRecord record;
  record.uid = pod::RandomUid();
  record.key = key;
  record.object = wanted.object;
  record.created = host_.clock.Now();
  record.grace_s = wanted.manifest.grace_period_s;
  PLIMSOLL_RETURN_IF_ERROR(
      CheckClasses(host_, key, wanted.manifest, present.others, present.all_known));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<PodVerdict> no_room,
                            admit_(wanted.manifest, present.others));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<PodGrant> wish,
                            host_.store.ImportedGrantFor(UidIn(wanted.object), key));
  // kubelet's managers are asked first.
  record.verdict = present.ledger.Claim(wanted.manifest, record.grant, wish ? &*wish : nullptr);
  if (!record.verdict) record.verdict = no_room;
  if (record.verdict && !present.all_known) {
    PLIMSOLL_ASSIGN_OR_RETURN(record.verdict, VerdictAlone(host_, admit_, wanted.manifest));
    if (!record.verdict) return NotJudged(key);
  }
  if (record.verdict) {
    record.grant = {};
  } else {
    present.ledger.Keep(record.grant);
    present.others.push_back(&wanted.manifest);
  }
  return record;
}

absl::Status AgentPods::Take(const std::map<PodKey, pod::PodObject>& pods, const std::string& file,
                             Preferences& preferences) {
  if (pods.empty()) return absl::OkStatus();
  const size_t asked = preferences.questions();
  PLIMSOLL_ASSIGN_OR_RETURN(Present present, PresentNow(preferences));
  std::vector<PodRecord> records;
  for (const auto& [key, wanted] : pods) {
    PLIMSOLL_ASSIGN_OR_RETURN(PodRecord record, RecordOf(key, wanted, present));
    record.file = file;
    records.push_back(std::move(record));
  }
  if (preferences.questions() != asked) {
    return absl::UnavailableError(
        absl::StrCat(PodName(pods.begin()->first),
                     " can't be taken yet: plugins are asked which devices they prefer"));
  }
  PLIMSOLL_RETURN_IF_ERROR(present.ledger.Settle(table_));
  PLIMSOLL_RETURN_IF_ERROR(host_.store.Put(records));
  // Before the new ones start: their containers that share CPUs begin with the right ones.
  if (host_.places->Set(host_.places->managers(), present.ledger.shared_cpus())) {
    table_.WakeAll();
  }
  for (PodRecord& record : records) {
    const pod::Manifest& manifest = pods.at(record.key).manifest;
    Begin(std::move(record), manifest);
  }
  return absl::OkStatus();
}

void AgentPods::Begin(PodRecord record, const pod::Manifest& manifest) {
  const InvolvedObject subject = SubjectOf(record);
  if (record.verdict) {
    host_.events.Add(subject, "Warning", record.verdict->reason,
                     absl::StripPrefix(record.verdict->message, kRejected));
  }
  for (const std::string& note : manifest.notes) {
    host_.events.Add(subject, "Warning", "FieldIgnored", note);
  }
  const bool has_cpuset = std::any_of(
      manifest.annotations.begin(), manifest.annotations.end(),
      [](const auto& each) { return absl::StartsWith(each.first, pod::kCpusetAnnotation); });
  if (has_cpuset && host_.places->managers()->cpus() != nullptr) {
    host_.events.Add(subject, "Warning", "FieldIgnored",
                     absl::StrCat("annotation ", pod::kCpusetAnnotation,
                                  " has no effect: the static CPU manager places containers"));
  }
  PodSituation situation{record, manifest, {}, std::nullopt, {}, ""};
  if (host_.device_manager != nullptr && !record.grant.devices.empty()) {
    situation.devices = host_.device_manager->Stock();
  }
  host_.board.Put(record.key, PodObject(situation, host_.node, {}, record.created));
  table_.Add(std::make_shared<PodWorker>(host_, std::move(record), manifest, PodOrigin::kNew));
}

absl::Status AgentPods::ApplyAll(const std::map<PodKey, pod::PodObject>& wanted,
                                 Preferences& preferences) {
  using Asked = std::pair<PodTable::Worker, const pod::PodObject*>;
  std::map<PodKey, pod::PodObject> fresh;
  std::vector<Asked> present, changed;
  ChangedTogether together;
  for (const auto& [key, pod] : wanted) {
    PodTable::Worker worker = table_.Find(key);
    if (worker != nullptr) {
      present.emplace_back(std::move(worker), &pod);
      continue;
    }
    fresh[key] = pod;
    together.fresh.push_back(&pod.manifest);
  }
  for (const auto& [worker, pod] : present) {
    const PodRecord record = worker->record();
    PLIMSOLL_RETURN_IF_ERROR(CheckAppliable(record));
    if (!ChangeOf(record.object, pod->object).any) continue;
    PLIMSOLL_RETURN_IF_ERROR(changes_.Check(*worker, pod->object, pod->manifest, together));
    together.living[worker->uid()] = &pod->manifest;
    changed.emplace_back(worker, pod);
  }
  PLIMSOLL_RETURN_IF_ERROR(WithFailures([&] {
    mutex_.AssertHeld();
    return Take(fresh, "", preferences);
  }));
  for (const auto& [worker, pod] : changed) {
    PLIMSOLL_RETURN_IF_ERROR(changes_.Put(*worker, pod->object, pod->manifest));
  }
  if (!changed.empty()) changes_.Retry();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<nlohmann::json>> AgentPods::Apply(absl::string_view text,
                                                             absl::string_view file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto wanted, WantedPods(text, file));
  if (wanted.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": has no pod"));
  }
  before_admission_();
  absl::Status applied = absl::OkStatus();
  InRounds([&](Preferences& preferences) {
    mutex_.AssertHeld();
    applied = ApplyAll(wanted, preferences);
  });
  PLIMSOLL_RETURN_IF_ERROR(applied);
  std::vector<nlohmann::json> objects;
  for (const auto& [key, pod] : wanted) {
    PLIMSOLL_ASSIGN_OR_RETURN(nlohmann::json object, Get(key));
    objects.push_back(std::move(object));
  }
  return objects;
}

absl::Status AgentPods::Delete(const PodKey& pod, std::optional<int64_t> grace_s) {
  {
    const absl::MutexLock lock(&mutex_);
    if (unreadable_.contains(pod)) return EndAside(pod, grace_s);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const PodTable::Worker worker, Find(pod));
  const PodRecord record = worker->record();
  if (!record.file.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(PodName(pod), " is of the manifest file ",
                                                      record.file,
                                                      "; remove the file, or the pod in it"));
  }
  PLIMSOLL_RETURN_IF_ERROR(worker->Delete(grace_s.value_or(worker->manifest()->grace_period_s)));
  table_.Wake(record.uid);
  return absl::OkStatus();
}

void AgentPods::SetFiles(std::map<std::string, std::map<PodKey, pod::PodObject>> files,
                         std::set<std::string> unread) {
  before_admission_();
  {
    const absl::MutexLock lock(&mutex_);
    files_ = Files{.pods = std::move(files), .unread = std::move(unread)};
  }
  InRounds([&](Preferences& preferences) {
    mutex_.AssertHeld();
    Reconcile(preferences);
  });
  const absl::MutexLock lock(&mutex_);
  changes_.Retry();
}

void AgentPods::OnGone(const PodKey& pod) {
  before_admission_();
  {
    const absl::MutexLock lock(&mutex_);
    if (table_.Find(pod) == nullptr) host_.board.Remove(pod);
    UseRoom();
  }
  Retry();
}

void AgentPods::OnRoom() {
  before_admission_();
  const absl::MutexLock lock(&mutex_);
  UseRoom();
  changes_.Retry();
}

void AgentPods::Retry() {
  before_admission_();
  {
    const absl::MutexLock lock(&mutex_);
    WakeAfterAmounts();
    changes_.Retry();
  }
  InRounds([&](Preferences& preferences) {
    mutex_.AssertHeld();
    Reconcile(preferences);
  });
}

bool AgentPods::IsWanted(PodWorker& pod, const std::string& path) {
  if (files_->unread.contains(path)) return true;
  const auto file = files_->pods.find(path);
  if (file == files_->pods.end()) return false;
  const auto wanted = file->second.find(pod.key());
  if (wanted == file->second.end()) return false;
  const pod::PodObject& next = wanted->second;
  bool changes = false;
  pod.Read([&](const PodRecord& record) { changes = ChangeOf(record.object, next.object).any; });
  if (!changes) return true;
  absl::Status status = changes_.Check(pod, next.object, next.manifest);
  // A change that no living pod takes makes another pod of the file.
  if (absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status)) return false;
  if (status.ok()) status = changes_.Put(pod, next.object, next.manifest);
  // Any other error may pass, and is no reason to end the pod.
  if (!status.ok() && !absl::IsNotFound(status)) {
    host_.events.Add(SubjectOfKey(pod.key()), "Warning", "FailedUpdate",
                     absl::StrCat("the pod stays as it is, and the change of ", path,
                                  " is tried again: ", status.message()));
  }
  return true;
}

void AgentPods::EndUnwanted() {
  for (const PodTable::Worker& each : table_.All()) {
    const Origin origin = OriginOf(*each);
    if (origin.file.empty() || origin.is_deleted) continue;
    if (IsWanted(*each, origin.file)) continue;
    const absl::Status status = each->Delete(each->manifest()->grace_period_s);
    if (!status.ok()) {
      host_.events.Add(SubjectOfKey(each->key()), "Warning", "FailedDelete", status.message());
      continue;
    }
    table_.Wake(each->uid());
  }
}

void AgentPods::Reconcile(Preferences& preferences) {
  if (!files_) return;
  EndUnwanted();
  ReplaceUnreadable();
  std::map<PodKey, std::string> owners;  // files
  for (const PodTable::Worker& each : table_.All()) {
    Origin origin = OriginOf(*each);
    if (!origin.file.empty() && !origin.is_deleted) owners[each->key()] = std::move(origin.file);
  }
  for (const auto& [file, pods] : files_->pods) {
    for (const auto& [key, wanted] : pods) {
      const std::string owner = owners.try_emplace(key, file).first->second;
      if (owner != file) {
        host_.events.Add(SubjectOfKey(key), "Warning", "NameTaken",
                         absl::StrCat(file, " and ", owner, " ask for ", PodName(key),
                                      "; the pod is of ", owner));
        continue;
      }
      const PodTable::Worker present = table_.Find(key);
      if (present != nullptr) {
        if (OriginOf(*present).file.empty()) {
          host_.events.Add(SubjectOfKey(key), "Warning", "NameTaken",
                           absl::StrCat(file, " asks for ", PodName(key),
                                        ", which came through the API and stays"));
        }
        continue;  // the same pod, or its end brings this here again
      }
      const size_t asked = preferences.questions();
      // clang 14 captures no structured bindings by default.
      const absl::Status status = WithFailures([&, &key = key, &wanted = wanted, &file = file] {
        mutex_.AssertHeld();
        return Take({{key, wanted}}, file, preferences);
      });
      // A plugin's answer decides in the next round.
      if (preferences.questions() != asked && preferences.WillAsk()) continue;
      if (!status.ok()) {
        host_.events.Add(SubjectOfKey(key), "Warning", "FailedCreate", status.message());
      }
    }
  }
}

NodeClassUse AgentPods::ClassesInUse(const std::string& pod_namespace) const {
  NodeClassUse use;
  for (const PodTable::Worker& each : table_.All()) {
    if (each->key().pod_namespace != pod_namespace || !each->is_active()) continue;
    use.Add(RequestedClasses(*each->manifest()));
  }
  return use;
}

absl::StatusOr<PodTable::Worker> AgentPods::Find(const PodKey& pod) const {
  PodTable::Worker worker = table_.Find(pod);
  if (worker == nullptr) return absl::NotFoundError(absl::StrCat(PodName(pod), " is not here"));
  return worker;
}

absl::StatusOr<nlohmann::json> AgentPods::Get(const PodKey& pod) const {
  const PodBoard::Object object = host_.board.Get(pod);
  if (object == nullptr) return absl::NotFoundError(absl::StrCat(PodName(pod), " is not here"));
  return *object;
}

std::vector<nlohmann::json> AgentPods::List(const std::string& pod_namespace) const {
  std::vector<nlohmann::json> objects;
  for (const PodBoard::Object& each : host_.board.List(pod_namespace)) objects.push_back(*each);
  return objects;
}

void AgentPods::Watch(const std::string& pod_namespace, const OnChange& change) const {
  host_.board.Watch(pod_namespace, kQuiet, change);
}

absl::StatusOr<ObservedContainer> AgentPods::RunOf(const PodKey& pod, const std::string& container,
                                                   bool previous) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const PodTable::Worker worker, Find(pod));
  std::vector<std::string> names;
  const std::shared_ptr<const pod::Manifest> manifest = worker->manifest();
  for (const pod::ContainerManifest& each : manifest->containers) {
    names.push_back(each.name);
  }
  if (container.empty() && names.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        PodName(pod), " has several containers: choose of ", absl::StrJoin(names, ", ")));
  }
  const std::string name = container.empty() ? names.front() : container;
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return absl::NotFoundError(absl::StrCat(PodName(pod), " has no container ", name, "; it has ",
                                            absl::StrJoin(names, ", ")));
  }
  int to_skip = previous ? 1 : 0;
  for (const ObservedContainer& each : worker->observed().containers) {
    if (each.name == name && to_skip-- == 0) return each;
  }
  return absl::NotFoundError(
      absl::StrCat(PodName(pod), ": container ", name,
                   previous ? " has not run before" : " has not started yet"));
}

absl::StatusOr<std::string> AgentPods::LogPath(const PodKey& pod, const std::string& container,
                                               bool previous) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const ObservedContainer run, RunOf(pod, container, previous));
  if (!run.log_path.empty()) return run.log_path;
  return absl::NotFoundError(
      absl::StrCat(PodName(pod), ": container ", run.name, " has not started yet"));
}

absl::StatusOr<std::string> AgentPods::ExecUrl(const PodKey& pod, const std::string& container,
                                               const std::vector<std::string>& command, bool input,
                                               bool terminal) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ObservedContainer run, RunOf(pod, container, /*previous=*/false));
  if (run.state != ObservedState::kRunning) {
    return absl::FailedPreconditionError(
        absl::StrCat(PodName(pod), ": container ", run.name, " does not run"));
  }
  return host_.client.ExecUrl(run.id, command, input, terminal);
}

absl::StatusOr<nlohmann::json> AgentPods::Resize(const PodKey& pod, const nlohmann::json& patch) {
  before_admission_();
  const absl::MutexLock lock(&mutex_);
  PLIMSOLL_ASSIGN_OR_RETURN(const PodTable::Worker worker, Find(pod));
  if (!host_.resizes_pods) {
    return absl::UnimplementedError(
        "feature gate InPlacePodVerticalScaling is off: pods keep their resources; delete the pod "
        "and apply it again");
  }
  const PodRecord record = worker->record();
  if (!record.file.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(PodName(pod), " is of the manifest file ", record.file, "; change it there"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const nlohmann::json object, ResizedObject(record.object, patch));
  // The patch has resources alone: the rest is as on record.
  PLIMSOLL_ASSIGN_OR_RETURN(const pod::PodObject wanted, pod::PodOnRecord(object, PodName(pod)));
  PLIMSOLL_RETURN_IF_ERROR(changes_.Check(*worker, wanted.object, wanted.manifest));
  PLIMSOLL_RETURN_IF_ERROR(changes_.Put(*worker, wanted.object, wanted.manifest));
  changes_.Retry();
  return Get(pod);
}

}  // namespace plimsoll::agent
