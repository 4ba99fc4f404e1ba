// A client's input that waits for its taker.
#ifndef PLIMSOLL_STREAMING_INPUT_QUEUE_H_
#define PLIMSOLL_STREAMING_INPUT_QUEUE_H_

#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "streaming/async.h"

namespace plimsoll::streaming {

// Keeps pieces in their order. Used in the loop's thread.
class InputQueue {
 public:
  explicit InputQueue(asio::io_context& io) : changed_(io) {}

  // Adds a piece; none after End or Drop.
  void Add(absl::string_view data);
  // No piece comes any more; those that wait can still be taken.
  void End();
  // Nobody takes input any more: pieces that wait are lost, and so are later ones.
  void Drop();

  // Waits for the next piece. Empty: the input has ended, or is dropped. For one taker.
  asio::awaitable<std::string> Next();
  // The taker has passed on so many bytes of the last piece.
  void Passed(size_t bytes);

  // Bytes that were added and not passed on.
  size_t bytes() const { return bytes_; }
  bool dropped() const { return dropped_; }

 private:
  Signal changed_;
  std::deque<std::string> pieces_;
  size_t bytes_ = 0;
  bool ended_ = false;
  bool dropped_ = false;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_INPUT_QUEUE_H_
