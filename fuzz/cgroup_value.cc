// A value of a class of plain cgroup files: "<file>=<value>". The kernel's form of a value is
// itself valid, and means the same.
#include "check.h"
#include "qos/cgroup_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace qos = plimsoll::qos;
  const absl::string_view text = Text(data, size);
  const size_t sign = text.find('=');
  if (sign == absl::string_view::npos) return 0;
  const absl::string_view file = text.substr(0, sign);
  const auto value = qos::CanonicalCgroupValue(file, text.substr(sign + 1));
  if (!value.ok()) {
    CheckRefusal(value.status());
    return 0;
  }
  const auto again = qos::CanonicalCgroupValue(file, *value);
  FUZZ_CHECK(again.ok() && *again == *value, *value);
  FUZZ_CHECK(value->find('\n') == std::string::npos, *value);
  return 0;
}
