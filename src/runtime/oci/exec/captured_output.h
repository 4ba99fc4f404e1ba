// What a command writes, kept for its caller.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_CAPTURED_OUTPUT_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_CAPTURED_OUTPUT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/byte_budget.h"
#include "base/pipe.h"

namespace plimsoll::runtime {

// Two pipes, and the beginning of what came through each. Both together keep `max_bytes` at most,
// where the shorter one is sure of half; and no more than `share` gets of its budget, but always
// the first kSureBytes of each: what a probe looks at, which must not hang on what others write.
// What is beyond that is read and dropped. Not thread-safe.
class CapturedOutput {
 public:
  static constexpr size_t kSureBytes = 16 * 1024;
  enum Stream { kOut = 0, kErr = 1 };

  // `share` may be null: there is no such budget. Else it must outlive this, and goes on holding
  // what was captured.
  CapturedOutput(size_t max_bytes, ByteShare* share) : max_(max_bytes), share_(share) {}

  absl::Status Open();
  // Non-blocking; -1 after its end.
  int reader(Stream stream) const { return streams_[stream].pipe.reader.get(); }
  int writer(Stream stream) const { return streams_[stream].pipe.writer.get(); }
  void CloseWriters();

  // Takes some of what is there; how much, or 0 when there is nothing now or ever.
  size_t Read(Stream stream);
  // What is in both pipes now: never more than they hold, whoever goes on writing. Closes them;
  // `share` holds then what was kept and no more.
  void ReadRest();
  // For Read: what comes next of a stream.
  void Append(Stream stream, absl::string_view data);

  absl::string_view text(Stream stream) const { return streams_[stream].text; }
  // Ends in a line that says so if something was dropped.
  std::string TakeText(Stream stream);

 private:
  struct Captured {
    Pipe pipe;
    std::string text;
    bool cut = false;
    bool cut_for_others = false;  // by what all commands hold
  };

  size_t Kept() const { return streams_[kOut].text.size() + streams_[kErr].text.size(); }
  // Takes from the longer stream what the shorter one is sure of.
  void MakeRoom(Stream stream, size_t wanted);
  // How many of `wanted` further bytes are granted.
  size_t Grant(const Captured& stream, size_t wanted);

  const size_t max_;
  ByteShare* const share_;
  Captured streams_[2];
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_CAPTURED_OUTPUT_H_
