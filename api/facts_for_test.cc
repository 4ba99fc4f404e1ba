#include "facts_for_test.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll::api {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::MethodDescriptor;
using ::google::protobuf::ServiceDescriptor;

std::string LocalName(absl::string_view full, const FileDescriptor& file) {
  const std::string package = absl::StrCat(file.package(), ".");
  return std::string(full.substr(absl::StartsWith(full, package) ? package.size() : 0));
}

std::string TypeOf(const FieldDescriptor& field) {
  if (field.is_map()) {
    return absl::StrCat("map<", TypeOf(*field.message_type()->map_key()), ",",
                        TypeOf(*field.message_type()->map_value()), ">");
  }
  if (field.message_type() != nullptr) {
    return LocalName(field.message_type()->full_name(), *field.file());
  }
  if (field.enum_type() != nullptr) return LocalName(field.enum_type()->full_name(), *field.file());
  return field.type_name();
}

std::string FlagsOf(const FieldDescriptor& field) {
  if (field.is_repeated() && !field.is_map()) return "repeated";
  if (field.real_containing_oneof() != nullptr) return "oneof";
  if (field.has_optional_keyword()) return "optional";
  return field.options().deprecated() ? "deprecated" : "";
}

void AddEnum(const EnumDescriptor& type, Facts* facts) {
  const std::string name = LocalName(type.full_name(), *type.file());
  (*facts)[KeyOf("enum", "", name)] = "  ";
  for (int i = 0; i < type.value_count(); ++i) {
    (*facts)[KeyOf("value", name, type.value(i)->name())] =
        absl::StrCat(type.value(i)->number(), "  ");
  }
}

void AddMessage(const Descriptor& message, Facts* facts) {
  if (message.options().map_entry()) return;
  const std::string name = LocalName(message.full_name(), *message.file());
  (*facts)[KeyOf("message", "", name)] = "  ";
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    (*facts)[KeyOf("field", name, field.name())] =
        absl::StrCat(field.number(), " ", TypeOf(field), " ", FlagsOf(field));
  }
  for (int i = 0; i < message.enum_type_count(); ++i) AddEnum(*message.enum_type(i), facts);
  for (int i = 0; i < message.nested_type_count(); ++i) AddMessage(*message.nested_type(i), facts);
}

void AddService(const ServiceDescriptor& service, Facts* facts) {
  (*facts)[KeyOf("service", "", service.name())] = "  ";
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    const std::string type =
        absl::StrCat(method.client_streaming() ? "stream " : "",
                     LocalName(method.input_type()->full_name(), *service.file()), " -> ",
                     method.server_streaming() ? "stream " : "",
                     LocalName(method.output_type()->full_name(), *service.file()));
    (*facts)[KeyOf("rpc", service.name(), method.name())] = absl::StrCat(" ", type, " ");
  }
}

}  // namespace

std::string KeyOf(absl::string_view kind, absl::string_view parent, absl::string_view name) {
  return absl::StrCat(kind, " ", parent, ".", name);
}

std::vector<Row> ReadTable(const std::string& file) {
  std::ifstream in(absl::StrCat(PLIMSOLL_API_TESTDATA, "/", file));
  EXPECT_TRUE(in.good()) << file;
  std::vector<Row> rows;
  std::string line;
  std::getline(in, line);  // the header
  while (std::getline(in, line)) {
    std::vector<std::string> cells = absl::StrSplit(line, '\t');
    cells.resize(7);
    if (cells[0] == "package") continue;
    rows.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]});
  }
  return rows;
}

Facts FactsOf(const std::vector<Row>& rows) {
  Facts facts;
  for (const Row& row : rows) {
    facts[KeyOf(row.kind, row.parent, row.name)] =
        absl::StrCat(row.number, " ", row.type, " ", row.flags);
  }
  return facts;
}

Facts FactsOf(const FileDescriptor& file) {
  Facts facts;
  for (int i = 0; i < file.service_count(); ++i) AddService(*file.service(i), &facts);
  for (int i = 0; i < file.message_type_count(); ++i) AddMessage(*file.message_type(i), &facts);
  for (int i = 0; i < file.enum_type_count(); ++i) AddEnum(*file.enum_type(i), &facts);
  return facts;
}

// The part of `expected` that is missing from `actual` or differs there.
std::vector<std::string> Differences(const Facts& expected, const Facts& actual) {
  std::vector<std::string> differences;
  for (const auto& [key, value] : expected) {
    const auto found = actual.find(key);
    if (found == actual.end()) {
      differences.push_back(absl::StrCat(key, ": missing"));
    } else if (found->second != value) {
      differences.push_back(absl::StrCat(key, ": is '", found->second, "', must be '", value, "'"));
    }
  }
  return differences;
}

}  // namespace plimsoll::api
