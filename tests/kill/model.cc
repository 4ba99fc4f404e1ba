#include "kill/model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll::testing {

std::string LifeNames(unsigned lives) {
  std::vector<std::string> names;
  const std::pair<Life, const char*> all[] = {
      {kAbsent, "absent"}, {kCreated, "Created"},   {kRunning, "Running"}, {kExited, "Exited"},
      {kReady, "Ready"},   {kNotReady, "NotReady"}, {kPresent, "present"}};
  for (const auto& [life, name] : all) {
    if ((lives & life) != 0) names.push_back(name);
  }
  return absl::StrJoin(names, "|");
}

std::string Token(const ContainerModel& container) {
  return absl::StrCat("T", container.name, ";");
}

std::string ScriptOf(const ContainerModel& container) {
  const std::string exit = absl::StrCat("exit ", container.code);
  const std::string begin = absl::StrCat(": ", Token(container), " ");
  const std::string mark = absl::StrCat("echo started >> /marks/", container.name, "; ");
  const std::string gate =
      absl::StrCat("until [ -e /marks/", container.name, ".gate ]; do sleep 0.05; done; ");
  switch (container.ending) {
    case Ending::kAtOnce:
      return absl::StrCat(begin, mark, exit);
    case Ending::kAtGate:
      return absl::StrCat(begin, mark, gate, exit);
    case Ending::kOnTerm:
      return absl::StrCat(begin, "trap '", exit, "' TERM; ", mark, "while :; do sleep 0.05; done");
    case Ending::kNever:
      return absl::StrCat(begin, mark, "while :; do sleep 1000; done");
    case Ending::kOutOfMemory:
      return absl::StrCat(begin, mark, gate, "tail /dev/zero; exit $?");
  }
  return "";
}

}  // namespace plimsoll::testing
