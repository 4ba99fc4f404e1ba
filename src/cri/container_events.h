// GetContainerEvents: the life of sandboxes and containers to any number of streams, for kubelet's
// evented PLEG.
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
#include "cri/pod_handlers.h"
#include "cri/runtime/v1/api.pb.h"
#include "cri/write_stream.h"
#include "runtime/engine.h"
#include "runtime/event_log.h"

namespace plimsoll::cri {

// A stream tells of what happens after its headers have come, and nothing of before: whoever opens
// one lists then. A container is told of as created, started, stopped and deleted, a sandbox as
// created and started (both at once), stopped and deleted, with its own id as the container's.
//
// Each message is made once, by one thread for all streams, and shared by them. States are those of
// the event's moment, however late it is made; resources and classes are read from the kernel then.
// A client that leaves more than `max_pending` messages unread gets those, and then
// RESOURCE_EXHAUSTED: that one is missing, so it has to list again. Without streams an event costs
// a look at a counter. Thread-safe.
class ContainerEvents {
 public:
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  static constexpr size_t kMaxPending = 1024;

  // All outlive it.
  ContainerEvents(runtime::Engine* engine, runtime::EventLog* events, PodHandlers* handlers,
                  size_t max_pending = kMaxPending);
  // After the server's end: waits for gRPC to let go of the last stream.
  ~ContainerEvents();
  ContainerEvents(const ContainerEvents&) = delete;
  ContainerEvents& operator=(const ContainerEvents&) = delete;

  // A stream for a call that has come in. `on_end` is called when it is over, with why it was ended
  // here; OK when the client or the server has ended it.
  Reactor* Open(std::function<void(const absl::Status&)> on_end);

 private:
  using Stream = WriteStream<grpc::ByteBuffer>;
  struct OneStream {
    std::shared_ptr<Stream> stream;
    uint64_t since = 0;  // the last event before it
    absl::Status ended;  // why, once it has been
  };
  // An event that is still to be told.
  struct Happened {
    runtime::Event event;
    std::shared_ptr<const runtime::SandboxRecord> sandbox;
    std::shared_ptr<const runtime::ContainerRecord> container;
  };

  void Hear(const runtime::Event& event, const runtime::EventSubject& subject);
  // Tells what waits; in the pool's thread.
  void Tell();
  void TellOne(const Happened& happened);
  // The pod as it was then. False: nothing is known of its sandbox.
  bool Describe(const Happened& happened, ::runtime::v1::ContainerEventResponse* message);
  std::optional<runtime::SandboxRecord> SandboxThen(const Happened& happened) const;
  std::vector<runtime::ContainerRecord> ContainersThen(const Happened& happened) const;
  // What of the pod waits to be told behind the one that is. What was removed is not the engine's
  // any more.
  std::vector<Happened> Later(const std::string& sandbox_id) const;
  void Send(const ::runtime::v1::ContainerEventResponse& message, uint64_t sequence);
  void End(Stream& stream, const absl::Status& status);
  void EndAll(const absl::Status& status);

  runtime::Engine* const engine_;
  runtime::EventLog* const events_;
  PodHandlers* const handlers_;
  const size_t max_pending_;
  int listener_ = 0;
  // Taken under the event log's, and so last of all.
  mutable absl::Mutex mutex_;
  std::map<Stream*, OneStream> streams_ ABSL_GUARDED_BY(mutex_);
  std::deque<Happened> waiting_ ABSL_GUARDED_BY(mutex_);  // the first is being told
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;  // more happened than can wait
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  // Last, so that its thread ends before what it uses.
  WorkerPool pool_{/*max_threads=*/1, /*max_queued=*/1};
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CONTAINER_EVENTS_H_
