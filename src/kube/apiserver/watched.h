// A copy of a collection of the API server, kept current by list and watch.
//
//   Watched slices(*client, {.path = "/apis/resource.k8s.io/v1/resourceslices",
//                            .field_selector = "spec.nodeName=n1",
//                            .on_change = [&](const ObjectChange&) { reconciler.Wake(); }});
//   ...
//   client->Stop();  // before the destructor, which waits for the call under way
#ifndef PLIMSOLL_KUBE_APISERVER_WATCHED_H_
#define PLIMSOLL_KUBE_APISERVER_WATCHED_H_

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/retry_delay.h"
#include "kube/apiserver/api_client.h"

namespace plimsoll::kube {

struct ObjectChange {
  enum class Kind { kAdded, kChanged, kDeleted };
  Kind kind = Kind::kAdded;
  std::string key;                         // "namespace/name", or "name" without a namespace
  const nlohmann::json* object = nullptr;  // as it is now; deleted: as it was last known
};

// The callbacks run in the watch's thread, one at a time; they may block and may call the Watched's
// own const functions. Null ones are passed over.
struct WatchedOptions {
  std::string path;            // of the collection, without a query
  std::string name;            // only the object of this name; empty: all
  std::string field_selector;  // "spec.nodeName=n1,spec.driver=d"
  std::string label_selector;
  std::function<void(const ObjectChange&)> on_change;
  // After each list, once its changes are told: from the first one on, the copy is whole.
  std::function<void()> on_listed;
  // After each failed attempt, and with OK after the success that follows one.
  std::function<void(const absl::Status&)> on_state;
  // Delays after lists and watches that failed, or ended before they reported anything.
  RetryDelayOptions retry = {
      .first = absl::Milliseconds(800), .longest = absl::Seconds(30), .jitter = {}};
  size_t page = 16;            // objects asked for at a time: ApiClient's bodies are bounded
  size_t most_objects = 5000;  // a list of more fails with RESOURCE_EXHAUSTED
};

// Lists once, then watches from the list's resourceVersion on and resumes a watch that ended where
// it ended, by bookmarks too. A version that the server no longer knows (410 Gone), and a server
// that goes back in time (a replica that lags, a store set back), make it list again: changes that
// were missed are then reported from the difference. Thread-safe.
class Watched {
 public:
  // Starts the thread. `client` outlives this.
  Watched(ApiClient& client, WatchedOptions options);
  // The call under way ends by the client's Stop, or by an event; so does this.
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // The first list has been told.
  bool listed() const;
  // All objects by key, as last told.
  std::map<std::string, nlohmann::json> Objects() const;
  std::optional<nlohmann::json> Find(const std::string& key) const;

 private:
  using Json = nlohmann::json;

  void Run();
  // Lists if that is needed, then watches until the watch ends. `progress`: it told something, or
  // lasted long.
  absl::Status Round(bool* progress);
  void Tell(const absl::Status& status);
  size_t Count() const;
  absl::StatusOr<std::map<std::string, Json>> ListAll(std::string* version);
  absl::Status ListAnew();
  absl::Status WatchOn(bool* progress);
  absl::Status Take(const WatchEvent& event);
  // Stores the object and reports it, unless it is there already. Null: it is gone.
  void Change(const std::string& key, Json object);
  std::string PathWith(std::vector<std::pair<std::string, std::string>> parameters) const;
  bool Rest(absl::Duration wait);

  ApiClient& client_;
  const WatchedOptions options_;
  std::string version_;  // the thread's own, as the next; empty: a list is needed
  bool failed_ = false;
  mutable absl::Mutex mutex_;
  std::map<std::string, Json> objects_ ABSL_GUARDED_BY(mutex_);
  bool listed_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_WATCHED_H_
