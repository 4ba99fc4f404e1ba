#include "cri/calls/redact.h"

#include <google/protobuf/descriptor.h>

#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kRedacted[] = "<redacted>";

void RedactAuth(v1::AuthConfig* auth) {
  if (!auth->password().empty()) auth->set_password(kRedacted);
  if (!auth->auth().empty()) auth->set_auth(kRedacted);
  if (!auth->identity_token().empty()) auth->set_identity_token(kRedacted);
  if (!auth->registry_token().empty()) auth->set_registry_token(kRedacted);
}

void Redact(Message* message) {
  if (message->GetDescriptor() == v1::AuthConfig::descriptor()) {
    return RedactAuth(static_cast<v1::AuthConfig*>(message));
  }
  if (message->GetDescriptor() == v1::KeyValue::descriptor()) {
    return static_cast<v1::KeyValue*>(message)->set_value(kRedacted);
  }
  const Reflection* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Redact(reflection->MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      Redact(reflection->MutableRepeatedMessage(message, field, i));
    }
  }
}

// A message's string field, and its submessage; nothing if it has no field of that name.
std::string TextIn(const Message* message, const char* name) {
  const FieldDescriptor* field =
      message == nullptr ? nullptr : message->GetDescriptor()->FindFieldByName(name);
  const bool is_text = field != nullptr && !field->is_repeated() &&
                       field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  return is_text ? message->GetReflection()->GetString(*message, field) : std::string();
}

const Message* PartOf(const Message* message, const char* name) {
  const FieldDescriptor* field =
      message == nullptr ? nullptr : message->GetDescriptor()->FindFieldByName(name);
  const bool is_message = field != nullptr && !field->is_repeated() &&
                          field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  return is_message ? &message->GetReflection()->GetMessage(*message, field) : nullptr;
}

}  // namespace

std::string RedactedText(const Message& message) {
  std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  copy->DiscardUnknownFields();
  Redact(copy.get());
  return copy->ShortDebugString();
}

std::string ObjectOf(const Message& request) {
  std::vector<std::string> words;
  for (const char* name : {"container_id", "pod_sandbox_id", "reference", "path"}) {
    words.push_back(TextIn(&request, name));
  }
  const Message* metadata = PartOf(PartOf(&request, "config"), "metadata");
  words.push_back(TextIn(metadata, "namespace"));
  words.push_back(TextIn(metadata, "name"));
  words.push_back(TextIn(PartOf(&request, "image"), "image"));
  std::erase(words, "");
  return absl::CEscape(absl::StrJoin(words, "/")).substr(0, 256);
}

}  // namespace plimsoll::cri
