// The writing end of a connection's socket.
#ifndef PLIMSOLL_NRI_TTRPC_SENDER_H_
#define PLIMSOLL_NRI_TTRPC_SENDER_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/steady_time.h"

namespace plimsoll::nri {

// Sends whole messages, one after the other, each in the thread that has it: nothing is queued, so
// a peer that doesn't read costs no memory. Thread-safe.
class Sender {
 public:
  // Borrows the socket.
  explicit Sender(int socket) : socket_(socket) {}

  // Waits for the turn, makes the message, sends it in frames. The errors: DEADLINE_EXCEEDED: the
  // turn didn't come, nothing was sent; ABORTED: the message was not sent whole, so that the
  // stream is of no more use; that of `make`. Who shuts the socket down ends all waiting.
  absl::Status Send(uint32_t connection, SteadyTime deadline,
                    absl::FunctionRef<absl::StatusOr<std::string>()> make);

 private:
  absl::Status SendFrames(uint32_t connection, absl::string_view message, SteadyTime deadline);
  absl::Status SendBytes(absl::string_view bytes, SteadyTime deadline);

  const int socket_;
  absl::Mutex mutex_;
  bool is_sending_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_broken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_SENDER_H_
