// For tests of what uses an ApiClient: an API server in memory, behind the client's interface.
//
//   FakeApiClient server;
//   server.Put("/api/v1/nodes/n1", {{"kind", "Node"}});
//   Controller controller(server);
//   server.Fail("PATCH", "/nodes/", absl::UnavailableError("etcd is away"), /*times=*/2);
//
// It behaves as a server does where a controller can tell:
// - A path names an object by its shape alone: any resource exists, unless Unknown says otherwise.
// - Every change takes the next resourceVersion; one that changes nothing takes none, and makes no
//   event. An update or deletion with another resourceVersion or uid than the object's is ABORTED;
//   of a custom resource (any group but the core, apps, resource, coordination and events) a PUT
//   without resourceVersion is INVALID_ARGUMENT. A POST sets uid, generation, creationTimestamp.
// - ".../status" changes the status, labels and annotations alone; for nodes, pods and
//   resourceclaims the object's own path leaves the status as it is.
// - PATCH: merge-patch, JSON patch, and strategic-merge-patch with lists replaced, but for
//   "conditions" and "addresses". No server-side apply.
// - Lists: limit, continue, labelSelector (without sets), fieldSelector (any field that is text).
//   DELETE of a collection.
// - Watches, of collections only: without resourceVersion, or with "0", they begin with what there
//   is as ADDED. An object that a selector takes in or leaves out by a change is ADDED or DELETED.
//   Versions before Compact are OUT_OF_RANGE.
// Not there: namespaces' life, finalizers, validation, defaults, garbage collection.
#ifndef PLIMSOLL_KUBE_APISERVER_FAKE_API_CLIENT_FOR_TEST_H_
#define PLIMSOLL_KUBE_APISERVER_FAKE_API_CLIENT_FOR_TEST_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "kube/apiserver/api_client.h"
#include "kube/apiserver/fake_store_for_test.h"
#include "kube/apiserver/fake_target_for_test.h"

namespace plimsoll::kube {

// Thread-safe.
class FakeApiClient : public ApiClient {
 public:
  using Json = nlohmann::json;
  static constexpr int kAlways = std::numeric_limits<int>::max();

  // Changes by others to the server's objects. `path` is an object's.
  void Put(absl::string_view path, Json object) {
    const absl::MutexLock lock(&mutex_);
    store_.Put(ReadFakeTarget(path), std::move(object));
    changed_.SignalAll();
  }
  void Remove(absl::string_view path) {
    const absl::MutexLock lock(&mutex_);
    store_.Delete(ReadFakeTarget(path), Json()).IgnoreError();
    changed_.SignalAll();
  }
  // The object as it is now; null: there is none.
  Json Get(absl::string_view path) const {
    const absl::MutexLock lock(&mutex_);
    return store_.Read(ReadFakeTarget(path)).value_or(Json());
  }
  // The objects of a collection, with the selectors of a query, by namespace and name.
  std::vector<Json> All(absl::string_view path) const {
    const absl::MutexLock lock(&mutex_);
    return store_.Select(ReadFakeTarget(path));
  }

  // The next `times` requests with this method ("" is any, "WATCH" a watch's) and with `part` in
  // the path get the error. Of several errors for a request, the oldest counts.
  void Fail(absl::string_view method, absl::string_view part, absl::Status error, int times = 1) {
    const absl::MutexLock lock(&mutex_);
    faults_.push_back({std::string(method), std::string(part), std::move(error), times});
  }
  // A resource that the server doesn't have, as a CRD that nobody installed.
  void Unknown(absl::string_view part) {
    Fail("", part, absl::NotFoundError("the server could not find the requested resource"),
         kAlways);
  }
  // Forgets what Fail and Unknown asked for.
  void Heal() {
    const absl::MutexLock lock(&mutex_);
    faults_.clear();
  }
  // Runs before each request is answered, in its thread and without locks: for a change that comes
  // between a controller's read and its write. Set it before the first request.
  void BeforeEach(std::function<void(const ApiRequest&)> hook) { hook_ = std::move(hook); }

  // Ends all watches of now, as a server does after its timeout or when it restarts.
  void EndWatches() {
    const absl::MutexLock lock(&mutex_);
    ++epoch_;
    changed_.SignalAll();
  }
  // Forgets the history. A running watch that has seen all goes on.
  void Compact() {
    const absl::MutexLock lock(&mutex_);
    store_.Compact();
  }
  // Sends a bookmark with the present version to all watches that allow bookmarks.
  void Bookmark() {
    const absl::MutexLock lock(&mutex_);
    bookmark_ = store_.version();
    ++bookmarks_;
    changed_.SignalAll();
  }

  // All requests, in order; watches have the method "WATCH".
  std::vector<ApiRequest> requests() const {
    const absl::MutexLock lock(&mutex_);
    return requests_;
  }
  // "GET /api/v1/nodes/n1" of each request since the last call.
  std::vector<std::string> TakeLines() {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::string> lines;
    for (; told_ < requests_.size(); ++told_) {
      lines.push_back(absl::StrCat(requests_[told_].method, " ", requests_[told_].path));
    }
    return lines;
  }
  int watches() const {
    const absl::MutexLock lock(&mutex_);
    return watches_;
  }

  absl::StatusOr<Json> Call(const ApiRequest& request,
                            absl::Duration = absl::ZeroDuration()) override {
    if (hook_) hook_(request);
    const absl::MutexLock lock(&mutex_);
    PLIMSOLL_RETURN_IF_ERROR(Admit(request));
    absl::StatusOr<Json> answer = store_.Answer(request);
    changed_.SignalAll();
    if (answer.ok()) return answer;
    return Annotate(answer.status(), absl::StrCat(request.method, " ", request.path));
  }

  absl::Status Watch(const std::string& path,
                     const std::function<bool(WatchEvent)>& on_event) override {
    ApiRequest request;
    request.method = "WATCH";
    request.path = path;
    if (hook_) hook_(request);
    const FakeTarget target = ReadFakeTarget(path);
    std::list<WatchEvent> events;
    Position position;
    {
      const absl::MutexLock lock(&mutex_);
      PLIMSOLL_RETURN_IF_ERROR(Admit(request));
      PLIMSOLL_RETURN_IF_ERROR(Begin(target, position, events));
      ++watches_;
    }
    absl::Status status;
    bool goes_on = true;
    while (goes_on) {
      while (goes_on && !events.empty()) {
        goes_on = on_event(std::move(events.front()));
        events.pop_front();
      }
      if (!goes_on) break;
      const absl::StatusOr<bool> more = Await(target, position, events);
      status = more.status();
      goes_on = more.ok() && *more;
    }
    const absl::MutexLock lock(&mutex_);
    --watches_;
    return status;
  }

  void Stop() override {
    const absl::MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }

 private:
  struct Fault {
    std::string method;
    std::string part;
    absl::Status error;
    int times = 0;
  };
  // How far a watch has come.
  struct Position {
    int64_t version = 0;
    int epoch = 0;
    int bookmarks = 0;
  };

  // Records the request; the error that was asked for.
  absl::Status Admit(const ApiRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopped_) return absl::CancelledError("the client was stopped");
    requests_.push_back(request);
    for (auto each = faults_.begin(); each != faults_.end(); ++each) {
      if (!each->method.empty() && each->method != request.method) continue;
      if (!absl::StrContains(request.path, each->part)) continue;
      const absl::Status error =
          Annotate(each->error, absl::StrCat(request.method, " ", request.path));
      if (each->times != kAlways && --each->times == 0) faults_.erase(each);
      return error;
    }
    return absl::OkStatus();
  }

  absl::Status Begin(const FakeTarget& target, Position& position, std::list<WatchEvent>& events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (target.resource.empty() || !target.name.empty() || target.value("watch") != "true") {
      return absl::InvalidArgumentError("a watch is of a collection and has \"watch=true\"");
    }
    position.epoch = epoch_;
    position.bookmarks = bookmarks_;
    position.version = store_.version();
    const std::string since = target.value("resourceVersion");
    if (since.empty() || since == "0") {
      for (Json& object : store_.Select(target)) events.push_back({"ADDED", std::move(object)});
      return absl::OkStatus();
    }
    if (!absl::SimpleAtoi(since, &position.version)) {
      return absl::InvalidArgumentError("resourceVersion");
    }
    if (position.version > store_.version()) {
      return absl::UnavailableError("Too large resource version");
    }
    return TooOld(position);
  }

  absl::Status TooOld(const Position& position) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (position.version >= store_.compacted()) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat("too old resource version: ", position.version, " (",
                                              store_.compacted(), ")"));
  }

  // Waits for events. False: the server has ended the watch.
  absl::StatusOr<bool> Await(const FakeTarget& target, Position& position,
                             std::list<WatchEvent>& events) {
    const absl::MutexLock lock(&mutex_);
    while (true) {
      if (stopped_) return absl::CancelledError("the client was stopped");
      for (const FakeStore::Change& change : store_.history()) {
        if (change.version <= position.version) continue;
        position.version = change.version;
        if (FakeStore::Has(target, change.resource, change.space)) Tell(target, change, events);
      }
      PLIMSOLL_RETURN_IF_ERROR(TooOld(position));
      if (position.bookmarks != bookmarks_ && target.value("allowWatchBookmarks") == "true") {
        Json object;
        object["metadata"]["resourceVersion"] = absl::StrCat(bookmark_);
        events.push_back({"BOOKMARK", std::move(object)});
      }
      position.bookmarks = bookmarks_;
      if (!events.empty()) return true;
      if (position.epoch != epoch_) return false;
      changed_.Wait(&mutex_);
    }
  }

  static void Tell(const FakeTarget& target, const FakeStore::Change& change,
                   std::list<WatchEvent>& events) {
    const bool was = !change.before.is_null() && FakeSelects(target, change.before);
    const bool is = !change.after.is_null() && FakeSelects(target, change.after);
    if (is) {
      events.push_back({was ? "MODIFIED" : "ADDED", change.after});
    } else if (was) {
      Json last = change.before;
      last["metadata"]["resourceVersion"] = absl::StrCat(change.version);
      events.push_back({"DELETED", std::move(last)});
    }
  }

  std::function<void(const ApiRequest&)> hook_;
  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  FakeStore store_ ABSL_GUARDED_BY(mutex_);
  std::list<Fault> faults_ ABSL_GUARDED_BY(mutex_);
  std::vector<ApiRequest> requests_ ABSL_GUARDED_BY(mutex_);
  size_t told_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bookmark_ ABSL_GUARDED_BY(mutex_) = 0;
  int bookmarks_ ABSL_GUARDED_BY(mutex_) = 0;
  int epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  int watches_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_FAKE_API_CLIENT_FOR_TEST_H_
