#include "kube/manifests/known_classes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "kube/manifests/text.h"

namespace plimsoll::kube {
namespace {

using Entries = std::map<std::string, std::string>;

// Characters of a list of names in a message; the API server drops messages of 5 KiB and more.
constexpr size_t kMostNames = 2000;

std::string Shortened(const std::string& names) {
  return names.size() > kMostNames ? absl::StrCat(names.substr(0, kMostNames), "...") : names;
}

std::string ImplicitResource(const qos::ClassId& id) {
  return absl::StrCat("deviceclass.resource.kubernetes.io/", qos::DeviceClassName(id));
}

// {level: {type: value}}; `value` makes it of the classes of a type.
template <typename Value>
std::string ByLevelAndType(const std::vector<qos::ClassId>& classes, Value value) {
  std::map<std::string, Entries> levels = {{"container", {}}, {"pod", {}}};
  for (const auto& [type, ids] : ByType(classes)) {
    levels[LevelName(type.first)][type.second] = value(ids);
  }
  Entries entries;
  for (const auto& [level, types] : levels) entries[level] = CelMap(types);
  return CelMap(entries);
}

// {resource: value}.
template <typename Value>
std::string ByResource(const std::vector<qos::ClassId>& classes, Value value) {
  Entries entries;
  for (const qos::ClassId& id : classes) {
    entries[qos::ExtendedResourceName(id)] = entries[ImplicitResource(id)] = CelString(value(id));
  }
  return CelMap(entries);
}

}  // namespace

std::string LevelName(qos::Level level) {
  return level == qos::Level::kPod ? "pod" : "container";
}

std::string ShortName(const qos::ClassId& id) {
  const std::string resource = qos::ExtendedResourceName(id);
  return std::string(absl::StripPrefix(resource, absl::StrCat(qos::kClassResourceDomain, "/")));
}

ClassesByType ByType(const std::vector<qos::ClassId>& classes) {
  ClassesByType types;
  for (const qos::ClassId& id : classes) types[{id.level, id.type}].push_back(id);
  return types;
}

std::string KnownClassesInCel(const std::vector<qos::ClassId>& classes) {
  return ByLevelAndType(classes, [](const std::vector<qos::ClassId>& ids) {
    Entries entries;
    for (const qos::ClassId& id : ids) {
      entries[id.name] = CelString(qos::ExtendedResourceName(id));
    }
    return CelMap(entries);
  });
}

std::string NamesInCel(const std::vector<qos::ClassId>& classes) {
  return ByLevelAndType(classes, [](const std::vector<qos::ClassId>& ids) {
    std::string names = absl::StrJoin(
        ids, ", ", [](std::string* out, const qos::ClassId& id) { absl::StrAppend(out, id.name); });
    return CelString(Shortened(names));
  });
}

std::string TypeNamesInCel(const std::vector<qos::ClassId>& classes) {
  std::map<std::string, std::vector<std::string>> types = {{"container", {}}, {"pod", {}}};
  for (const auto& [type, unused] : ByType(classes)) {
    types[LevelName(type.first)].push_back(type.second);
  }
  Entries entries;
  for (const auto& [level, names] : types) {
    entries[level] = CelString(names.empty() ? "none" : Shortened(absl::StrJoin(names, ", ")));
  }
  return CelMap(entries);
}

std::string ResourcesInCel(const std::vector<qos::ClassId>& classes) {
  return ByResource(classes, ShortName);
}

std::string ResourceTypesInCel(const std::vector<qos::ClassId>& classes) {
  return ByResource(classes, [](const qos::ClassId& id) {
    return absl::StrCat(LevelName(id.level), " ", id.type);
  });
}

std::string DeviceClassesInCel(const std::vector<qos::ClassId>& classes) {
  Entries entries;
  for (const qos::ClassId& id : classes) {
    entries[qos::DeviceClassName(id)] = CelString(ShortName(id));
  }
  return CelMap(entries);
}

}  // namespace plimsoll::kube
