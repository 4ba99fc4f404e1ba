#include "runtime/cgroups/told_share.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "resources/cpu_set.h"

namespace plimsoll::runtime {
namespace {

using resources::CpuSet;

// Three lines.
constexpr char kFile[] = "told-share";
constexpr char kBoot[] = "boot ";
constexpr char kCpus[] = "cpus ";
constexpr char kMemoryNodes[] = "memory-nodes ";

CpuSet ListOf(absl::string_view line, absl::string_view key) {
  if (!absl::ConsumePrefix(&line, key)) return CpuSet();
  return CpuSet::Parse(line).value_or(CpuSet());
}

// False: all of it is in the sum already.
bool AddTo(NodeShare& sum, const NodeShare& share) {
  if (share.cpus.IsSubsetOf(sum.cpus) && share.memory_nodes.IsSubsetOf(sum.memory_nodes)) {
    return false;
  }
  sum.cpus = sum.cpus.Union(share.cpus);
  sum.memory_nodes = sum.memory_nodes.Union(share.memory_nodes);
  return true;
}

}  // namespace

void ToldShare::Load(const FsRoot& run, const std::string& boot_id) {
  run_ = run;
  boot_id_ = boot_id;
  const auto text = run_->Read(kFile);
  if (!text.ok()) return;
  const std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n');
  if (lines.size() < 3 || lines[0] != absl::StrCat(kBoot, boot_id_)) return;
  sum_.cpus = ListOf(lines[1], kCpus);
  sum_.memory_nodes = ListOf(lines[2], kMemoryNodes);
  in_force_ = sum_;
}

absl::Status ToldShare::Add(const NodeShare& share) {
  AddTo(in_force_, share);
  if (share.is_told && AddTo(sum_, share)) is_stored_ = false;
  return Retry();
}

absl::Status ToldShare::Retry() {
  if (is_stored_ || !run_) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(Annotate(Store(), "store the node's share as told to clients"));
  is_stored_ = true;
  return absl::OkStatus();
}

absl::Status ToldShare::Store() const {
  return run_->ReplaceFile(
      kFile, absl::StrCat(kBoot, boot_id_, "\n", kCpus, sum_.cpus.ToString(), "\n", kMemoryNodes,
                          sum_.memory_nodes.ToString(), "\n"));
}

}  // namespace plimsoll::runtime
