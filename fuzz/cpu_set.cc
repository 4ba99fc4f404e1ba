// CPU lists, from users and from the kernel. Two of them, divided by the first ';'.
#include "resources/cpu_set.h"
#include "absl/strings/str_cat.h"
#include "check.h"

namespace plimsoll::fuzz {
namespace {

using resources::CpuSet;

void CheckOne(const CpuSet& set) {
  const std::string text = set.ToString();
  const auto again = CpuSet::Parse(text);
  FUZZ_CHECK(again.ok() && *again == set, text);
  const std::vector<uint32_t> cpus = set.ToVector();
  FUZZ_CHECK(cpus.size() == set.Size(), text);
  FUZZ_CHECK(cpus.empty() == set.Empty(), text);
  CpuSet rest = set;
  for (const uint32_t cpu : cpus) {
    FUZZ_CHECK(cpu < CpuSet::kMaxCpus && set.Contains(cpu), text);
    rest.Remove(cpu);
  }
  FUZZ_CHECK(rest.Empty() && rest == CpuSet(), text);
}

void CheckTwo(const CpuSet& a, const CpuSet& b) {
  const std::string both = absl::StrCat(a.ToString(), " and ", b.ToString());
  const CpuSet all = a.Union(b);
  const CpuSet common = a.Intersection(b);
  FUZZ_CHECK(all.Size() + common.Size() == a.Size() + b.Size(), both);
  FUZZ_CHECK(a.IsSubsetOf(all) && b.IsSubsetOf(all), both);
  FUZZ_CHECK(common.IsSubsetOf(a) && common.IsSubsetOf(b), both);
  FUZZ_CHECK(a.Difference(b).Union(common) == a, both);
  FUZZ_CHECK(a.Difference(b).Intersection(b).Empty(), both);
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const absl::string_view text = Text(data, size);
  const size_t divider = text.find(';');
  const auto a = CpuSet::Parse(text.substr(0, divider));
  const auto b =
      CpuSet::Parse(divider == absl::string_view::npos ? "0-3" : text.substr(divider + 1));
  if (!a.ok()) CheckRefusal(a.status());
  if (a.ok()) CheckOne(*a);
  if (a.ok() && b.ok()) CheckTwo(*a, *b);
  return 0;
}
