// The client's side of a call whose server streams messages.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_READ_STREAM_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_READ_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "pod_runner/runtime_client/connection.h"

namespace plimsoll::pod {

// How long a server may take to end a stream after which no message can be read.
inline constexpr absl::Duration kStreamEndPatience = absl::Seconds(1);

// Gives each message to `on_message`, until that returns false (the result is OK) or the stream
// ends; returns the server's status then. A message that can't be decoded ends the stream with
// DATA_LOSS: gRPC's reader says of it what it says of a stream's end, and Finish would wait for a
// server that goes on. Blocks; `context` may be cancelled from other threads.
template <typename Message>
absl::Status ReadStream(grpc::ClientContext& context, grpc::ClientReader<Message>& reader,
                        const std::function<bool(const Message&)>& on_message) {
  Message message;
  bool enough = false;
  while (!enough && reader.Read(&message)) enough = !on_message(message);
  if (enough) context.TryCancel();
  absl::Notification has_ended;
  std::atomic<bool> cut_off = false;
  std::thread watchdog([&] {
    if (has_ended.WaitForNotificationWithTimeout(kStreamEndPatience)) return;
    cut_off = true;
    context.TryCancel();
  });
  const absl::Status status = FromGrpc(reader.Finish());
  has_ended.Notify();
  watchdog.join();
  if (enough) return absl::OkStatus();
  if (!cut_off || !absl::IsCancelled(status)) return status;
  return absl::DataLossError("the stream's next message can't be decoded");
}

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_READ_STREAM_H_
