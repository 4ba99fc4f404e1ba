#include "pod_runner/cri_requests/env.h"

#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "pod_runner/cri_requests/fields.h"

namespace plimsoll::pod {
namespace {

// Whether a variable can hold the value: any bytes before the NUL that ends them.
bool CanBeVariable(absl::string_view value) {
  return !absl::StrContains(value, '\0');
}

// Linux counts the string's NUL, and the pointer to it.
constexpr size_t kNul = 1;
constexpr size_t kPointer = sizeof(char*);

// Takes room for "NAME=value".
absl::Status TakeVariable(const std::string& name, const std::string& value, ProgramRoom& room) {
  return room.Take(name.size() + 1 + value.size());
}

// nullopt: an optional key is missing.
absl::StatusOr<std::optional<std::string>> ValueOf(const Manifest& pod,
                                                   const ContainerManifest& container,
                                                   const EnvVar& variable,
                                                   const PodContext& context,
                                                   const std::map<std::string, std::string>& known,
                                                   const ProgramRoom& room) {
  if (!variable.field_path.empty()) return FieldValue(pod, variable.field_path, context);
  if (variable.resource) return ResourceValue(pod, &container, *variable.resource, context);
  if (!variable.key) return ExpandReferences(variable.value, known, room);
  PLIMSOLL_ASSIGN_OR_RETURN(std::optional<std::string> value,
                            ObjectValue(pod, *variable.key, context));
  if (!value || CanBeVariable(*value)) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(variable.key->kind, pod.pod_namespace, variable.key->object), ", key \"",
                   variable.key->key, "\": the value has a NUL byte, which no variable can hold"));
}

// A later object's variable replaces an earlier one's.
absl::Status AddAll(const Manifest& pod, const EnvFrom& from, const PodContext& context,
                    std::map<std::string, std::string>& known, ProgramRoom& room) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Object* object,
                            FindObject(pod, from.kind, from.object, from.optional, context));
  if (object == nullptr) return absl::OkStatus();
  for (const auto& [key, value] : object->data) {
    if (object->binary.contains(key) || !CanBeVariable(value)) continue;
    const std::string name = absl::StrCat(from.prefix, key);
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(TakeVariable(name, value, room),
                 absl::StrCat("variable ", name, " of ",
                              NameOf(from.kind, pod.pod_namespace, from.object))));
    known[name] = value;
  }
  return absl::OkStatus();
}

}  // namespace

size_t ProgramRoom::OfProcess() {
  constexpr size_t kLeast = size_t{128} << 10;
  constexpr size_t kMost = size_t{6} << 20;
  rlimit stack = {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY) return kMost;
  return std::clamp(static_cast<size_t>(stack.rlim_cur / 4), kLeast, kMost);
}

size_t ProgramRoom::Longest() const {
  const size_t with_nul = std::min(kMostStringBytes, left_ - std::min(left_, kPointer));
  return with_nul - std::min(with_nul, kNul);
}

absl::Status ProgramRoom::Take(size_t bytes) {
  if (bytes + kNul > kMostStringBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("becomes longer than ", kMostStringBytes - kNul,
                     " bytes, the most that Linux takes in one string of a program"));
  }
  if (bytes + kNul + kPointer > left_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "variables, command and arguments have more than ", whole_,
        " bytes together: a program gets a quarter of the stack's limit and at most 6 MiB, the "
        "containers of a pod together ",
        kMostPodBytes >> 20, " MiB"));
  }
  left_ -= bytes + kNul + kPointer;
  return absl::OkStatus();
}

absl::StatusOr<std::string> ExpandReferences(absl::string_view text,
                                             const std::map<std::string, std::string>& variables,
                                             const ProgramRoom& room) {
  std::string result;
  const size_t longest = room.Longest();
  while (!text.empty()) {
    absl::string_view piece = text.substr(0, 1);
    size_t length = 1;  // of what becomes `piece`
    const size_t end = absl::StartsWith(text, "$(") ? text.find(')') : absl::string_view::npos;
    if (absl::StartsWith(text, "$$")) {
      length = 2;
    } else if (end != absl::string_view::npos) {
      length = end + 1;
      const auto it = variables.find(std::string(text.substr(2, end - 2)));
      piece = it == variables.end() ? text.substr(0, length) : absl::string_view(it->second);
    }
    if (piece.size() > longest - result.size()) {
      return ProgramRoom(room).Take(result.size() + piece.size());
    }
    absl::StrAppend(&result, piece);
    text.remove_prefix(length);
  }
  return result;
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ResolveEnvironment(
    const Manifest& pod, const ContainerManifest& container, const PodContext& context,
    ProgramRoom& room) {
  std::map<std::string, std::string> known;
  for (const EnvFrom& from : container.env_from) {
    PLIMSOLL_RETURN_IF_ERROR(AddAll(pod, from, context, known, room));
  }
  std::map<std::string, std::string> inherited = known;
  std::vector<std::pair<std::string, std::string>> own;
  for (const EnvVar& variable : container.env) {
    absl::StatusOr<std::optional<std::string>> value =
        ValueOf(pod, container, variable, context, known, room);
    absl::Status status = value.status();
    if (status.ok() && *value) status = TakeVariable(variable.name, **value, room);
    PLIMSOLL_RETURN_IF_ERROR(Annotate(status, absl::StrCat("variable ", variable.name)));
    if (!*value) continue;
    known[variable.name] = **value;
    inherited.erase(variable.name);
    own.emplace_back(variable.name, **std::move(value));
  }
  std::vector<std::pair<std::string, std::string>> all(inherited.begin(), inherited.end());
  all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  return all;
}

std::vector<std::string> LeftOutVariables(const Manifest& pod, const ContainerManifest& container,
                                          const PodContext& context) {
  std::vector<std::string> left_out;
  for (const EnvFrom& from : container.env_from) {
    const auto object = FindObject(pod, from.kind, from.object, /*optional=*/true, context);
    if (!object.ok() || *object == nullptr) continue;
    std::vector<std::string> keys;
    for (const auto& [key, value] : (*object)->data) {
      if (!(*object)->binary.contains(key) && !CanBeVariable(value)) keys.push_back(key);
    }
    if (keys.empty()) continue;
    left_out.push_back(absl::StrCat(
        "envFrom leaves out ", NameOf(from.kind, pod.pod_namespace, from.object), ", ",
        keys.size() == 1 ? "key " : "keys ", absl::StrJoin(keys, ", "),
        ": a NUL byte is in the value, which no variable can hold; a volume of the object can"));
  }
  return left_out;
}

}  // namespace plimsoll::pod
