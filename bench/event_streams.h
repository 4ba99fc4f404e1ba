// Many open GetContainerEvents streams of one client.
#ifndef PLIMSOLL_BENCH_EVENT_STREAMS_H_
#define PLIMSOLL_BENCH_EVENT_STREAMS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::bench {

// Used by one thread; the streams have none of their own.
class EventStreams {
 public:
  // All are open when it returns. UNIMPLEMENTED where the runtime has no such call.
  static absl::StatusOr<std::unique_ptr<EventStreams>> Open(
      ::runtime::v1::RuntimeService::Stub& stub, int count, absl::Duration within);
  // Closes the streams and waits for their end.
  ~EventStreams();

  // Waits until every stream has reported that this pod started.
  absl::Status AwaitStart(const std::string& pod, absl::Duration within);

 private:
  class Stream;
  struct Shared;
  EventStreams();
  const std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_EVENT_STREAMS_H_
