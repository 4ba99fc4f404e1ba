#include "linux/cgroup/transaction.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

// Files with one line per device, and the text that removes a line
// (Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files").
constexpr std::pair<absl::string_view, absl::string_view> kKeyed[] = {
    {"io.max", "rbps=max wbps=max riops=max wiops=max"},
    {"io.weight", "default"},
    {"io.bfq.weight", "default"},
    {"io.latency", "target=0"},
};

std::map<std::string, std::string> ByKey(absl::string_view text) {
  std::map<std::string, std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    lines.insert(parts);
  }
  return lines;
}

absl::Status WriteLines(const CgroupWrite& write) {
  if (!absl::StrContains(write.value, '\n')) {
    return write.tree->Write(write.group, write.file, write.value);
  }
  for (absl::string_view line : absl::StrSplit(write.value, '\n', absl::SkipWhitespace())) {
    PLIMSOLL_RETURN_IF_ERROR(write.tree->Write(write.group, write.file, line));
  }
  return absl::OkStatus();
}

// Replaces the file by one whose text shows the exact value that `write` changes. cpu.weight.nice
// reads as the nearest nice level of a weight that may lie between two (cgroup-v2.rst, "CPU
// Interface Files").
CgroupWrite AsRead(CgroupWrite write) {
  if (write.file == "cpu.weight.nice") write.file = "cpu.weight";
  return write;
}

// The write that undoes `write`, given the file's text `before`.
CgroupWrite Inverse(const CgroupWrite& write, const std::string& before) {
  CgroupWrite inverse = write;
  inverse.value = before;
  for (const auto& [file, removal] : kKeyed) {
    if (write.file != file) continue;
    const auto old_lines = ByKey(before);
    for (const auto& [key, line] : ByKey(write.value)) {
      // "io.weight" also takes a bare number, which stands for the line "default N".
      if (line.empty() || key == "default") continue;
      if (!old_lines.contains(key)) absl::StrAppend(&inverse.value, "\n", key, " ", removal);
    }
  }
  inverse.value = std::string(absl::StripAsciiWhitespace(inverse.value));
  return inverse;
}

}  // namespace

absl::Status WriteAllOrNothing(const std::vector<CgroupWrite>& writes) {
  std::vector<CgroupWrite> undo;
  absl::Status status;
  for (const CgroupWrite& write : writes) {
    const CgroupWrite known = AsRead(write);
    const auto before = known.tree->Read(known.group, known.file);
    status = before.status();
    if (!status.ok()) break;
    if (*before == write.value && known.file == write.file) continue;
    // The kernel may have taken part of a refused write of several lines, so that is undone too.
    const bool is_partial = absl::StrContains(write.value, '\n');
    if (is_partial) undo.push_back(Inverse(known, *before));
    status = WriteLines(write);
    if (!status.ok()) break;
    if (!is_partial) undo.push_back(Inverse(known, *before));
  }
  if (status.ok()) return status;
  std::string not_undone;
  for (auto write = undo.rbegin(); write != undo.rend(); ++write) {
    const absl::Status undone = WriteLines(*write);
    if (!undone.ok() && !absl::IsNotFound(undone)) {
      absl::StrAppend(&not_undone, "; not set back: ", undone.message());
    }
  }
  if (not_undone.empty()) return status;
  absl::Status both(status.code(), absl::StrCat(status.message(), not_undone));
  status.ForEachPayload(
      [&both](absl::string_view url, const absl::Cord& payload) { both.SetPayload(url, payload); });
  return both;
}

}  // namespace plimsoll::linux
