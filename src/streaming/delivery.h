// Delivery to the pod of the input that a departed client has sent.
#ifndef PLIMSOLL_STREAMING_DELIVERY_H_
#define PLIMSOLL_STREAMING_DELIVERY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "streaming/link.h"

namespace plimsoll::streaming {

// Used in the loop's thread.
class Delivery {
 public:
  // So many bytes of input went to the kernel.
  void Passed(size_t bytes) { passed_ += bytes; }
  // To be asked from time to time once the client has left: false once the targets took nothing in
  // the time that a client has to leave, or are at it for the idle timeout. `unsent`: bytes of the
  // passed ones that the kernel still has.
  bool Moves(uint64_t unsent, const LinkLimits& limits);

 private:
  struct Leaving {
    std::chrono::steady_clock::time_point since;
    std::chrono::steady_clock::time_point moved;
    uint64_t taken = 0;  // at the last move
  };
  uint64_t passed_ = 0;
  std::optional<Leaving> leaving_;  // since the first Moves
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_DELIVERY_H_
