// Output of a command, kept for its caller.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_CAPTURED_OUTPUT_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_CAPTURED_OUTPUT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/byte_budget.h"
#include "base/programs/pipe.h"

namespace plimsoll::runtime {

// Two pipes, and the beginning of each one's bytes. Both together keep at most `max_bytes`, of
// which the shorter one is sure of half, and no more than `share` gets of its budget. The first
// kSureBytes of each are always kept: a probe relies on them, whatever others write. Further bytes
// are read and dropped. Not thread-safe.
class CapturedOutput {
 public:
  static constexpr size_t kSureBytes = 16 * 1024;
  enum Stream { kOut = 0, kErr = 1 };

  // `share` may be null: no budget. Else it must outlive this, and keeps its bytes afterwards.
  CapturedOutput(size_t max_bytes, ByteShare* share) : max_(max_bytes), share_(share) {}

  absl::Status Open();
  // Non-blocking; -1 after the pipe's end.
  int reader(Stream stream) const { return streams_[stream].pipe.reader.get(); }
  int writer(Stream stream) const { return streams_[stream].pipe.writer.get(); }
  void CloseWriters();

  // Reads some of the pipe and returns the number of bytes; 0 when nothing is there now or ever.
  size_t Read(Stream stream);
  // Reads the present contents of both pipes: never more than they hold, even if a writer goes on.
  // Closes them; `share` then holds exactly the kept bytes.
  void ReadRest();
  // For Read: adds the next bytes of a stream.
  void Append(Stream stream, absl::string_view data);

  absl::string_view text(Stream stream) const { return streams_[stream].text; }
  // Ends in a line that says so if anything was dropped.
  std::string TakeText(Stream stream);

 private:
  struct Captured {
    Pipe pipe;
    std::string text;
    bool cut = false;
    bool cut_for_others = false;  // because of the budget of all commands
  };

  size_t Kept() const { return streams_[kOut].text.size() + streams_[kErr].text.size(); }
  // Cuts the longer stream to make room for the shorter one's sure half.
  void MakeRoom(Stream stream, size_t wanted);
  // Number of bytes granted of `wanted` further ones.
  size_t Grant(const Captured& stream, size_t wanted);

  const size_t max_;
  ByteShare* const share_;
  Captured streams_[2];
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_CAPTURED_OUTPUT_H_
