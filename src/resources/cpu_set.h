// CpuSet: a set of CPU numbers in the kernel's list format ("0-3,8,16-30:2/4").
#ifndef PLIMSOLL_RESOURCES_CPU_SET_H_
#define PLIMSOLL_RESOURCES_CPU_SET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::resources {

// Also fits memory node lists, which have the same format. A value.
class CpuSet {
 public:
  // One more than the largest accepted CPU number: eight times the most that Linux can be built
  // for.
  static constexpr uint32_t kMaxCpus = 65536;

  CpuSet() = default;

  // The kernel's list format (Documentation/admin-guide/kernel-parameters.rst, "cpu lists"):
  // numbers, ranges "a-b" and strided ranges "a-b:used/group" (of each `group` CPUs from a on, the
  // first `used`), separated by commas. White space around the whole text, as in a kernel file, is
  // allowed; empty text is the empty set. INVALID_ARGUMENT otherwise.
  static absl::StatusOr<CpuSet> Parse(absl::string_view text);

  // The kernel's output format: ranges in ascending order, "0-3,8"; empty text for the empty set.
  std::string ToString() const;

  // Ignores numbers from kMaxCpus on.
  void Add(uint32_t cpu);
  void Remove(uint32_t cpu);
  bool Contains(uint32_t cpu) const;
  size_t Size() const;
  bool Empty() const { return words_.empty(); }
  std::vector<uint32_t> ToVector() const;  // ascending

  CpuSet Union(const CpuSet& other) const;
  CpuSet Intersection(const CpuSet& other) const;
  CpuSet Difference(const CpuSet& other) const;  // the CPUs that `other` lacks
  bool IsSubsetOf(const CpuSet& other) const;

  bool operator==(const CpuSet&) const = default;

 private:
  void Trim();

  std::vector<uint64_t> words_;  // no trailing zero words
};

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_CPU_SET_H_
