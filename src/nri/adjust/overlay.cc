#include "nri/adjust/overlay.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "nri/adjust/fields.h"

namespace plimsoll::nri {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::vector<const FieldDescriptor*> SetMembers(const Message& message) {
  std::vector<const FieldDescriptor*> members;
  message.GetReflection()->ListFields(message, &members);
  return members;
}

absl::Status CheckString(const std::string& text, const std::string& path) {
  if (!absl::StrContains(text, '\0')) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, " has a NUL byte in it"));
}

// The protocol's messages are nested eight deep at most, and none contains itself.
absl::Status CheckMembers(const Message& message, const std::string& prefix) {
  const Reflection* reflection = message.GetReflection();
  if (const auto& unknown = reflection->GetUnknownFields(message); !unknown.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(prefix, unknown.field(0).number(), ": ", message.GetTypeName(),
                     " has no member of this number in the protocol that Plimsoll speaks"));
  }
  for (const FieldDescriptor* member : SetMembers(message)) {
    const std::string path = absl::StrCat(prefix, member->name());
    const bool is_text = member->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const bool is_message = member->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!member->is_repeated()) {
      if (is_text) {
        PLIMSOLL_RETURN_IF_ERROR(CheckString(reflection->GetString(message, member), path));
      } else if (is_message) {
        PLIMSOLL_RETURN_IF_ERROR(
            CheckMembers(reflection->GetMessage(message, member), absl::StrCat(path, ".")));
      }
      continue;
    }
    const int count = reflection->FieldSize(message, member);
    if (count > kMaxElements) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " has ", count, " elements; at most ", kMaxElements, " are taken"));
    }
    for (int i = 0; i < count; ++i) {
      if (is_text) {
        PLIMSOLL_RETURN_IF_ERROR(
            CheckString(reflection->GetRepeatedString(message, member, i), path));
      } else if (is_message) {
        PLIMSOLL_RETURN_IF_ERROR(CheckMembers(reflection->GetRepeatedMessage(message, member, i),
                                              absl::StrCat(path, "[", i, "].")));
      }
    }
  }
  return absl::OkStatus();
}

// An element's key as it is written, "-" included.
std::string KeyOf(const Field& field, const Message& element) {
  if (field.key == nullptr) return RuleKey(static_cast<const api::LinuxDeviceCgroup&>(element));
  return element.GetReflection()->GetString(element,
                                            element.GetDescriptor()->FindFieldByName(field.key));
}

bool IsRemoval(const Field& field, absl::string_view key) {
  return field.merge == Merge::kRemovableList && absl::StartsWith(key, "-");
}

std::string WithoutMark(const Field& field, const std::string& key) {
  return IsRemoval(field, key) ? key.substr(1) : key;
}

void ForEachElement(const Message& message, const FieldDescriptor* member,
                    absl::FunctionRef<void(const Message& element)> visit) {
  const Reflection* reflection = message.GetReflection();
  for (int i = 0; i < reflection->FieldSize(message, member); ++i) {
    visit(reflection->GetRepeatedMessage(message, member, i));
  }
}

// Removals come first, wherever they stand.
absl::Status ClaimList(const std::string& plugin, const Field& field, const Message& message,
                       const FieldDescriptor* member, Owners* owners) {
  absl::Status status;
  ForEachElement(message, member, [&](const Message& element) {
    const std::string key = KeyOf(field, element);
    if (IsRemoval(field, key)) owners->Remove(plugin, field.path, key.substr(1));
  });
  ForEachElement(message, member, [&](const Message& element) {
    const std::string key = KeyOf(field, element);
    if (status.ok() && !IsRemoval(field, key)) status = owners->Claim(plugin, field.path, key);
  });
  return status;
}

absl::Status ClaimArgs(const std::string& plugin, const Field& field, const Message& message,
                       const FieldDescriptor* member, Owners* owners) {
  const Reflection* reflection = message.GetReflection();
  const auto is_empty = [&](int index) {
    return reflection->GetRepeatedString(message, member, index).empty();
  };
  if (is_empty(0)) {
    owners->Remove(plugin, field.path, "");
    if (reflection->FieldSize(message, member) == 1 || is_empty(1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("plugin ", plugin, ": ", field.path,
                       " name no program: it must follow the empty one that removes the present "
                       "ones"));
    }
  }
  return owners->Claim(plugin, field.path, "");
}

// rdt_class names the same thing as clos_id.
void RemoveRdt(const std::string& plugin, Owners* owners) {
  for (const char* path : {"linux.rdt.clos_id", "linux.rdt.enable_monitoring", "linux.rdt.schemata",
                           "linux.resources.rdt_class"}) {
    owners->Remove(plugin, path, "");
  }
}

absl::Status ClaimMembers(const std::string& plugin, const Change& change, Owners* owners) {
  const Message& message = change.message;
  for (const FieldDescriptor* member : SetMembers(message)) {
    const std::string path = absl::StrCat(change.prefix, member->name());
    const Field* field = FindField(path);
    if (field == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("plugin ", plugin, ": ", path, " is not supported"));
    }
    switch (field->merge) {
      case Merge::kGroup:
        PLIMSOLL_RETURN_IF_ERROR(ClaimMembers(
            plugin, {message.GetReflection()->GetMessage(message, member), absl::StrCat(path, ".")},
            owners));
        break;
      case Merge::kWhole:
        PLIMSOLL_RETURN_IF_ERROR(owners->Claim(plugin, path, ""));
        break;
      case Merge::kList:
      case Merge::kRemovableList:
        PLIMSOLL_RETURN_IF_ERROR(ClaimList(plugin, *field, message, member, owners));
        break;
      case Merge::kAppend:
        ForEachElement(message, member, [&](const Message& element) {
          owners->Add(plugin, path, KeyOf(*field, element));
        });
        break;
      case Merge::kArgs:
        PLIMSOLL_RETURN_IF_ERROR(ClaimArgs(plugin, *field, message, member, owners));
        break;
      case Merge::kRemoveRdt:
        break;  // Claim did it before all others
    }
  }
  return absl::OkStatus();
}

// Removes elements, the rest keeping their order.
void RemoveIf(absl::FunctionRef<bool(const Message&)> leaves, const FieldDescriptor* member,
              Message* target) {
  const Reflection* reflection = target->GetReflection();
  const int count = reflection->FieldSize(*target, member);
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    if (leaves(reflection->GetRepeatedMessage(*target, member, i))) continue;
    if (kept != i) reflection->SwapElements(target, member, kept, i);
    ++kept;
  }
  for (int i = kept; i < count; ++i) reflection->RemoveLast(target, member);
}

// The entries of each map are a type of their own, with the same bytes for the same entry.
void CopyElement(const Message& element, Message* copy) {
  if (element.GetDescriptor() == copy->GetDescriptor()) {
    copy->CopyFrom(element);
  } else {
    copy->ParsePartialFromString(element.SerializePartialAsString());
  }
}

void OverlayList(const Field& field, const Message& message, const FieldDescriptor* member,
                 const FieldDescriptor* to, bool keep_removals, Message* target) {
  std::set<std::string> named;
  std::set<std::string> set;
  ForEachElement(message, member, [&](const Message& element) {
    const std::string key = KeyOf(field, element);
    named.insert(WithoutMark(field, key));
    if (!IsRemoval(field, key)) set.insert(key);
  });
  RemoveIf(
      [&](const Message& element) {
        return named.count(WithoutMark(field, KeyOf(field, element))) > 0;
      },
      to, target);
  const Reflection* reflection = target->GetReflection();
  ForEachElement(message, member, [&](const Message& element) {
    const std::string key = KeyOf(field, element);
    if (IsRemoval(field, key)) {
      // Twice in one answer is once.
      if (!keep_removals || !set.insert(key.substr(1)).second) return;
    }
    CopyElement(element, reflection->AddMessage(target, to));
  });
}

void OverlayArgs(const Message& message, const FieldDescriptor* member, const FieldDescriptor* to,
                 Message* target) {
  const Reflection* from = message.GetReflection();
  const Reflection* reflection = target->GetReflection();
  reflection->ClearField(target, to);
  for (int i = 0; i < from->FieldSize(message, member); ++i) {
    std::string text = from->GetRepeatedString(message, member, i);
    if (i > 0 || !text.empty()) reflection->AddString(target, to, std::move(text));
  }
}

void OverlayWhole(const Message& message, const FieldDescriptor* member, const FieldDescriptor* to,
                  Message* target) {
  const Reflection* from = message.GetReflection();
  const Reflection* reflection = target->GetReflection();
  if (member->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    reflection->MutableMessage(target, to)->CopyFrom(from->GetMessage(message, member));
  } else {
    reflection->SetString(target, to, from->GetString(message, member));
  }
}

}  // namespace

std::string RuleKey(const api::LinuxDeviceCgroup& rule) {
  const auto number = [](bool has, int64_t value) {
    return has ? absl::StrCat(value) : std::string("*");
  };
  return absl::StrCat(rule.type(), " ", number(rule.has_major(), rule.major().value()), ":",
                      number(rule.has_minor(), rule.minor().value()));
}

absl::Status CheckShape(const Change& change) {
  const size_t bytes = change.message.ByteSizeLong();
  if (bytes > kMaxChangeBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the changes take ", bytes, " bytes; at most ",
                                                     kMaxChangeBytes, " are taken"));
  }
  return CheckMembers(change.message, change.prefix);
}

absl::Status Claim(const std::string& plugin, const Change& change, Owners* owners) {
  const auto* adjustment = dynamic_cast<const api::ContainerAdjustment*>(&change.message);
  if (adjustment != nullptr && adjustment->linux().rdt().remove()) RemoveRdt(plugin, owners);
  return ClaimMembers(plugin, change, owners);
}

void Overlay(const Change& change, bool keep_removals, Message* target) {
  const Message& message = change.message;
  for (const FieldDescriptor* member : SetMembers(message)) {
    const std::string path = absl::StrCat(change.prefix, member->name());
    const Field* field = FindField(path);
    const FieldDescriptor* to = target->GetDescriptor()->FindFieldByName(member->name());
    if (field == nullptr || to == nullptr || to->cpp_type() != member->cpp_type()) continue;
    switch (field->merge) {
      case Merge::kGroup:
        Overlay({message.GetReflection()->GetMessage(message, member), absl::StrCat(path, ".")},
                keep_removals, target->GetReflection()->MutableMessage(target, to));
        break;
      case Merge::kWhole:
        OverlayWhole(message, member, to, target);
        break;
      case Merge::kList:
      case Merge::kRemovableList:
        OverlayList(*field, message, member, to, keep_removals, target);
        break;
      case Merge::kAppend:
        ForEachElement(message, member, [&](const Message& element) {
          target->GetReflection()->AddMessage(target, to)->CopyFrom(element);
        });
        break;
      case Merge::kArgs:
        OverlayArgs(message, member, to, target);
        break;
      case Merge::kRemoveRdt:
        break;
    }
  }
}

}  // namespace plimsoll::nri
