// Names of classes in a cluster: a line of the input is "p" or "c" (the level), a type, a tab and a
// class.
#include "qos/class_devices.h"

#include <set>

#include "absl/strings/str_split.h"
#include "check.h"
#include "qos/device_names_for_test.h"

namespace {

using plimsoll::qos::ClassId;
using plimsoll::qos::Level;

// The ids of the input, and those that a text could be read as where the split is elsewhere.
std::set<ClassId> IdsOf(absl::string_view text) {
  constexpr size_t kMost = 64;
  std::set<ClassId> ids;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || ids.size() >= kMost) continue;
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line.substr(1), absl::MaxSplits('\t', 1));
    ids.insert({line[0] == 'p' ? Level::kPod : Level::kContainer, parts.first, parts.second});
  }
  std::set<ClassId> more = ids;
  for (const ClassId& id : ids) {
    for (const auto& kind : plimsoll::qos::kNameKinds) {
      const std::string name = kind.name_of(id);
      const std::string rest = name.substr(name.find('/') + 1);
      for (const char separator : {'-', '.', '='}) {
        const std::pair<std::string, std::string> parts =
            absl::StrSplit(rest, absl::MaxSplits(separator, 1));
        for (const Level level : {Level::kPod, Level::kContainer}) {
          more.insert({level, parts.first, parts.second});
        }
      }
    }
  }
  return more;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const absl::string_view text = Text(data, size);
  const std::set<ClassId> ids = IdsOf(text);
  const std::vector<ClassId> known(ids.begin(), ids.end());
  for (const auto& kind : plimsoll::qos::kNameKinds) {
    std::set<std::string> names;
    for (const ClassId& id : known) {
      const std::string name = kind.name_of(id);
      FUZZ_CHECK(kind.is_valid(name), name);
      FUZZ_CHECK(names.insert(name).second, name);
    }
    if (known.empty()) continue;
    // One of them by its name.
    const ClassId& id = known[size % known.size()];
    const auto found = plimsoll::qos::FindClass(kind.name_of(id), known, kind.name_of);
    FUZZ_CHECK(found.ok() && *found == id, kind.name_of(id));
  }
  for (const ClassId& id : known) {
    const std::string name = plimsoll::qos::CdiName(id);
    const auto read = plimsoll::qos::ClassOfPlainCdiName(name);
    FUZZ_CHECK(!read.has_value() || *read == id, name);
    FUZZ_CHECK(read.has_value() != absl::StrContains(name, "--"), name);
  }
  // Foreign text: it is read only as the class that has this very name.
  if (const auto read = plimsoll::qos::ClassOfPlainCdiName(text); read.has_value()) {
    FUZZ_CHECK(plimsoll::qos::CdiName(*read) == text, std::string(text));
  }
  return 0;
}
