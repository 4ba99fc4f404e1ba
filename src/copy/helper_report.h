// A helper's report besides its stream: notes, and the error that ended it.
#ifndef PLIMSOLL_COPY_HELPER_REPORT_H_
#define PLIMSOLL_COPY_HELPER_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::copy {

// Writes to a file of the starter's. Not thread-safe.
class ReportWriter {
 public:
  static constexpr int kMaxNotes = 100;  // a tree may hold any number of FIFOs

  explicit ReportWriter(int fd) : fd_(fd) {}
  void Note(absl::string_view text);
  void Error(const absl::Status& status);
  // Adds the number of notes beyond kMaxNotes.
  void Finish();

 private:
  void Add(char kind, absl::string_view text) const;

  const int fd_;
  int notes_ = 0;
};

struct Report {
  absl::Status status;
  std::vector<std::string> notes;
};
Report ParseReport(absl::string_view text);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_HELPER_REPORT_H_
