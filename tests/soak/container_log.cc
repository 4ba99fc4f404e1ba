#include "soak/container_log.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status.h"

namespace plimsoll::testing {
namespace {

// A short form for messages.
std::string Brief(absl::string_view text) {
  constexpr size_t kMost = 60;
  if (text.size() <= kMost) return absl::StrCat("\"", text, "\"");
  return absl::StrCat("\"", text.substr(0, kMost), "...\" of ", text.size(), " bytes");
}

// One stream's lines as they come out of the log.
class StreamCheck {
 public:
  StreamCheck(const char* name, const std::vector<std::string>& written)
      : name_(name), written_(written) {}

  absl::Status Add(absl::string_view text, bool ends_line) {
    absl::StrAppend(&line_, text);
    if (!ends_line) return absl::OkStatus();
    const std::string line = std::move(line_);
    line_.clear();
    if (next_ == written_.size()) return Wrong("is one too many", line);
    if (line != written_[next_]) {
      return Wrong(absl::StrCat("should be ", Brief(written_[next_])), line);
    }
    ++next_;
    return absl::OkStatus();
  }

  absl::Status End(LogEnd end) const {
    if (!line_.empty() && (next_ == written_.size() || end == LogEnd::kComplete ||
                           !absl::StartsWith(written_[next_], line_))) {
      return Wrong("does not end, or is of nobody", line_);
    }
    if (end == LogEnd::kComplete && next_ < written_.size()) {
      return absl::DataLossError(absl::StrCat(name_, " has ", next_, " lines of ", written_.size(),
                                              ": ", Brief(written_[next_]), " is missing"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Wrong(absl::string_view how, absl::string_view line) const {
    return absl::DataLossError(
        absl::StrCat("line ", next_ + 1, " of ", name_, ", ", Brief(line), ", ", how));
  }

  const char* const name_;
  const std::vector<std::string>& written_;
  size_t next_ = 0;
  std::string line_;  // so far
};

// An entry, "<time> <stream> <tag> <text>".
struct Entry {
  absl::Time time;
  bool is_out = false;
  bool ends_line = false;
  absl::string_view text;
};

std::optional<Entry> ParseEntry(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
  Entry entry;
  if (fields.size() != 4 || !absl::ParseTime(absl::RFC3339_full, fields[0], &entry.time, nullptr)) {
    return std::nullopt;
  }
  if (fields[1] != "stdout" && fields[1] != "stderr") return std::nullopt;
  if (fields[2] != "F" && fields[2] != "P") return std::nullopt;
  entry.is_out = fields[1] == "stdout";
  entry.ends_line = fields[2] == "F";
  entry.text = fields[3];
  return entry;
}

}  // namespace

absl::Status CheckLog(absl::string_view text, const WrittenLines& written, LogEnd end) {
  if (!text.empty() && text.back() != '\n') {
    return absl::DataLossError("the log's last entry does not end");
  }
  StreamCheck out("stdout", written.out);
  StreamCheck err("stderr", written.err);
  absl::Time last = absl::InfinitePast();
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::optional<Entry> entry = ParseEntry(line);
    if (!entry.has_value()) {
      return absl::DataLossError(absl::StrCat("not an entry of a log: ", Brief(line)));
    }
    if (entry->time < last) {
      return absl::DataLossError(absl::StrCat("older than the entry before it: ", Brief(line)));
    }
    last = entry->time;
    PLIMSOLL_RETURN_IF_ERROR((entry->is_out ? out : err).Add(entry->text, entry->ends_line));
  }
  PLIMSOLL_RETURN_IF_ERROR(out.End(end));
  return err.End(end);
}

}  // namespace plimsoll::testing
