// For tests of the contents of an OCI spec: a request that suffices for one.
#ifndef PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_FIXTURE_FOR_TEST_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/oci/spec_builder.h"

namespace plimsoll::runtime {

using Json = nlohmann::json;

class SpecBuilderFixture : public ::testing::Test {
 protected:
  SpecBuilderFixture() : host_(*FsRoot::Open("/")) {
    machine_.layout = linux::CgroupLayout::kV1;
    machine_.controllers = {"cpu", "cpuset", "memory", "pids"};
    machine_.capabilities = ~CapabilityMask{0};
    spec_.command = {"/bin/true"};
    request_.id = "a";
    request_.spec = &spec_;
    request_.image = &image_;
    request_.cgroup_path = "/pods/a";
    input_.request = &request_;
    input_.machine = &machine_;
    input_.host = &host_;
    input_.root_path = "/rootfs";
    input_.stage_path = "/stage";
    input_.user.home = "/root";
  }

  absl::StatusOr<BuiltSpec> TryBuild() { return BuildSpec(input_); }
  Json Build() {
    const auto built = TryBuild();
    EXPECT_TRUE(built.ok()) << built.status();
    if (!built.ok()) return Json::object();
    warnings_ = built->warnings;
    return Json::parse(built->json);
  }
  static Json MountAt(const Json& config, const std::string& destination) {
    for (const Json& mount : config["mounts"]) {
      if (mount["destination"] == destination) return mount;
    }
    return nullptr;
  }
  static std::vector<std::string> NamespaceTypes(const Json& config) {
    std::vector<std::string> types;
    for (const Json& ns : config["linux"]["namespaces"]) types.push_back(ns["type"]);
    return types;
  }

  FsRoot host_;
  HostFeatures machine_;
  ContainerSpec spec_;
  image::ImageConfig image_;
  CreateRequest request_;
  SpecInput input_;
  std::vector<std::string> warnings_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_FIXTURE_FOR_TEST_H_
