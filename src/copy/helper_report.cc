#include "copy/helper_report.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text/printable.h"

namespace plimsoll::copy {
namespace {

constexpr char kNote = 'N';
constexpr char kError = 'E';  // "E5:text", 5 being the code

}  // namespace

// A record ends with a NUL, which no text holds.
void ReportWriter::Add(char kind, absl::string_view text) const {
  std::string record(1, kind);
  record += Printable(text);
  record += '\0';
  const ssize_t written = write(fd_, record.data(), record.size());
  (void)written;  // to a memfd; if that fails, the exit code reports the failure
}

void ReportWriter::Note(absl::string_view text) {
  if (++notes_ <= kMaxNotes) Add(kNote, text);
}

void ReportWriter::Error(const absl::Status& status) {
  Add(kError, absl::StrCat(static_cast<int>(status.code()), ":", status.message()));
}

void ReportWriter::Finish() {
  if (notes_ > kMaxNotes) Add(kNote, absl::StrCat("and ", notes_ - kMaxNotes, " more"));
}

Report ParseReport(absl::string_view text) {
  Report report;
  for (const absl::string_view record : absl::StrSplit(text, '\0', absl::SkipEmpty())) {
    const absl::string_view rest = record.substr(1);
    if (record[0] == kNote) report.notes.emplace_back(rest);
    if (record[0] != kError) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits(':', 1));
    int code = 0;
    if (!absl::SimpleAtoi(parts.first, &code) || code == 0) code = 13;  // INTERNAL
    report.status = absl::Status(static_cast<absl::StatusCode>(code), parts.second);
  }
  return report;
}

}  // namespace plimsoll::copy
