// Holds the descriptors of the compiled api.proto to the two tables in testdata/, both ways.
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cri/runtime/v1/api.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::MethodDescriptor;
using ::google::protobuf::ServiceDescriptor;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;

// "kind parent name" -> "number type flags": one row of a table, or one thing in the descriptors.
using Facts = std::map<std::string, std::string>;

std::string KeyOf(absl::string_view kind, absl::string_view parent, absl::string_view name) {
  return absl::StrCat(kind, " ", parent, ".", name);
}

struct Row {
  std::string kind, parent, name, number, type, flags, proposal;
};

std::vector<Row> ReadTable(const std::string& file) {
  std::ifstream in(absl::StrCat(PLIMSOLL_API_TESTDATA, "/", file));
  EXPECT_TRUE(in.good()) << file;
  std::vector<Row> rows;
  std::string line;
  std::getline(in, line);  // the header
  while (std::getline(in, line)) {
    std::vector<std::string> cells = absl::StrSplit(line, '\t');
    cells.resize(7);
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

std::string LocalName(absl::string_view full) {
  return std::string(full.substr(absl::StartsWith(full, "runtime.v1.") ? 11 : 0));
}

std::string TypeOf(const FieldDescriptor& field) {
  if (field.is_map()) {
    return absl::StrCat("map<", TypeOf(*field.message_type()->map_key()), ",",
                        TypeOf(*field.message_type()->map_value()), ">");
  }
  if (field.message_type() != nullptr) return LocalName(field.message_type()->full_name());
  if (field.enum_type() != nullptr) return LocalName(field.enum_type()->full_name());
  return field.type_name();
}

std::string FlagsOf(const FieldDescriptor& field) {
  if (field.is_repeated() && !field.is_map()) return "repeated";
  if (field.real_containing_oneof() != nullptr) return "oneof";
  if (field.has_optional_keyword()) return "optional";
  return field.options().deprecated() ? "deprecated" : "";
}

void AddEnum(const EnumDescriptor& type, Facts* facts) {
  const std::string name = LocalName(type.full_name());
  (*facts)[KeyOf("enum", "", name)] = "  ";
  for (int i = 0; i < type.value_count(); ++i) {
    (*facts)[KeyOf("value", name, type.value(i)->name())] =
        absl::StrCat(type.value(i)->number(), "  ");
  }
}

void AddMessage(const Descriptor& message, Facts* facts) {
  if (message.options().map_entry()) return;
  const std::string name = LocalName(message.full_name());
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
    const std::string type = absl::StrCat(method.client_streaming() ? "stream " : "",
                                          LocalName(method.input_type()->full_name()), " -> ",
                                          method.server_streaming() ? "stream " : "",
                                          LocalName(method.output_type()->full_name()));
    (*facts)[KeyOf("rpc", service.name(), method.name())] = absl::StrCat(" ", type, " ");
  }
}

const FileDescriptor& Api() {
  return *::runtime::v1::VersionRequest::descriptor()->file();
}

Facts Compiled() {
  Facts facts;
  for (int i = 0; i < Api().service_count(); ++i) AddService(*Api().service(i), &facts);
  for (int i = 0; i < Api().message_type_count(); ++i) AddMessage(*Api().message_type(i), &facts);
  for (int i = 0; i < Api().enum_type_count(); ++i) AddEnum(*Api().enum_type(i), &facts);
  return facts;
}

// What of `expected` is missing from `actual` or differs there.
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

Facts Upstream() {
  Facts facts = FactsOf(ReadTable("cri-v1.tsv"));
  facts.erase(KeyOf("package", "", "runtime.v1"));
  return facts;
}

TEST(ApiCompatTest, PackageAndSyntaxAreUpstreams) {
  EXPECT_EQ(Api().package(), "runtime.v1");
  EXPECT_EQ(Api().syntax(), FileDescriptor::SYNTAX_PROTO3);
  EXPECT_TRUE(Api().options().cc_enable_arenas());
}

TEST(ApiCompatTest, EverythingOfUpstreamIsThereUnchanged) {
  const Facts upstream = Upstream();
  EXPECT_GT(upstream.size(), 700u) << "testdata/cri-v1.tsv was not read";
  EXPECT_THAT(Differences(upstream, Compiled()), IsEmpty());
}

TEST(ApiCompatTest, EveryExtensionIsThere) {
  const Facts extensions = FactsOf(ReadTable("extensions.tsv"));
  EXPECT_GT(extensions.size(), 60u) << "testdata/extensions.tsv was not read";
  EXPECT_THAT(Differences(extensions, Compiled()), IsEmpty());
}

TEST(ApiCompatTest, NothingElseIsThere) {
  Facts known = Upstream();
  known.merge(FactsOf(ReadTable("extensions.tsv")));
  for (const auto& [key, value] : Compiled()) {
    EXPECT_THAT(known, Contains(Key(key))) << "neither upstream's nor in extensions.tsv";
  }
}

TEST(ApiCompatTest, TablesDoNotOverlap) {
  const Facts upstream = Upstream();
  for (const Row& row : ReadTable("extensions.tsv")) {
    EXPECT_EQ(upstream.count(KeyOf(row.kind, row.parent, row.name)), 0u)
        << row.parent << "." << row.name << " is upstream's by now: see README.md";
  }
}

TEST(ApiCompatTest, ExtensionsHaveTheirProposalsNumber) {
  const Facts upstream = Upstream();
  const std::set<std::string> proposals = {"1287", "2273", "3008", "4112", "5224"};
  for (const Row& row : ReadTable("extensions.tsv")) {
    EXPECT_TRUE(proposals.count(row.proposal)) << row.parent << "." << row.name;
    const bool extends_upstream = upstream.count(KeyOf("message", "", row.parent)) > 0;
    if (row.kind == "field" && extends_upstream) {
      EXPECT_EQ(row.number, row.proposal) << row.parent << "." << row.name;
    }
  }
}

TEST(ApiCompatTest, QuantityIsKubernetes) {
  const FieldDescriptor* requests =
      ::runtime::v1::KubernetesResources::descriptor()->FindFieldByName("requests");
  ASSERT_NE(requests, nullptr);
  const Descriptor* quantity = requests->message_type()->map_value()->message_type();
  EXPECT_EQ(quantity->full_name(), "k8s.io.apimachinery.pkg.api.resource.Quantity");
  ASSERT_EQ(quantity->field_count(), 1);
  EXPECT_EQ(quantity->field(0)->name(), "string");
  EXPECT_EQ(quantity->field(0)->number(), 1);
  EXPECT_EQ(quantity->field(0)->type(), FieldDescriptor::TYPE_STRING);
}

// The checks above must be able to fail.
TEST(ApiCompatTest, DifferencesAreSeen) {
  Facts changed = Compiled();
  changed[KeyOf("field", "Mount", "readonly")] = "33 bool ";
  changed.erase(KeyOf("value", "NamespaceMode", "TARGET"));
  changed[KeyOf("rpc", "RuntimeService", "Version")] = " VersionRequest -> stream VersionResponse ";
  EXPECT_EQ(Differences(Compiled(), changed).size(), 3u);
}

TEST(ApiCompatTest, UnknownFieldsSurvive) {
  ::runtime::v1::PodSandboxConfig config;
  config.GetReflection()->MutableUnknownFields(&config)->AddVarint(9999, 7);
  ::runtime::v1::PodSandboxConfig back;
  ASSERT_TRUE(back.ParseFromString(config.SerializeAsString()));
  EXPECT_EQ(back.SerializeAsString(), config.SerializeAsString());
  EXPECT_FALSE(back.SerializeAsString().empty());
}

TEST(ApiCompatTest, NodeServiceIsBesideTheCri) {
  const FileDescriptor& file = *::plimsoll::v1::Event::descriptor()->file();
  EXPECT_EQ(file.package(), "plimsoll.v1");
  ASSERT_EQ(file.service_count(), 1);
  EXPECT_EQ(file.service(0)->full_name(), "plimsoll.v1.NodeService");
}

}  // namespace
}  // namespace plimsoll
