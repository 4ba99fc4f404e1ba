// Holds the compiled messages of kubelet's sockets to the tables in testdata/. kube-pod-v1.tsv has
// all fields of the messages of which generated.proto reads some.
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "facts_for_test.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "k8s.io/api/core/v1/generated.pb.h"
#include "k8s.io/apimachinery/pkg/api/resource/generated.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/generated.pb.h"
#include "kubelet/deviceplugin/v1beta1/api.pb.h"
#include "kubelet/dra/v1/api.pb.h"
#include "kubelet/drahealth/v1alpha1/api.pb.h"
#include "kubelet/pluginregistration/v1/api.pb.h"
#include "kubelet/podresources/v1/api.pb.h"
#include "kubelet/podresources/v1alpha1/api.pb.h"
#include "kubelet/pods/v1alpha1/api.pb.h"

namespace plimsoll::api {
namespace {

using ::google::protobuf::FileDescriptor;
using ::testing::IsEmpty;

// The tables' own ways of writing are made one.
Facts TableOf(const std::string& file) {
  std::vector<Row> rows = ReadTable(file);
  for (Row& row : rows) {
    row.name = row.name.substr(row.name.rfind('.') + 1);
    row.type = absl::StrReplaceAll(row.type, {{".k8s", "k8s"}});
    if (absl::StartsWith(row.flags, "oneof:_")) row.flags = "optional";
  }
  return FactsOf(rows);
}

struct Contract {
  const char* table;
  const FileDescriptor* file;
};

class KubeletCompatTest : public ::testing::TestWithParam<Contract> {};

TEST_P(KubeletCompatTest, IsTheTables) {
  const Facts table = TableOf(GetParam().table);
  EXPECT_GT(table.size(), 8u) << GetParam().table << " was not read";
  EXPECT_THAT(Differences(table, FactsOf(*GetParam().file)), IsEmpty());
  EXPECT_THAT(Differences(FactsOf(*GetParam().file), table), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Sockets, KubeletCompatTest,
    ::testing::Values(
        Contract{"kubelet-pods-v1alpha1.tsv", ::v1alpha1::GetPodRequest::descriptor()->file()},
        Contract{"kubelet-podresources-v1.tsv", ::v1::PodResources::descriptor()->file()},
        Contract{"kubelet-podresources-v1alpha1.tsv",
                 ::v1alpha1::PodResources::descriptor()->file()},
        Contract{"kubelet-pluginregistration-v1.tsv",
                 ::pluginregistration::PluginInfo::descriptor()->file()},
        Contract{"kubelet-deviceplugin-v1beta1.tsv",
                 ::v1beta1::RegisterRequest::descriptor()->file()},
        Contract{"kubelet-dra-v1.tsv",
                 ::k8s::io::kubelet::pkg::apis::dra::v1::Claim::descriptor()->file()},
        Contract{"kubelet-dra-health-v1alpha1.tsv",
                 ::v1alpha1::DeviceHealth::descriptor()->file()}));

TEST(PodCompatTest, WhatIsReadIsKubernetes) {
  const Facts table = TableOf("kube-pod-v1.tsv");
  EXPECT_GT(table.size(), 100u) << "testdata/kube-pod-v1.tsv was not read";
  for (const FileDescriptor* file :
       {::k8s::io::api::core::v1::Pod::descriptor()->file(),
        ::k8s::io::apimachinery::pkg::apis::meta::v1::ObjectMeta::descriptor()->file(),
        ::k8s::io::apimachinery::pkg::api::resource::Quantity::descriptor()->file()}) {
    EXPECT_THAT(Differences(FactsOf(*file), table), IsEmpty()) << file->name();
  }
}

}  // namespace
}  // namespace plimsoll::api
