#include <nlohmann/json.hpp>
#include <string>

#include "nri/messages/parts.h"

namespace plimsoll::nri {
namespace {

using SeccompJson = nlohmann::json;

void AddTexts(const SeccompJson& object, const char* key,
              google::protobuf::RepeatedPtrField<std::string>* out) {
  const auto list = object.find(key);
  if (list == object.end() || !list->is_array()) return;
  for (const SeccompJson& text : *list) {
    if (text.is_string()) *out->Add() = text.get<std::string>();
  }
}

std::string TextOf(const SeccompJson& object, const char* key) {
  const auto text = object.find(key);
  return text != object.end() && text->is_string() ? text->get<std::string>() : "";
}

template <typename Number>
std::optional<Number> NumberOf(const SeccompJson& object, const char* key) {
  const auto number = object.find(key);
  if (number == object.end() || !number->is_number_integer()) return std::nullopt;
  return number->get<Number>();
}

void FillSyscall(const SeccompJson& syscall, api::LinuxSyscall* out) {
  AddTexts(syscall, "names", out->mutable_names());
  out->set_action(TextOf(syscall, "action"));
  if (const auto number = NumberOf<uint32_t>(syscall, "errnoRet")) {
    out->mutable_errno_ret()->set_value(*number);
  }
  const auto arguments = syscall.find("args");
  if (arguments == syscall.end() || !arguments->is_array()) return;
  for (const SeccompJson& argument : *arguments) {
    if (!argument.is_object()) continue;
    api::LinuxSeccompArg* added = out->add_args();
    added->set_index(NumberOf<uint32_t>(argument, "index").value_or(0));
    added->set_value(NumberOf<uint64_t>(argument, "value").value_or(0));
    added->set_value_two(NumberOf<uint64_t>(argument, "valueTwo").value_or(0));
    added->set_op(TextOf(argument, "op"));
  }
}

}  // namespace

void FillSeccompPolicy(const std::string& json, api::LinuxSeccomp* out) {
  const SeccompJson policy = SeccompJson::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!policy.is_object()) return;
  out->set_default_action(TextOf(policy, "defaultAction"));
  if (const auto number = NumberOf<uint32_t>(policy, "defaultErrnoRet")) {
    out->mutable_default_errno()->set_value(*number);
  }
  AddTexts(policy, "architectures", out->mutable_architectures());
  AddTexts(policy, "flags", out->mutable_flags());
  out->set_listener_path(TextOf(policy, "listenerPath"));
  out->set_listener_metadata(TextOf(policy, "listenerMetadata"));
  const auto syscalls = policy.find("syscalls");
  if (syscalls == policy.end() || !syscalls->is_array()) return;
  for (const SeccompJson& syscall : *syscalls) {
    if (syscall.is_object()) FillSyscall(syscall, out->add_syscalls());
  }
}

}  // namespace plimsoll::nri
