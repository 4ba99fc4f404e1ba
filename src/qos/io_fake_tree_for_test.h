// For tests: a cgroup hierarchy of plain files whose block I/O files behave as the kernel's do
// (block/blk-throttle.c, block/blk-iocost.c, block/bfq-cgroup.c): a write sets one line, missing
// devices are refused, and so are weights on disks that don't honour them.
#ifndef PLIMSOLL_QOS_IO_FAKE_TREE_FOR_TEST_H_
#define PLIMSOLL_QOS_IO_FAKE_TREE_FOR_TEST_H_

#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/cgroup/fake_tree_for_test.h"

namespace plimsoll::qos {

class IoFakeTree : public linux::FakeCgroupTree {
 public:
  IoFakeTree(const FsRoot& mount, bool v2) : FakeCgroupTree(mount, IoFiles(v2), v2) {}

  std::set<std::string> disks;    // "8:0"
  std::set<std::string> bfq;      // disks with that scheduler
  std::set<std::string> io_cost;  // disks with iocost

  absl::Status Write(absl::string_view group, absl::string_view file,
                     absl::string_view value) override {
    if (!absl::StartsWith(file, "io.") && !absl::StartsWith(file, "blkio.")) {
      return FakeCgroupTree::Write(group, file, value);
    }
    const std::string name = absl::StrCat(group, "/", file);
    const std::string what = absl::StrCat("write \"", value, "\" to ", name);
    if (const auto at = refuse.find(name); at != refuse.end()) return ErrnoStatus(at->second, what);
    if (!HasFile(group, file)) return ErrnoStatus(ENOENT, what);
    const int err = Set(group, std::string(file), std::string(value));
    if (err != 0) return ErrnoStatus(err, what);
    writes.push_back(absl::StrCat(name, "=", value));
    return absl::OkStatus();
  }

  // The kernel forgets every group's settings of a disk that goes.
  void RemoveDisk(const std::string& group, const std::string& disk) {
    disks.erase(disk);
    const auto files = CgroupTree::Files(group);
    for (const std::string& file : *files) {
      if (!absl::StartsWith(file, "io.") && !absl::StartsWith(file, "blkio.")) continue;
      auto lines = Lines(group, file);
      if (lines.erase(disk) != 0) PutLines(group, file, lines);
    }
  }

 private:
  static Files IoFiles(bool v2) {
    if (v2) {
      return {
          {"io",
           {{"io.max", ""}, {"io.weight", "default 100\n"}, {"io.bfq.weight", "default 100\n"}}}};
    }
    return {{"blkio",
             {{"blkio.throttle.read_bps_device", ""},
              {"blkio.throttle.write_bps_device", ""},
              {"blkio.throttle.read_iops_device", ""},
              {"blkio.throttle.write_iops_device", ""},
              {"blkio.bfq.weight", "100\n"},
              {"blkio.bfq.weight_device", "default 100\n"}}}};
  }

  std::map<std::string, std::string> Lines(absl::string_view group, absl::string_view file) {
    std::map<std::string, std::string> lines;
    const std::string text = *Read(group, file);
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(line, absl::MaxSplits(' ', 1));
      lines.insert(parts);
    }
    return lines;
  }

  void PutLines(absl::string_view group, absl::string_view file,
                const std::map<std::string, std::string>& lines) {
    std::string text;
    if (lines.contains("default")) absl::StrAppend(&text, "default ", lines.at("default"), "\n");
    for (const auto& [key, value] : lines) {
      if (key != "default") absl::StrAppend(&text, key, " ", value, "\n");
    }
    Put(group, file, text);
  }

  int Set(absl::string_view group, const std::string& file, const std::string& value) {
    const std::vector<std::string> words = absl::StrSplit(value, ' ', absl::SkipWhitespace());
    if (words.empty()) return EINVAL;
    if (file == "blkio.bfq.weight") {
      if (const int err = CheckWeight(words[0], 1000); err != 0) return err;
      Put(group, file, words[0] + "\n");
      PutLines(group, "blkio.bfq.weight_device", {{"default", words[0]}});
      return 0;
    }
    if (words.size() < 2) return EINVAL;
    if (absl::StrContains(file, "weight")) return SetWeight(group, file, words);
    if (!disks.contains(words[0])) return ENODEV;
    if (file == "io.max") return SetIoMax(group, words);
    uint64_t limit = 0;
    if (words.size() != 2 || !absl::SimpleAtoi(words[1], &limit)) return EINVAL;
    if (absl::StrContains(file, "iops")) limit &= 0xffffffff;
    return SetLine(group, file, words[0], absl::StrCat(limit), "0");
  }

  int SetLine(absl::string_view group, absl::string_view file, const std::string& key,
              const std::string& value, absl::string_view none) {
    auto lines = Lines(group, file);
    lines[key] = value;
    if (value == none) lines.erase(key);
    PutLines(group, file, lines);
    return 0;
  }

  static int CheckWeight(const std::string& text, uint64_t max) {
    uint64_t weight = 0;
    if (!absl::SimpleAtoi(text, &weight)) return EINVAL;
    return weight < 1 || weight > max ? ERANGE : 0;
  }

  int SetWeight(absl::string_view group, const std::string& file,
                const std::vector<std::string>& words) {
    const bool of_bfq = absl::StrContains(file, "bfq");
    if (words[0] != "default") {
      if (!disks.contains(words[0])) return ENODEV;
      if (!(of_bfq ? bfq : io_cost).contains(words[0])) return EOPNOTSUPP;
    } else if (file == "blkio.bfq.weight_device") {
      return EINVAL;
    }
    if (words[1] != "default") {
      if (const int err = CheckWeight(words[1], of_bfq ? 1000 : 10000); err != 0) return err;
    }
    if (of_bfq && words[0] == "default") {
      // With a default BFQ forgets the weights of all disks.
      PutLines(group, file, {{"default", words[1]}});
      return 0;
    }
    return SetLine(group, file, words[0], words[1], "default");
  }

  int SetIoMax(absl::string_view group, const std::vector<std::string>& words) {
    std::map<std::string, std::string> limits = {
        {"rbps", "max"}, {"wbps", "max"}, {"riops", "max"}, {"wiops", "max"}};
    const auto merge = [&limits](const std::string& word) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(word, '=');
      uint64_t limit = 0;
      const bool valid =
          limits.contains(parts.first) &&
          (parts.second == "max" || (absl::SimpleAtoi(parts.second, &limit) && limit > 1));
      if (valid) limits[parts.first] = parts.second;
      return valid;
    };
    const auto before = Lines(group, "io.max");
    if (const auto at = before.find(words[0]); at != before.end()) {
      for (absl::string_view word : absl::StrSplit(at->second, ' ')) merge(std::string(word));
    }
    for (size_t i = 1; i < words.size(); ++i) {
      if (!merge(words[i])) return EINVAL;
    }
    return SetLine(group, "io.max", words[0],
                   absl::StrCat("rbps=", limits["rbps"], " wbps=", limits["wbps"],
                                " riops=", limits["riops"], " wiops=", limits["wiops"]),
                   "rbps=max wbps=max riops=max wiops=max");
  }
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_IO_FAKE_TREE_FOR_TEST_H_
