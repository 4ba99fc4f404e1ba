// GetContainerEvents: the lives of sandboxes and containers, streamed to any number of clients for
// kubelet's evented PLEG.
#ifndef PLIMSOLL_CRI_CONTAINER_EVENTS_H_
#define PLIMSOLL_CRI_CONTAINER_EVENTS_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/worker_pool.h"
#include "cri/calls/write_stream.h"
#include "cri/pod_rpcs.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::cri {

// A stream sends events that happen after its headers have arrived, none from before: the client
// lists then. A container has the events created, started, stopped and deleted; a sandbox has
// created and started (both at once), stopped and deleted, with its own id as the container's.
//
// One thread makes each message once, and all streams share it. States are those of the event's
// moment, however late the message is made; resources and classes are read from the kernel when it
// is made. A client that leaves more than `max_pending` messages unread gets those, then
// RESOURCE_EXHAUSTED: it has lost an event and must list again. Without streams an event costs a
// look at a counter. Thread-safe.
class ContainerEvents {
 public:
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  static constexpr size_t kMaxPending = 1024;

  // All pointers must outlive this.
  ContainerEvents(runtime::Engine* engine, runtime::EventLog* events, PodRpcs* rpcs,
                  size_t max_pending = kMaxPending);
  // Call after the server's end: waits until gRPC releases the last stream.
  ~ContainerEvents();
  ContainerEvents(const ContainerEvents&) = delete;
  ContainerEvents& operator=(const ContainerEvents&) = delete;

  // The stream for an incoming call. At its end, calls `on_end` with the error this side ended it
  // with, or OK if the client or the server ended it.
  Reactor* Open(std::function<void(const absl::Status&)> on_end);

 private:
  using Stream = WriteStream<grpc::ByteBuffer>;
  struct OneStream {
    std::shared_ptr<Stream> stream;
    uint64_t since = 0;  // last event before this stream
    absl::Status ended;  // error it was ended with
  };
  // An event not yet told.
  struct Happened {
    runtime::Event event;
    std::shared_ptr<const runtime::SandboxRecord> sandbox;
    std::shared_ptr<const runtime::ContainerRecord> container;
  };

  void Hear(const runtime::Event& event, const runtime::EventSubject& subject);
  // Sends the waiting events; runs in the pool's thread.
  void Tell();
  void TellOne(const Happened& happened);
  // Describes the pod as it was at the event. False: its sandbox is unknown.
  bool Describe(const Happened& happened, ::runtime::v1::ContainerEventResponse* message);
  std::optional<runtime::SandboxRecord> SandboxThen(const Happened& happened) const;
  std::vector<runtime::ContainerRecord> ContainersThen(const Happened& happened) const;
  // The pod's events queued behind the current one. They hold what the engine has already removed.
  std::vector<Happened> Later(const std::string& sandbox_id) const;
  void Send(const ::runtime::v1::ContainerEventResponse& message, uint64_t sequence);
  void End(Stream& stream, const absl::Status& status);
  void EndAll(const absl::Status& status);

  runtime::Engine* const engine_;
  runtime::EventLog* const events_;
  PodRpcs* const rpcs_;
  const size_t max_pending_;
  int listener_ = 0;
  // Taken under the event log's mutex, so last of all.
  mutable absl::Mutex mutex_;
  std::map<Stream*, OneStream> streams_ ABSL_GUARDED_BY(mutex_);
  std::deque<Happened> waiting_ ABSL_GUARDED_BY(mutex_);  // the first is being told
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;  // the queue overflowed
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  // Last member: its thread must end before what it uses.
  WorkerPool pool_{/*max_threads=*/1, /*max_queued=*/1};
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CONTAINER_EVENTS_H_
