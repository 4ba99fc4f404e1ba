#include "kube/driver/driver.h"

#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "kube/apiserver/reconciler.h"
#include "kube/driver/claims.h"
#include "kube/driver/health_streams.h"
#include "kube/driver/scheduling.h"
#include "kube/driver/troubles.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {
namespace {

constexpr size_t kMostVerdictBytes = 1024;

// Passing by themselves, and seen on every busy cluster: not for the log.
bool IsRoutine(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsCancelled(status);
}

class Driver final : public ClassDriver {
 public:
  Driver(ApiClient& api, RuntimeLink& link, DriverOptions options,
         std::unique_ptr<ClaimStore> store)
      : api_(api),
        options_(std::move(options)),
        troubles_(options_.warn, options_.note),
        store_(std::move(store)),
        scheduling_(link, board_),
        claims_(api, link, board_, *store_,
                {.node = options_.node, .patience = options_.claim_patience}),
        publisher_(api, PublisherOptions()),
        chores_([this] { return DoChores(); }, ChoreOptions()) {}

  absl::Status Serve() {
    PluginServerOptions server;
    server.node = options_.node;
    server.registration = std::move(options_.registration);
    server.driver = std::move(options_.driver);
    server.claims = &claims_;
    server.board = &board_;
    server.on_verdict = [this](bool registered, const std::string& error) {
      HearVerdict(registered, error);
    };
    server.on_call = [this] { HearCall(); };
    server.tell_socket = [this](const std::string& path, const absl::Status& made) {
      const std::string removed = absl::StrCat("another process removed ", path);
      options_.warn(made.ok() ? absl::StrCat(removed, "; it has been made again")
                              : absl::StrCat(removed, ", and it can't be made: ", made.message()));
    };
    server.grace = options_.drain_grace;
    server.abandon = [this] { api_.Stop(); };
    PLIMSOLL_ASSIGN_OR_RETURN(auto started, PluginServer::Start(std::move(server)));
    const absl::MutexLock lock(&mutex_);
    server_ = std::move(started);
    return absl::OkStatus();
  }

  void Report(std::shared_ptr<const NodeReport> report) override {
    if (report == nullptr) return board_.Lose();
    std::vector<PoolDevice> devices = PoolDevicesOf(*report);
    const bool was_lost = board_.is_lost();
    board_.Set(devices);
    publisher_.SetDevices(std::move(devices));
    if (was_lost) {
      scheduling_.RuntimeIsBack();
      claims_.RuntimeIsBack();
    }
    // Every report of a changed holder comes here too.
    if (scheduling_.has_news() || claims_.must_tell_again()) chores_.Wake();
  }

  void Drain() override {
    std::unique_ptr<PluginServer> server;
    {
      const absl::MutexLock lock(&mutex_);
      server = std::move(server_);
    }
    // The server's end takes a while.
    server.reset();
  }

  DriverCounts counts() override {
    DriverCounts counts;
    {
      const absl::MutexLock lock(&mutex_);
      if (server_ != nullptr) counts.calls = server_->counts();
    }
    counts.prepared_claims = store_->Count().value_or(0);
    counts.slice_writes = publisher_.writes();
    counts.registered = scheduling_.registered();
    counts.runtime_answers = board_.has_devices() && !board_.is_lost();
    counts.published = published_;
    return counts;
  }

 private:
  // The reminder of health is a third of its time limit.
  ReconcilerOptions ChoreOptions() {
    ReconcilerOptions options;
    options.every = absl::Seconds(kHealthTimeoutSeconds / 3);
    options.retry.longest = absl::Seconds(10);
    options.on_result = [this](const absl::Status& status) {
      if (!IsRoutine(status)) troubles_.Tell("tell plimsolld of scheduler and claims", status);
    };
    return options;
  }

  SlicePublisherOptions PublisherOptions() {
    SlicePublisherOptions options;
    options.node = options_.node;
    options.on_state = [this](const absl::Status& status) {
      published_ = status.ok();
      if (!IsRoutine(status)) troubles_.Tell("ResourceSlices", WithAdvice(status));
    };
    options.warn = options_.warn;
    return options;
  }

  static absl::Status WithAdvice(const absl::Status& status) {
    if (!absl::IsNotFound(status)) return status;
    return AlsoSay(status,
                   "resource.k8s.io/v1 is served by Kubernetes 1.34 and later, unless it is "
                   "switched off");
  }

  void HearVerdict(bool registered, const std::string& error) {
    if (!registered) {
      const std::string why = Printable(error.substr(0, kMostVerdictBytes));
      return troubles_.Tell("registration with kubelet", absl::FailedPreconditionError(why));
    }
    troubles_.Tell("registration with kubelet", absl::OkStatus());
    options_.note(absl::StrCat("kubelet has registered driver ", qos::kClassDriver));
    scheduling_.Registered();
    chores_.Wake();
  }

  // A kubelet that registered an earlier run, whose sockets are the service manager's, doesn't say
  // so again.
  void HearCall() {
    if (scheduling_.registered()) return;
    scheduling_.Registered();
    chores_.Wake();
  }

  absl::Status DoChores() {
    board_.Remind();
    PLIMSOLL_RETURN_IF_ERROR(scheduling_.Tell());
    if (!board_.has_devices() || board_.is_lost()) return absl::OkStatus();  // not now
    return claims_.TellAgain(options_.warn);
  }

  ApiClient& api_;
  DriverOptions options_;
  Troubles troubles_;
  const std::unique_ptr<ClaimStore> store_;
  DeviceBoard board_;
  Scheduling scheduling_;
  std::atomic<bool> published_ = false;
  Claims claims_;
  SlicePublisher publisher_;
  Reconciler chores_;
  absl::Mutex mutex_;
  // Last: it uses the members above.
  std::unique_ptr<PluginServer> server_ ABSL_GUARDED_BY(mutex_);
};

// A damaged database would keep the node's claims from starting and from ending until somebody
// comes. Its rows are had again: kubelet names claims, and the API server has them.
absl::StatusOr<std::unique_ptr<ClaimStore>> OpenStore(const DriverOptions& options) {
  absl::StatusOr<std::unique_ptr<ClaimStore>> store = ClaimStore::Open(options.state);
  if (!absl::IsDataLoss(store.status())) return store;
  PLIMSOLL_RETURN_IF_ERROR(ClaimStore::SetAside(options.state));
  if (options.warn) {
    options.warn(absl::StrCat(store.status().message(),
                              "; it is kept as claims.db.damaged, and a new one begins empty"));
  }
  return ClaimStore::Open(options.state);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClassDriver>> ClassDriver::Start(ApiClient& api, RuntimeLink& link,
                                                                DriverOptions options) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<ClaimStore> store, OpenStore(options));
  auto driver = std::make_unique<Driver>(api, link, std::move(options), std::move(store));
  const absl::Status served = driver->Serve();
  // The driver's parts wait for calls of the client.
  if (!served.ok()) api.Stop();
  PLIMSOLL_RETURN_IF_ERROR(served);
  return std::unique_ptr<ClassDriver>(std::move(driver));
}

std::string RegistrationSocketOf(const std::string& kubelet_root) {
  return absl::StrCat(kubelet_root, "/plugins_registry/", qos::kClassDriver, "-reg.sock");
}

std::string DriverSocketOf(const std::string& kubelet_root) {
  return absl::StrCat(kubelet_root, "/plugins/", qos::kClassDriver, "/dra.sock");
}

}  // namespace plimsoll::kube
