// Holds the descriptors of the compiled api.proto to the two tables in testdata/, both ways.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "cri/runtime/v1/api.pb.h"
#include "facts_for_test.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll::api {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;

const FileDescriptor& Api() {
  return *::runtime::v1::VersionRequest::descriptor()->file();
}

Facts Compiled() {
  return FactsOf(Api());
}

Facts Upstream() {
  Facts facts = FactsOf(ReadTable("cri-v1.tsv"));
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
}  // namespace plimsoll::api
