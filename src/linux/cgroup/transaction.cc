#include "linux/cgroup/transaction.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/cgroup/line_files.h"

namespace plimsoll::linux {
namespace {

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
  if (const auto reset = LineReset(write.file); reset.has_value()) {
    const auto old_lines = ByKey(before);
    for (const auto& [key, line] : ByKey(write.value)) {
      // "io.weight" also takes a bare number, which stands for the line "default N".
      if (line.empty() || key == "default") continue;
      if (!old_lines.contains(key)) absl::StrAppend(&inverse.value, "\n", key, " ", *reset);
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
  for (auto write = undo.rbegin(); write != undo.rend(); ++write) {
    status = AlsoNotSetBack(status, WriteLines(*write));
  }
  return status;
}

}  // namespace plimsoll::linux
