#include "harness/fake_kubelet.h"

#include <grpc/grpc.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/unique_fd.h"
#include "kubelet/podresources/v1/api.grpc.pb.h"
#include "kubelet/pods/v1alpha1/api.grpc.pb.h"

namespace plimsoll::testing {
namespace {

// "namespace/name"
std::string FullName(const std::string& pod_namespace, const std::string& name) {
  return absl::StrCat(pod_namespace, "/", name);
}

// Ends the process: the benchmarks use this file without the tests' library.
void Need(bool holds, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "fake kubelet: failed: %s: %s\n", text.c_str(), std::strerror(errno));
  std::abort();
}

grpc::Status NotFound() {
  return {grpc::StatusCode::NOT_FOUND, "pod not found"};
}

}  // namespace

struct FakeKubelet::State {
  struct Behaviour {
    Manner manner;
    int calls = 0;
    double tokens = 0;
    absl::Time filled;
  };

  absl::Mutex mutex;
  std::map<std::string, std::string> pods ABSL_GUARDED_BY(mutex);  // by uid
  std::map<std::string, ::v1::GetPodResourcesResponse> grants ABSL_GUARDED_BY(mutex);
  ::v1::AllocatableResourcesResponse devices ABSL_GUARDED_BY(mutex);
  Behaviour behaviours[2] ABSL_GUARDED_BY(mutex);
  bool is_stopping[2] ABSL_GUARDED_BY(mutex) = {false, false};

  static bool TakeToken(Behaviour& behaviour) {
    if (behaviour.manner.calls_a_second == 0) return true;
    const absl::Time now = absl::Now();
    behaviour.tokens +=
        absl::ToDoubleSeconds(now - behaviour.filled) * behaviour.manner.calls_a_second;
    behaviour.tokens = std::min<double>(behaviour.tokens, behaviour.manner.burst);
    behaviour.filled = now;
    if (behaviour.tokens < 1) return false;
    behaviour.tokens -= 1;
    return true;
  }

  // The step before a call's answer; an error is the answer.
  grpc::Status Enter(Service service, const grpc::ServerContext& context) {
    const absl::MutexLock lock(&mutex);
    Behaviour& behaviour = behaviours[service];
    ++behaviour.calls;
    if (!TakeToken(behaviour)) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"};
    }
    const absl::Time due = absl::Now() + behaviour.manner.delay;
    const grpc::Status status = behaviour.manner.status;
    while (absl::Now() < due && !context.IsCancelled() && !is_stopping[service]) {
      mutex.AwaitWithTimeout(absl::Condition(&is_stopping[service]),
                             std::min(due - absl::Now(), absl::Milliseconds(5)));
    }
    return status;
  }
};

class FakeKubelet::Pods : public ::v1alpha1::Pods::Service {
 public:
  explicit Pods(State& state) : state_(state) {}

  grpc::Status GetPod(grpc::ServerContext* context, const ::v1alpha1::GetPodRequest* request,
                      ::v1alpha1::GetPodResponse* response) override {
    const grpc::Status status = state_.Enter(kPods, *context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&state_.mutex);
    const auto it = state_.pods.find(request->poduid());
    if (it == state_.pods.end()) return NotFound();
    response->set_pod(it->second);
    return grpc::Status::OK;
  }

 private:
  State& state_;
};

class FakeKubelet::PodResources : public ::v1::PodResourcesLister::Service {
 public:
  explicit PodResources(State& state) : state_(state) {}

  grpc::Status Get(grpc::ServerContext* context, const ::v1::GetPodResourcesRequest* request,
                   ::v1::GetPodResourcesResponse* response) override {
    const grpc::Status status = state_.Enter(kPodResources, *context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&state_.mutex);
    const auto it = state_.grants.find(FullName(request->pod_namespace(), request->pod_name()));
    if (it == state_.grants.end()) return NotFound();
    *response = it->second;
    return grpc::Status::OK;
  }

  grpc::Status List(grpc::ServerContext* context, const ::v1::ListPodResourcesRequest*,
                    ::v1::ListPodResourcesResponse* response) override {
    const grpc::Status status = state_.Enter(kPodResources, *context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&state_.mutex);
    for (const auto& [name, grants] : state_.grants) {
      *response->add_pod_resources() = grants.pod_resources();
    }
    return grpc::Status::OK;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext* context,
                                       const ::v1::AllocatableResourcesRequest*,
                                       ::v1::AllocatableResourcesResponse* response) override {
    const grpc::Status status = state_.Enter(kPodResources, *context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&state_.mutex);
    *response = state_.devices;
    return grpc::Status::OK;
  }

 private:
  State& state_;
};

class FakeKubelet::RudeServer {
 public:
  RudeServer(std::string path, Rude rude) : path_(std::move(path)), rude_(rude) {
    unlink(path_.c_str());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    listener_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    Need(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, path_);
    Need(listen(listener_.get(), rude == Rude::kDeaf ? 0 : 64) == 0, path_);
    if (rude != Rude::kDeaf) thread_ = std::thread([this] { Serve(); });
  }
  ~RudeServer() {
    is_ending_ = true;
    if (thread_.joinable()) thread_.join();
    unlink(path_.c_str());
  }
  RudeServer(const RudeServer&) = delete;
  RudeServer& operator=(const RudeServer&) = delete;

 private:
  void Serve() {
    while (!is_ending_) {
      std::vector<pollfd> looks = {{listener_.get(), POLLIN, 0}};
      for (const UniqueFd& connection : connections_)
        looks.push_back({connection.get(), POLLIN, 0});
      poll(looks.data(), looks.size(), 2);
      UniqueFd fresh(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      std::erase_if(connections_, [this](const UniqueFd& each) { return !GoesOn(each.get()); });
      if (fresh.valid()) connections_.push_back(std::move(fresh));
    }
  }

  // False: the connection is ended.
  bool GoesOn(int connection) const {
    char bytes[4096];
    const ssize_t got = recv(connection, bytes, sizeof(bytes), 0);
    if (got == 0) return false;
    if (rude_ == Rude::kCut) return got < 0;
    if (rude_ == Rude::kGarbage && got > 0) Send(connection, "HTTP/1.1 418 I'm a teapot\r\n\r\n");
    if (rude_ == Rude::kFlood) Flood(connection);
    return true;
  }

  static bool Send(int connection, const std::string& bytes) {
    return send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  // An HTTP/2 SETTINGS frame once would be the protocol; PING frames follow it without end.
  static void Flood(int connection) {
    static const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
    static const std::string ping("\0\0\10\6\0\0\0\0\0pingpong", 17);
    std::string many = settings;
    for (int i = 0; i < 200; ++i) many += ping;
    for (int i = 0; i < 20 && Send(connection, many); ++i) {
    }
  }

  const std::string path_;
  const Rude rude_;
  UniqueFd listener_;
  std::vector<UniqueFd> connections_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

FakeKubelet::FakeKubelet(const std::string& root) : root_(root), state_(std::make_unique<State>()) {
  // gRPC is kept: its end waits 10 s for the poller that a large answer has started.
  static const bool kept = (grpc_init(), true);
  Need(kept, "a pod is kept");
  mkdir(root_.c_str(), 0750);
  mkdir(absl::StrCat(root_, "/pods-api").c_str(), 0750);
  mkdir(absl::StrCat(root_, "/pod-resources").c_str(), 0750);
  places_[kPods].handler = std::make_unique<Pods>(*state_);
  places_[kPodResources].handler = std::make_unique<PodResources>(*state_);
  Start(kPods);
  Start(kPodResources);
}

FakeKubelet::~FakeKubelet() {
  Stop(kPods);
  Stop(kPodResources);
}

std::string FakeKubelet::SocketOf(Service service) const {
  return absl::StrCat(root_,
                      service == kPods ? "/pods-api/pods-api.sock" : "/pod-resources/kubelet.sock");
}

void FakeKubelet::SetPod(const ::k8s::io::api::core::v1::Pod& pod) {
  SetPodBytes(pod.metadata().uid(), pod.SerializeAsString());
}

void FakeKubelet::SetPodBytes(const std::string& uid, const std::string& bytes) {
  const absl::MutexLock lock(&state_->mutex);
  state_->pods[uid] = bytes;
}

void FakeKubelet::RemovePod(const std::string& uid) {
  const absl::MutexLock lock(&state_->mutex);
  state_->pods.erase(uid);
}

void FakeKubelet::SetGrants(const ::v1::PodResources& grants) {
  ::v1::GetPodResourcesResponse answer;
  *answer.mutable_pod_resources() = grants;
  SetGrantsAnswer(grants.namespace_(), grants.name(), answer);
}

void FakeKubelet::SetGrantsAnswer(const std::string& pod_namespace, const std::string& name,
                                  const ::v1::GetPodResourcesResponse& answer) {
  const absl::MutexLock lock(&state_->mutex);
  state_->grants[FullName(pod_namespace, name)] = answer;
}

void FakeKubelet::SetDevices(const ::v1::AllocatableResourcesResponse& devices) {
  const absl::MutexLock lock(&state_->mutex);
  state_->devices = devices;
}

void FakeKubelet::Behave(Service service, Manner manner) {
  const absl::MutexLock lock(&state_->mutex);
  State::Behaviour& behaviour = state_->behaviours[service];
  behaviour.tokens = manner.burst;
  behaviour.filled = absl::Now();
  behaviour.manner = std::move(manner);
}

int FakeKubelet::calls(Service service) const {
  const absl::MutexLock lock(&state_->mutex);
  return state_->behaviours[service].calls;
}

void FakeKubelet::Stop(Service service) {
  Place& place = places_[service];
  place.rude.reset();
  if (place.server == nullptr) return;
  {
    const absl::MutexLock lock(&state_->mutex);
    state_->is_stopping[service] = true;
  }
  place.server->Shutdown(std::chrono::system_clock::now());
  place.server.reset();
}

void FakeKubelet::Start(Service service) {
  Stop(service);
  {
    const absl::MutexLock lock(&state_->mutex);
    state_->is_stopping[service] = false;
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + SocketOf(service), grpc::InsecureServerCredentials());
  builder.RegisterService(places_[service].handler.get());
  places_[service].server = builder.BuildAndStart();
  Need(places_[service].server != nullptr, SocketOf(service));
}

void FakeKubelet::Replace(Service service, Rude rude) {
  Stop(service);
  places_[service].rude = std::make_unique<RudeServer>(SocketOf(service), rude);
}

}  // namespace plimsoll::testing
