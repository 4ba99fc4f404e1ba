// Holds the compiled messages of the Node Resource Interface and of ttrpc to the tables in
// testdata/, both ways.
#include <string>

#include "absl/strings/strip.h"
#include "facts_for_test.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "nri/v1alpha1/api.pb.h"
#include "ttrpc/ttrpc.pb.h"

namespace plimsoll::api {
namespace {

using ::testing::IsEmpty;

// Our own names made upstream's: values that would be macros have LINUX_ before them.
Facts Upstreams(const Facts& facts) {
  Facts upstream;
  for (const auto& [key, value] : facts) {
    std::string name = key;
    if (const size_t at = name.find(".LINUX_"); at != std::string::npos) name.erase(at + 1, 6);
    upstream[name] = value;
  }
  return upstream;
}

// The table of the extensions of this contract.
Facts Extensions() {
  return FactsOf(ReadTable("nri-extensions.tsv"));
}

TEST(NriCompatTest, IsTheTables) {
  const Facts compiled =
      Upstreams(FactsOf(*::nri::pkg::api::v1alpha1::Empty::descriptor()->file()));
  Facts table = FactsOf(ReadTable("nri-v1alpha1.tsv"));
  EXPECT_GT(table.size(), 400u) << "nri-v1alpha1.tsv was not read";
  EXPECT_THAT(Differences(table, compiled), IsEmpty());
  table.merge(Extensions());
  EXPECT_THAT(Differences(compiled, table), IsEmpty());
  EXPECT_THAT(Differences(Extensions(), compiled), IsEmpty());
}

// google.rpc.Status has another name here.
TEST(TtrpcCompatTest, IsTheTable) {
  const Facts table = FactsOf(ReadTable("ttrpc.tsv"));
  const Facts compiled = FactsOf(*::ttrpc::Request::descriptor()->file());
  EXPECT_GT(table.size(), 8u) << "ttrpc.tsv was not read";
  EXPECT_THAT(Differences(table, compiled),
              ::testing::ElementsAre(::testing::HasSubstr("Response.status")));
}

}  // namespace
}  // namespace plimsoll::api
