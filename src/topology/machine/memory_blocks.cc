#include "topology/machine/memory_blocks.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll::topology {
namespace {

constexpr char kBlocks[] = "sys/devices/system/memory";

// Empty without such a file.
std::string FirstLine(const FsRoot& host, absl::string_view file) {
  const auto text = host.Read(absl::StrCat(kBlocks, "/", file));
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

bool IsInState(const FsRoot& host, uint32_t block, absl::string_view state) {
  return FirstLine(host, absl::StrCat("memory", block, "/state")) == state;
}

// With "offline", somebody else decides whether and when a block goes online.
bool KernelPutsThemOnline(const FsRoot& host) {
  const std::string policy = FirstLine(host, "auto_online_blocks");
  return !policy.empty() && policy != "offline";
}

}  // namespace

void MemoryBlocks::Heard(const linux::Uevent& event) {
  absl::string_view name = event.path;
  uint32_t block = 0;
  if (event.subsystem != "memory" || !absl::ConsumePrefix(&name, "/devices/system/memory/memory") ||
      !absl::SimpleAtoi(name, &block)) {
    return;
  }
  added_.erase(block);
  gone_.erase(block);
  if (event.action == "add") added_.insert(block);
  if (event.action == "offline") gone_.insert(block);
}

bool MemoryBlocks::AreMoving(const FsRoot& host) const {
  if (!added_.empty() && KernelPutsThemOnline(host) &&
      std::any_of(added_.begin(), added_.end(),
                  [&](uint32_t block) { return IsInState(host, block, "offline"); })) {
    return true;
  }
  return std::any_of(gone_.begin(), gone_.end(), [&](uint32_t block) {
    return IsInState(host, block + 1, "going-offline") ||
           (block > 0 && IsInState(host, block - 1, "going-offline"));
  });
}

void MemoryBlocks::Forget() {
  added_.clear();
  gone_.clear();
}

}  // namespace plimsoll::topology
